"""A CSV file of readings, and choosing its rows by conditions such as ``query=map`` or ``host_cpu<0.9``."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gesscale.csv_table import CsvRow, read_csv
from gesscale.errors import InputError
from gesscale.fields import LARGEST_EXACT
from perfmodel import Reading

REQUIRED = ("replicas", "nd_max_ms", "mst_rows_per_s")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_SMALLEST, _LARGEST = 1e-9, 1e15
_CONDITION = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>[^<>=!]+?)\s*")

_Count = Annotated[int, Field(ge=1, le=LARGEST_EXACT)]
_Figure = Annotated[float, Field(ge=_SMALLEST, le=_LARGEST)]
_OrNothing = BeforeValidator(lambda text: None if text == "" else text)


class _Row(BaseModel):
    """A row of the file; the descriptions say what is expected."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    replicas: _Count = Field(description="a whole number >= 1")
    nd_max_ms: float = Field(ge=0, le=_LARGEST, description="a round trip in ms, >= 0")
    mst_rows_per_s: _Figure = Field(serialization_alias="rows_per_s", description="rows per second, > 0")
    batch_rows: Annotated[_Figure | None, _OrNothing] = Field(None, description="rows > 0, or nothing")
    tasks: Annotated[_Count | None, _OrNothing] = Field(None, description="a whole number >= 1, or nothing")
    weight: Annotated[_Figure | None, _OrNothing] = Field(None, description="a number > 0, or nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsFile:
    """A CSV file of readings, not yet checked row by row: rows that no condition chooses may hold anything.

    Raises
    ------
    InputError
        From its methods, naming file, line and column.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[CsvRow, ...]

    def where(self, rows: Sequence[CsvRow], condition: str) -> list[CsvRow]:
        """Return the rows that meet a condition.

        Parameters
        ----------
        rows
            Rows of this file.
        condition
            A column, one of = != < <= > >=, and a value or another column. Numbers compare as numbers.
        """
        parts = _CONDITION.fullmatch(condition)
        if parts is None:
            message = f"expected a condition such as nd_max_ms=150 or tasks=replicas, got {condition!r}"
            raise InputError(message)
        column, sign, value = parts["column"], parts["sign"], parts["value"]
        if column not in self.columns:
            known = ", ".join(self.columns)
            message = f"{self.path}: no column {column!r} for the condition {condition!r}, only {known}"
            raise InputError(message)
        return [row for row in rows if self._holds(row, column, sign, value)]

    def readings(self, rows: Sequence[CsvRow]) -> list[Reading]:
        """Turn rows into readings, all taken as saturated."""
        return [Reading(**row.read_as(_Row).model_dump(by_alias=True)) for row in rows]

    def _holds(self, row: CsvRow, column: str, sign: str, value: str) -> bool:
        left, right = row.cells[column], row.cells.get(value, value)
        numbers = _number(left), _number(right)
        if None not in numbers:
            return _COMPARISONS[sign](*numbers)
        if sign in ("=", "!="):
            return _COMPARISONS[sign](left, right)
        message = (
            f"{self.path}, line {row.line}, column {column}: expected numbers to compare by {sign}, "
            f"got {left!r} and {right!r}"
        )
        raise InputError(message)


def read_readings_file(path: Path) -> ReadingsFile:
    """Read a CSV file of readings with a header.

    Parameters
    ----------
    path
        A file with the columns replicas, nd_max_ms, mst_rows_per_s and, where known, batch_rows, tasks and
        weight. Others serve conditions only.

    Raises
    ------
    InputError
        When the file cannot be read, lacks a header, a column or rows, or has a row of another length.
    """
    table = read_csv(path, REQUIRED)
    rows = tuple(table.rows)
    if not rows:
        message = f"{path}: expected readings below the header, got none"
        raise InputError(message)
    return ReadingsFile(path=path, columns=table.columns, rows=rows)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
