"""``make demo`` and ``testbed workflow``: days of taxi rides on the local cluster."""

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
            "--config", "-c", help="Settings that an earlier run left, its policy included.", show_default=False
        ),
    ] = None,
    reports: Annotated[Path, typer.Option(help="Where the report folder goes.")] = Path("reports"),
) -> None:
    """Scale two Spark operators, joined by a real Kafka broker, through one compressed day (six minutes).

    Exits 3 where a row was lost or doubled.
    """
    if config is not None and policy is not None:
        raise InputError("workflow: expected --policy or --config, got both; change analyze.policy in the file")
    from testbed.cluster.spark_command import spark_home

    spark_home()  # without PySpark it ends here
    from testbed.cluster import privilege
    from testbed.demo.runner import run_demo
    from testbed.live.report import make_folder
    from testbed.live.scenario import WORKFLOW

    privilege.enter()
    end_as_ctrl_c_does()
    scenario = replace(WORKFLOW, policy=policy or WORKFLOW.policy, topology=topology, day_s=seconds)
    folder = make_folder(reports)
    kept = run_demo(scenario, folder, console, config)
    console.print(f"once more with these settings: testbed workflow --config {folder}/gesscale.yaml", highlight=False)
    if not kept:
        raise typer.Exit(3)
