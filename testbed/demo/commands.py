"""``testbed workflow`` and ``nexmark``: queries on the local cluster, scaled for one compressed day."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.ending import end_as_ctrl_c_does
from gesscale.cli.output import console
from gesscale.errors import InputError


def workflow(
    *,
    policy: Annotated[
        str | None, typer.Option(help="The policy that scales. Default: gesscale2.", show_default=False)
    ] = None,
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    seconds: Annotated[float, typer.Option(min=60, help="Seconds the day is compressed into.")] = 240.0,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            help="Settings that an earlier run left, its policy included.",
            show_default=False,
        ),
    ] = None,
    reports: Annotated[Path, typer.Option(help="Where the report folder goes.")] = Path("reports"),
) -> None:
    """Scale two Spark operators, joined by a real Kafka broker, through one compressed day (six minutes).

    Exits 3 where a row was lost or doubled.
    """
    if config is not None and policy is not None:
        message = "workflow: expected --policy or --config, got both; change analyze.policy in the file"
        raise InputError(message)
    from testbed.cluster.spark_command import spark_home

    spark_home()  # without PySpark it ends here
    from testbed.cluster import privilege
    from testbed.demo.playing import make_folder, play
    from testbed.live.scenario import WORKFLOW

    privilege.enter()
    end_as_ctrl_c_does()
    scenario = replace(WORKFLOW, policy=policy or WORKFLOW.policy, topology=topology, day_s=seconds)
    folder = make_folder(reports)
    kept = play(scenario, folder, console, config)
    console.print(
        f"once more with these settings: testbed workflow --config {folder}/gesscale.yaml", highlight=False
    )
    if not kept:
        raise typer.Exit(3)


def nexmark(
    query: Annotated[str, typer.Argument(help="q1, q2, q3, q5, q8 or q11.")] = "q5",
    policy: Annotated[str, typer.Option(help="The policy that scales.")] = "gesscale2",
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    seconds: Annotated[float, typer.Option(min=60, help="Seconds that the day lasts.")] = 240.0,
    most_rows_per_s: Annotated[float, typer.Option(min=30, help="Events per second at noon.")] = 150.0,
    kafka: Annotated[bool, typer.Option("--kafka", help="The events come through a topic of Kafka.")] = False,
    reports: Annotated[Path, typer.Option(help="Where the report folder goes.")] = Path("reports"),
) -> None:
    """Scale a query of Nexmark, with state, through a day, and compare its result with a batch, row for row.

    Exits 3 unless every row is there once.
    """
    from testbed.cluster.spark_command import spark_home

    spark_home()  # without PySpark it ends here
    from testbed.cluster import privilege
    from testbed.demo.playing import make_folder
    from testbed.nexmark.day import NexmarkDay, play
    from testbed.nexmark.queries import query_named
    from testbed.pipeline.kafka_jars import require_kafka

    day = NexmarkDay(
        query=query_named(query),
        policy=policy,
        topology=topology,
        day_s=seconds,
        most_rows_per_s=most_rows_per_s,
        kafka=kafka,
    )
    if kafka:
        require_kafka()
    privilege.enter()
    end_as_ctrl_c_does()
    if not play(day, make_folder(reports), console):
        raise typer.Exit(3)
