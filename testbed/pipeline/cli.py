"""Command line of the pipeline: ``python -m testbed.pipeline COMMAND``."""

import logging
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from gesscale.cli.output import Output, OutputOption, emit, table
from testbed.pipeline.stream import stream

app = typer.Typer(
    name="pipeline",
    help="Rides of New York's taxis: generate, clean, stream, verify.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _log_warnings() -> None:
    """Rides of New York's taxis: generate, clean, stream, verify."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@app.command()
def generate(
    output: Annotated[Path, typer.Argument(help="The CSV to write, in the layout of 2013.")],
    rides_per_passenger: Annotated[float, typer.Option(help="Rides per passenger of the demand.")] = 0.1,
    demand: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file with timestamp and passengers, a row for each half hour. Default: a real day.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal files.")] = 1,
    form: OutputOption = Output.TABLE,
) -> None:
    """Generate rides from a demand, by default the bundled real one, and add a known number of invalid records."""
    from testbed.pipeline.rides import bundled_demand, bundled_zones, generate_rides, read_demand

    output.parent.mkdir(parents=True, exist_ok=True)
    made = generate_rides(
        output,
        demand=bundled_demand() if demand is None else read_demand(demand),
        zones=bundled_zones(),
        rides_per_passenger=rides_per_passenger,
        rng=np.random.default_rng(seed),
    )
    fields = {name: getattr(made, name) for name in made.__slots__}
    emit(made, form, [table(f"Rides in {output}", ["kind", "records"], fields.items())])


@app.command()
def clean(
    inputs: Annotated[list[Path], typer.Argument(help="Trip files (or folders of them) of 2013.")],
    output: Annotated[Path, typer.Argument(help="The folder of cleaned rides to write.")],
    form: OutputOption = Output.TABLE,
) -> None:
    """Drop duplicates and invalid records, count the reasons, and write the rest sorted and numbered."""
    from testbed.pipeline.clean import clean_rides
    from testbed.pipeline.session import open_session

    spark = open_session("clean")
    try:
        summary = clean_rides(spark, [str(path) for path in inputs], output)
    finally:
        spark.stop()
    rows = [("read", summary.records), ("kept", summary.rides)]
    rows += [(f"dropped: {reason}", count) for reason, count in summary.dropped.items()]
    emit(summary, form, [table(f"Rides in {output}", ["kind", "records"], rows)])


app.command()(stream)


@app.command()
def produce(
    rides: Annotated[Path, typer.Option(help="Cleaned rides.")],
    kafka: Annotated[str, typer.Option(help="Bootstrap server.")],
    topic: Annotated[str, typer.Option(help="Topic to write.")] = "rides",
    speed: Annotated[float, typer.Option(help="Seconds of the day per second.")] = 1.0,
    copies: Annotated[int, typer.Option(help="Copies of each ride.")] = 1,
    broken_share: Annotated[float, typer.Option(min=0, max=1, help="Share of rows sent without a position.")] = 0.0,
) -> None:
    """Send the rides to a topic when they are due."""
    from testbed.pipeline.kafka_topic import produce_rides

    rows = produce_rides(rides, bootstrap=kafka, topic=topic, speed=speed, copies=copies, broken_share=broken_share)
    emit({"rows": rows}, Output.JSON)


@app.command()
def verify(
    output: Annotated[Path, typer.Argument(help="The file sink's folder.")],
    expected_rows: Annotated[int, typer.Option(help="Rows that were produced.")],
    form: OutputOption = Output.TABLE,
) -> None:
    """Count the rows of a sink; exit 3 unless it has each expected row exactly once."""
    from testbed.pipeline.sink import verify_sink

    count = verify_sink(output, expected_rows)
    fields = {name: getattr(count, name) for name in count.__slots__}
    emit(count, form, [table(f"Rows in {output}", ["kind", "rows"], fields.items())])
    if not count.exactly_once:
        raise typer.Exit(3)


@app.command(name="kafka-jars")
def kafka_jars() -> None:
    """Fetch the broker and the connector from Maven Central into the cache, before they are needed."""
    from testbed.pipeline.kafka_jars import BROKER, CONNECTOR, require_kafka

    require_kafka()
    emit({"broker": BROKER[2], "connector": CONNECTOR[2]}, Output.JSON)
