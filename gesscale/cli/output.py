"""Data goes to stdout as a table, JSON or YAML; everything said to a person goes to stderr."""

import dataclasses
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

console = Console(soft_wrap=True)
talk = Console(stderr=True, soft_wrap=True)


class Output(StrEnum):
    """How a command writes its result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def plain(value: object) -> Any:
    """Turn domain values into what JSON can say.

    Parameters
    ----------
    value
        Dataclasses, enums, mappings, sequences, sets, numbers, strings or None, nested at will.

    Returns
    -------
    object
        The same with dicts, lists, strings and finite numbers only; NaN and infinities become None.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    match value:
        case Enum():
            return value.value
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case Iterable():
            items = sorted(value) if isinstance(value, set | frozenset) else value
            return [plain(item) for item in items]
    return plain(value.item()) if hasattr(value, "item") else str(value)  # a NumPy scalar has item()


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
        sys.stdout.write(json.dumps(plain(document), indent=2) + "\n")
    elif output is Output.YAML:
        sys.stdout.write(yaml.safe_dump(plain(document), sort_keys=False))
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
    result = Table(title=title, title_justify="left")
    cells = [list(row) for row in rows]
    for index, heading in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in cells)
        result.add_column(heading, justify="right" if numeric else "left")
    for row in cells:
        result.add_row(*(_cell(cell) for cell in row))
    return result


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
