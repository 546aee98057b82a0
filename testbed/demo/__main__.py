"""``python -m testbed.demo``, which ``make demo`` calls."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gesscale.cli.process_exit import end_as_ctrl_c_does
from gesscale.cli.process_exit import run as run_cli
from testbed.cluster import privilege
from testbed.demo.commands import VERBOSE_HELP
from testbed.demo.runner import run_demo
from testbed.live.report import make_folder
from testbed.live.scenario import DEMO

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def demo(
    policy: Annotated[str, typer.Option(help="The policy that scales.")] = DEMO.policy,
    seconds: Annotated[float, typer.Option(min=120, help="Seconds the day is compressed into.")] = 240.0,
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    reports: Annotated[Path, typer.Option(help="Parent of the report's folder.")] = Path("reports"),
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=VERBOSE_HELP)] = False,
) -> None:
    """Scale a real Spark operator over eight emulated edge nodes, through one compressed day."""
    privilege.enter()
    end_as_ctrl_c_does()
    scenario = replace(DEMO, policy=policy, topology=topology, day_s=seconds)
    kept = run_demo(scenario, make_folder(reports), Console(soft_wrap=True), verbose=verbose)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    run_cli(app)
