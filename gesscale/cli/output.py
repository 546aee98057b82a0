"""Data goes to stdout as a table, JSON or YAML; everything said to a person goes to stderr."""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gesscale.document import API_VERSION as OF_DOCUMENTS
from gesscale.document import as_document

API_VERSION = OF_DOCUMENTS
"""Of what commands write as JSON and YAML."""

console = Console(soft_wrap=True)
stderr_console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)


class Output(StrEnum):
    """How a command writes its result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Form of the result.")]


def emit(document: object, output: Output, tables: Sequence[Table] = ()) -> None:
    """Write one result to stdout.

    Parameters
    ----------
    document
        What JSON and YAML write.
    output
        The chosen form.
    tables
        What the table form writes instead.
    """
    if output is Output.JSON:
        typer.echo(json.dumps(as_document(document), indent=2))
    elif output is Output.YAML:
        typer.echo(yaml.safe_dump(as_document(document), sort_keys=False), nl=False)
    else:
        for table in tables:
            console.print(table)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Build a table in the house style; numbers are set flush right.

    Parameters
    ----------
    title
        The caption above.
    columns
        The headings.
    rows
        Cells; floats are written with four significant digits, None as a dash.

    Returns
    -------
    rich.table.Table
        Ready for `emit`.
    """
    result = Table(title=escape(title), title_justify="left")
    cells = [list(row) for row in rows]
    for index, heading in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in cells)
        result.add_column(escape(heading), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        result.add_row(*(_cell(cell) for cell in row))
    return result


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return _figure(value) if isinstance(value, float) else escape(str(value))


def _figure(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def rate(rows_per_s: float | None) -> str:
    """Return rows per second for people; empty for None."""
    return with_unit(rows_per_s, "rows/s")


def with_unit(value: float | None, unit: str) -> str:
    """Return a figure and its unit, four digits of a small one and whole units of a large one; empty for None."""
    if value is None:
        return ""
    return f"{_figure(value)} {unit}".rstrip()


def estimate_in_words(estimate: Mapping[str, Any] | None) -> str:
    """Return a predicted MST for people; empty for None."""
    if not estimate:
        return ""
    span = f"{with_unit(estimate['low'], '')} to {with_unit(estimate['high'], '')}"
    return joined(f"{rate(estimate['mid'])} ({span})", estimate.get("reason", ""))


def joined(*parts: str) -> str:
    """Return the parts that are not empty with a colon between them."""
    return ": ".join(part for part in parts if part)
