"""``testbed league``."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console
from testbed.arena.cli.options import duration_s, with_absolute_files
from testbed.arena.names import ChosenNodes

POLICIES = "gesscale,ds2,drs,flink-autoscaler,hpa-v2"
LOADS = ("nyc-day", "spikes", "steps")


def league(
    *,
    results: Annotated[Path, typer.Option("--results", metavar="FOLDER", help="Folder for all results.")],
    query: Annotated[str, typer.Option(help="q5 of Nexmark, with state, as in the demo; or rides, a map.")] = "q5",
    policies: Annotated[str, typer.Option("--policies", help="Separated by commas.")] = POLICIES,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload", metavar="NAME|FILE", help="A load of the arena; repeatable.", show_default=" ".join(LOADS)
        ),
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, max=100, help="Runs of each policy on each load.")] = 3,
    minutes: Annotated[float, typer.Option(min=2, max=240, help="Minutes per load; the period is 1/24 of it.")] = 4.0,
    objective: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Latency objective of a row.", show_default="two periods")
    ] = None,
    price: Annotated[float, typer.Option(min=0.001, max=1e6, help="Price of a late minute, replica-minutes.")] = 10.0,
    nodes: Annotated[
        list[ChosenNodes] | None,
        typer.Option(help="How policies without delays choose nodes; repeatable.", show_default="both"),
    ] = None,
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    attempts: Annotated[int, typer.Option(min=1, max=10, help="Attempts for a run that the cluster breaks.")] = 2,
    runs: Annotated[int | None, typer.Option(min=1, help="Maximum runs of this call.", show_default="all")] = None,
    report: Annotated[bool, typer.Option("--report", help="Run nothing live: report on the completed runs.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every step of the loop, with all figures.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run policies on real Spark over emulated edge nodes, score them like the arena, and simulate the same cases.

    The same command resumes an interrupted league. Exits 1 if runs are still broken after all attempts.
    """
    if not report:
        from testbed.cluster.spark_command import spark_home

        spark_home()  # fails without PySpark
    from testbed.league.runner import run_league, write_league_report
    from testbed.league.settings import LeagueSettings
    from testbed.live.nodes import ProgressLog, resumable

    progress = ProgressLog(stderr_console, verbose=verbose)
    if report:
        league = write_league_report(results, progress, price=price)
    else:
        settings = LeagueSettings(
            policies=tuple(with_absolute_files(policies.split(","))),
            loads=tuple(with_absolute_files(workload or LOADS)),
            repetitions=repetitions,
            length_s=minutes * 60,
            objective_s=None if objective is None else duration_s("--objective", objective),
            late_minute_price=price,
            topology=topology,
            query=query,
            nodes=tuple(nodes or ChosenNodes),
        )
        with resumable(progress):
            league = run_league(settings, results, progress, attempts=attempts, runs=runs)
    emit(league.document(), output, [each.for_terminal() for each in league.tables()])
    progress.log(f"report: {results}/league.md, league.json; for more: gesscale arena report {results}/live")
    if league.faults:
        raise typer.Exit(1)
