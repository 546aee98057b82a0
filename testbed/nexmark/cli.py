"""The command line ``python -m testbed.nexmark COMMAND``."""

import json
import logging
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gesscale.cli.output import Output, OutputOption, emit, table
from gesscale.errors import InputError
from testbed.nexmark.queries import QUERIES, nexmark_query

app = typer.Typer(name="nexmark", help="Stream a query of Nexmark, and verify what it wrote.", no_args_is_help=True)
_Query = Annotated[str, typer.Argument(help=f"One of {', '.join(QUERIES)}.")]
_Folder = Annotated[Path, typer.Option(help="Folder of checkpoint and sink.")]
_Events = Annotated[int, typer.Option(help="Number of events.")]
_EventsPerS = Annotated[float, typer.Option(help="Events per second of event time.")]
_StepS = Annotated[float, typer.Option(help="Length of a step of the load.")]
_Rates = Annotated[str, typer.Option(help="Events due per second, by step; default: all at once.")]
_Topic = Annotated[str, typer.Option(help="Name of the topic.")]


@app.callback()
def _log_warnings() -> None:
    """Stream a query of Nexmark, and verify what it wrote."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@app.command()
def stream(
    query: _Query,
    folder: _Folder,
    events: _Events = 20_000,
    events_per_s: _EventsPerS = 100.0,
    start_at: Annotated[float, typer.Option(help="When the first event is due, epoch.")] = 0.0,
    step_s: _StepS = 1.0,
    rates: _Rates = "",
    service_ms_per_row: Annotated[float, typer.Option(help="Emulated time for an event.")] = 0.0,
    cap_rows: Annotated[int | None, typer.Option(help="Cap on a batch.")] = None,
    cap_rows_per_replica: Annotated[int | None, typer.Option(help="Cap for each replica.")] = None,
    trigger_s: Annotated[float, typer.Option(help="Trigger interval.")] = 2.0,
    state_partitions: Annotated[int, typer.Option(help="Partitions of the state.")] = 6,
    metrics_port: Annotated[int, typer.Option(help="Port of the listener; 0: any.")] = 9108,
    linger: Annotated[bool, typer.Option(help="Keep running after the last event, until SIGTERM.")] = False,
    kafka: Annotated[str | None, typer.Option(help="Bootstrap server: read a topic.")] = None,
    topic: _Topic = "nexmark",
    autoscaler: Annotated[str | None, typer.Option(help="StreamAutoscaler to follow, on Kubernetes.")] = None,
) -> None:
    """Run a query until all events are processed or SIGTERM arrives; then exit 0."""
    from testbed.nexmark.source import NAME, NexmarkOptions
    from testbed.nexmark.stream import generate_events, is_complete, open_nexmark_session, read_events, start_query
    from testbed.pipeline.kafka_broker import require_broker
    from testbed.pipeline.kafka_jars import connector_jars
    from testbed.pipeline.session import run_query, stop_on_signals

    settings = {
        "events": events, "events_per_s": events_per_s, "start_at": start_at, "step_s": step_s,
        "rates": rates, "service_s_per_row": service_ms_per_row / 1000, "cap_rows": cap_rows,
        "cap_rows_per_replica": cap_rows_per_replica,
    }  # fmt: skip
    source, chosen, jars = NexmarkOptions.parse(NAME, settings), nexmark_query(query), ""
    if kafka is not None:
        if cap_rows_per_replica is not None:
            raise InputError("stream-cap-conflict")
        require_broker(kafka)
        jars = ",".join(map(str, connector_jars()))
    stopping = stop_on_signals()
    spark = open_nexmark_session(chosen.name, state_partitions, jars=jars, autoscaler=autoscaler)

    def start(url: str | None) -> Any:
        rows = generate_events(spark, source, url) if kafka is None else read_events(spark, kafka, topic, source)
        return start_query(chosen, rows, folder, trigger_s)

    run_query(
        spark,
        chosen.name,
        start,
        lambda progress: not linger and is_complete(progress and json.loads(progress.json), events),
        stopping,
        port=metrics_port,
        cap_rows=cap_rows,
        cap_rows_per_replica=cap_rows_per_replica,
        trigger_s=trigger_s,
        python_cpu_s_per_row=source.service_s_per_row or None,  # emulated work counts as CPU
        autoscaler=autoscaler,
    )


@app.command()
def produce(
    kafka: Annotated[str, typer.Option(help="Bootstrap server.")],
    topic: _Topic = "nexmark",
    events: _Events = 20_000,
    events_per_s: _EventsPerS = 100.0,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of the topic, which is created.")] = 4,
    step_s: _StepS = 1.0,
    rates: _Rates = "",
    start_at: Annotated[
        float | None, typer.Option(help="When the first event is due, epoch; default: now.", show_default=False)
    ] = None,
) -> None:
    """Send the events to a Kafka topic when they are due."""
    from testbed.nexmark.source import NAME, NexmarkOptions
    from testbed.nexmark.stream import produce_events
    from testbed.pipeline.kafka_broker import require_broker

    settings = {
        "events": events, "events_per_s": events_per_s, "step_s": step_s, "rates": rates,
        "start_at": time.time() if start_at is None else start_at,
    }  # fmt: skip
    options = NexmarkOptions.parse(NAME, settings)
    require_broker(kafka)
    sent = produce_events(options, kafka, topic, partitions=partitions)
    typer.echo(json.dumps({"events": sent}))


@app.command()
def verify(
    query: _Query,
    folder: _Folder,
    events: _Events = 20_000,
    events_per_s: _EventsPerS = 100.0,
    form: OutputOption = Output.TABLE,
) -> None:
    """Compare the result of a stream with the same query as a batch; exit 3 unless they are equal, row for row."""
    from testbed.nexmark.source import NexmarkOptions
    from testbed.nexmark.stream import compare, open_nexmark_session

    source = NexmarkOptions(events=events, events_per_s=events_per_s)
    spark = open_nexmark_session(f"verify-{query}", 2)
    try:
        comparison = compare(spark, nexmark_query(query), source, folder / "sink")
    finally:
        spark.stop()
    fields = {name: getattr(comparison, name) for name in comparison.__slots__}
    emit(comparison, form, [table(f"{query}: rows of the batch and of the stream", ["figure", "rows"], fields.items())])
    if not comparison.exact:
        raise typer.Exit(3)
