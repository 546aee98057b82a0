"""``testbed nexmark``: a query with state on the local cluster, scaled for one compressed day."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import console
from gesscale.cli.process_exit import end_as_ctrl_c_does


def nexmark(
    query: Annotated[str, typer.Argument(help="q1, q3, q5 or q11.")] = "q5",
    policy: Annotated[str, typer.Option(help="The policy that scales.")] = "gesscale",
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    workload: Annotated[
        str | None, typer.Option("--workload", metavar="NAME|FILE", help="A load of the arena.", show_default="nyc-day")
    ] = None,
    seconds: Annotated[float, typer.Option(min=60, help="Length of the compressed day, s.")] = 180.0,
    max_rows_per_s: Annotated[float, typer.Option(min=30, help="Events per second at the peak.")] = 130.0,
    kafka: Annotated[bool, typer.Option("--kafka", help="Send the events through a Kafka topic.")] = False,
    reports: Annotated[Path, typer.Option(help="Parent of the report's folder.")] = Path("reports"),
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every step of the loop, with all figures.")
    ] = False,
) -> None:
    """Scale a query of Nexmark, with state, through a compressed day, and compare its result with a batch, row for row.

    With q5 it is the demo: at the end a table compares the cost with that of other policies, by the simulator. Exits 3
    if a promise is broken.
    """
    from testbed.cluster.spark_command import spark_home

    spark_home()  # fails without PySpark
    from testbed.cluster import privilege
    from testbed.live.report import make_folder
    from testbed.nexmark.day import LOAD, NexmarkDay, run_day
    from testbed.nexmark.queries import nexmark_query
    from testbed.pipeline.kafka_jars import require_kafka

    day = NexmarkDay(
        query=nexmark_query(query),
        policy=policy,
        topology=topology,
        workload=workload or LOAD,
        day_s=seconds,
        max_rows_per_s=max_rows_per_s,
        kafka=kafka,
    )
    if kafka:
        require_kafka()
    privilege.enter()
    end_as_ctrl_c_does()
    if not run_day(day, make_folder(reports), console, verbose=verbose):
        raise typer.Exit(3)
