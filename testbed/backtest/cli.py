"""``gesscale backtest``: what the auto-scaler would have done with a recorded load."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, warn
from testbed.arena.cli.options import duration_s

app = typer.Typer()


@app.command(epilog="Example: gesscale backtest /var/log/spark/eventlog_v2_app-20261128")
def backtest(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A Spark event log, or a folder of event logs.")],
    *,
    query: Annotated[str | None, typer.Option(help="Name or id of the query, if there are several.")] = None,
    slo: Annotated[str, typer.Option(help="Oldest that a row may be until it is processed.")] = "60s",
    trigger: Annotated[str | None, typer.Option(help="The trigger interval, if the batches do not show it.")] = None,
    cap: Annotated[
        int | None, typer.Option(min=1, help="The cap on the rows of a batch, if the batches do not show it.")
    ] = None,
    least: Annotated[int, typer.Option("--min", min=1, max=64, help="Fewest replicas.")] = 1,
    most: Annotated[
        int | None, typer.Option("--max", min=1, max=64, help="Most replicas. Default: what the peak needs.")
    ] = None,
    last: Annotated[str, typer.Option(help="How much of the end of the record is played.")] = "12h",
    policy: Annotated[str, typer.Option("--policy", "-p", help="One of `gesscale policies list`.")] = "gesscale",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what a streaming query cost, and what it would have cost with the auto-scaler. Changes nothing.

    The batches of the record show how long a batch takes; a simulation plays its load with the policy.
    """
    from testbed.backtest.law import learn
    from testbed.backtest.play import Conditions, largest_useful, play
    from testbed.backtest.report import document, resource, tables
    from testbed.backtest.source import read_logs

    found, problems = read_logs(
        log, query, trigger_s=None if trigger is None else duration_s("--trigger", trigger), cap_rows=cap
    )
    learned = learn(found.batches, str(log))
    began_s, ended_s = found.span_s
    conditions = Conditions(
        policy=policy,
        slo_s=duration_s("--slo", slo),
        min_replicas=least,
        max_replicas=most or max(least, largest_useful(found, learned)),
        from_s=max(began_s, ended_s - duration_s("--last", last)),
    )
    warn([*problems, *learned.left_open])
    played = play(found, learned, conditions)
    emit(document(found, learned, conditions, played), output, tables(found, learned, conditions, played))
    if output is Output.TABLE:
        stderr_console.print("\nto paste (docs/howto/k3s.md):\n")
        typer.echo(resource(found, conditions))
