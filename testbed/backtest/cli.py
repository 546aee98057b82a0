"""``gesscale backtest``: what the auto-scaler would have done with a recorded load."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, warn
from testbed.arena.cli.options import duration_s

app = typer.Typer()


@app.command(epilog="Example: gesscale backtest /var/log/spark/eventlog_v2_app-20261128")
def backtest(
    log: Annotated[
        Path | None, typer.Argument(metavar="LOG", help="A Spark event log, a folder of them, or a CSV file.")
    ] = None,
    *,
    query: Annotated[str | None, typer.Option(help="Name or id of the query, if there are several.")] = None,
    prometheus: Annotated[str | None, typer.Option(help="Address of a Prometheus server, instead of LOG.")] = None,
    rate: Annotated[str, typer.Option(help="Its query of the rows per second. Default: gesscale's gauges.")] = "",
    lag: Annotated[str, typer.Option(help="Its query of the rows that wait. Default: as above.")] = "",
    replicas: Annotated[str, typer.Option(help="Its query of the replicas. Default: as above.")] = "",
    slo: Annotated[str, typer.Option(help="Oldest that a row may be until it is processed.")] = "60s",
    trigger: Annotated[str | None, typer.Option(help="The trigger interval, if the batches do not show it.")] = None,
    cap: Annotated[
        int | None, typer.Option(min=1, help="Cap on the rows of a batch, if batches do not show it.")
    ] = None,
    least: Annotated[int, typer.Option("--min", min=1, max=64, help="Fewest replicas.")] = 1,
    most: Annotated[
        int | None, typer.Option("--max", min=1, max=64, help="Most. Default: what the peak needs.")
    ] = None,
    last: Annotated[str, typer.Option(help="How much of the end of the record is played.")] = "12h",
    policy: Annotated[str, typer.Option("--policy", "-p", help="One of `gesscale policies list`.")] = "gesscale",
    target: Annotated[Path | None, typer.Option("--to", metavar="FILE.html", help="Also write a page.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what a streaming query cost, and what it would have cost with the auto-scaler. Changes nothing.

    The batches of the record show how long a batch takes; a simulation plays its load with the policy.
    """
    from testbed.backtest.play import Conditions, cap_warnings, largest_useful, play
    from testbed.backtest.report import Backtest
    from testbed.backtest.series import Prometheus
    from testbed.backtest.source import read_source

    span_s, trigger_s = duration_s("--last", last), None if trigger is None else duration_s("--trigger", trigger)
    queries = {"rows_per_s": rate, "lag_rows": lag, "replicas": replicas}
    server = None if prometheus is None else Prometheus(prometheus, queries, query or "", time.time(), span_s)
    found, learned, problems = read_source(log, server, query, trigger_s=trigger_s, cap_rows=cap)
    began_s, ended_s = found.span_s
    conditions = Conditions(
        policy=policy,
        slo_s=duration_s("--slo", slo),
        min_replicas=least,
        max_replicas=most or max(least, largest_useful(found, learned)),
        from_s=max(began_s, ended_s - span_s),
    )
    warn([*problems, *learned.left_open, *cap_warnings(found, conditions.max_replicas)])
    result = Backtest(query=found, learned=learned, conditions=conditions, played=play(found, learned, conditions))
    emit(result.document(), output, result.tables())
    if output is Output.TABLE:
        stderr_console.print("\nto paste (docs/howto/k3s.md):\n")
        typer.echo(result.resource())
    if target is not None:
        result.write_page(target)
        stderr_console.print(f"open {target} in a browser")
