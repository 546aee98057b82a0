"""``testbed workflow``: taxi rides through two operators on the local cluster."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import console
from gesscale.cli.process_exit import end_as_ctrl_c_does
from gesscale.errors import InputError

VERBOSE_HELP = "Print every step of the loop, with all figures."


def workflow(
    *,
    policy: Annotated[
        str | None, typer.Option(help="The policy that scales. Default: gesscale.", show_default=False)
    ] = None,
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    seconds: Annotated[float, typer.Option(min=60, help="Seconds the day is compressed into.")] = 240.0,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="Settings that an earlier run wrote, its policy included.", show_default=False
        ),
    ] = None,
    reports: Annotated[Path, typer.Option(help="Parent of the report's folder.")] = Path("reports"),
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=VERBOSE_HELP)] = False,
) -> None:
    """Scale two Spark operators, connected by a real Kafka broker, through one compressed day (six minutes).

    Exits 3 if a row was lost or duplicated.
    """
    if config is not None and policy is not None:
        raise InputError("policy-and-config-given")
    from testbed.cluster.spark_command import spark_home

    spark_home()  # fails without PySpark
    from testbed.cluster import privilege
    from testbed.demo.runner import run_workflow
    from testbed.live.report import make_folder
    from testbed.live.scenario import WORKFLOW

    privilege.enter()
    end_as_ctrl_c_does()
    scenario = replace(WORKFLOW, policy=policy or WORKFLOW.policy, topology=topology, day_s=seconds)
    folder = make_folder(reports)
    again = {"run again with these settings": f"testbed workflow --config {folder}/gesscale.yaml"}
    if not run_workflow(scenario, folder, console, config, verbose=verbose, hints=again):
        raise typer.Exit(3)
