"""``testbed chaos``."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.ending import end_as_ctrl_c_does
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from testbed.cluster import privilege
from testbed.cluster.spark_command import spark_home

_INTERRUPTED = 130


def chaos(
    *,
    results: Annotated[Path, typer.Option("--results", metavar="FOLDER", help="Keep everything here.")],
    seed: Annotated[int, typer.Option(help="Equal seeds draw equal changes and faults.")] = 1,
    changes: Annotated[int, typer.Option(min=1, max=10_000, help="How many changes of the placement.")] = 20,
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    most_replicas: Annotated[int, typer.Option(min=1, max=20, help="Of a placement.")] = 4,
    rows_per_s: Annotated[int, typer.Option(min=1, max=1000, help="Offered, without a pause.")] = 200,
    within: Annotated[
        float, typer.Option(min=5, max=600, help="Seconds in which a change has to converge.")
    ] = 120,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change placements at random while faults strike, on real Spark over emulated nodes, and count every row.

    The same command goes on where it was stopped. Exits 3 where a row was lost or doubled, a change did not converge,
    a replica was removed on doubt, or something was left behind.
    """
    spark_home()  # without PySpark it ends here
    from testbed.chaos.judge import FAULT_COLUMNS, by_fault, read_records, summary
    from testbed.chaos.playing import CHANGES, play_chaos
    from testbed.chaos.setting import ChaosSetting
    from testbed.demo.stage import Stage

    setting = ChaosSetting(
        seed=seed, topology=topology, most_replicas=most_replicas, rows_per_s=rows_per_s, within_s=within
    )
    privilege.enter()
    end_as_ctrl_c_does()
    stage = Stage(stderr_console)
    try:
        verdict = play_chaos(setting, changes, results.absolute(), stage)
    except KeyboardInterrupt:
        stage.say("interrupted: what is done is kept, the same command goes on")
        raise typer.Exit(_INTERRUPTED) from None
    records = read_records(results / CHANGES)
    tables = [
        table(f"Chaos, seed {seed}", ["what", "figure"], summary(verdict)),
        table("By fault", list(FAULT_COLUMNS), by_fault(records)),
    ]
    emit(verdict, output, tables)
    if not verdict.kept:
        raise typer.Exit(3)
