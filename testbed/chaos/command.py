"""``testbed chaos``."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console


def chaos(
    *,
    results: Annotated[Path, typer.Option("--results", metavar="FOLDER", help="Folder for all results.")],
    seed: Annotated[int, typer.Option(help="Equal seeds draw equal changes and faults.")] = 1,
    changes: Annotated[int, typer.Option(min=1, max=10_000, help="Number of placement changes.")] = 20,
    topology: Annotated[
        str | None,
        typer.Option(help="A topology file, or a bundled one's name: edge8, on Kubernetes kube3.", show_default=False),
    ] = None,
    max_replicas: Annotated[int, typer.Option(min=1, max=20, help="Maximum replicas of a placement.")] = 4,
    rows_per_s: Annotated[int, typer.Option(min=1, max=1000, help="Constant load.")] = 200,
    within: Annotated[float, typer.Option(min=5, max=600, help="Time limit for a change to converge, s.")] = 120,
    query: Annotated[str, typer.Option(help="rides, or q5 of Nexmark, with a shuffle and state.")] = "rides",
    kafka: Annotated[bool, typer.Option("--kafka", help="Send the events of Nexmark through Kafka.")] = False,
    faults: Annotated[
        str | None, typer.Option(help="Faults to inject, separated by commas.", show_default=False)
    ] = None,
    kubernetes: Annotated[bool, typer.Option("--kubernetes", help="On Kubernetes, with the controller.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change placements at random while faults are injected, on real Spark over emulated nodes, and count every row.

    The same command resumes an interrupted run. Exits 3 if a row was lost or duplicated, a change did not converge,
    a replica was removed without valid metrics or map, or something was left behind.
    """
    from testbed.cluster.spark_command import spark_home

    spark_home()  # fails without PySpark
    from testbed.chaos.plan import KUBERNETES_FAULTS, LOCAL_FAULTS, parse_faults
    from testbed.chaos.results import Results, tables_of
    from testbed.chaos.runner import run_chaos
    from testbed.chaos.settings import ChaosSettings
    from testbed.live.nodes import ProgressLog, resumable

    usual = KUBERNETES_FAULTS if kubernetes else LOCAL_FAULTS
    settings = ChaosSettings(
        seed=seed,
        topology=topology or ("kube3" if kubernetes else "edge8"),
        max_replicas=max_replicas,
        rows_per_s=rows_per_s,
        within_s=within,
        query=query,
        kafka=kafka,
        faults=parse_faults(faults) if faults else usual,
        kubernetes=kubernetes,
    )
    progress = ProgressLog(stderr_console)
    with resumable(progress):
        verdict = run_chaos(settings, changes, results.absolute(), progress)
    records = Results(folder=results).records()
    tables = tables_of(f"Chaos, seed {seed}", records, verdict)
    emit(verdict, output, [each.for_terminal() for each in tables])
    if not verdict.kept:
        raise typer.Exit(3)
