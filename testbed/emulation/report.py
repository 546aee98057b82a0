"""The result of the check of every pair: one table and one document, for emulated and for real nodes."""

from collections.abc import Sequence

import typer

from gesscale.cli.output import Output, emit, stderr_console, table
from testbed.cluster.check import PairCheck


def emit_checks(name: str, pairs: Sequence[PairCheck], output: Output) -> None:
    """Write the measured pairs to stdout; end with exit code 3 where one is not as the map says.

    Parameters
    ----------
    name
        What was measured, for the heading.
    """
    wrong = sum(not pair.ok for pair in pairs)
    columns = ("from", "to", "asked ms", "median ms", "error ms", "least ms", "spread ms", "lost", "ok")
    shown = ("from", "to", "asked_ms", "measured_ms", "error_ms", "least_ms", "spread_ms", "lost")
    documents = [_document(pair) for pair in pairs]
    rows = [(*(each[name] for name in shown), "yes" if each["ok"] else "NO") for each in documents]
    document = {"cluster": name, "ok": wrong == 0, "pairs": documents}
    emit(document, output, [table(f"round trips of {name}", columns, rows)])
    if wrong:
        busy = sum(pair.least_ok and not pair.ok for pair in pairs)
        hint = f"; of {busy} the least echo is: is a machine, or its host, busy?" if busy else ""
        stderr_console.print(f"{wrong} of {len(pairs)} pairs are not as the map says{hint}")
        raise typer.Exit(3)


def _document(pair: PairCheck) -> dict[str, object]:
    figures = ("asked_ms", "measured_ms", "error_ms", "tolerance_ms", "least_ms", "spread_ms", "lost", "ok")
    return {"from": pair.first, "to": pair.second, **{name: getattr(pair, name) for name in figures}}
