"""A CSV file of readings, and choosing its rows by conditions such as ``query=map`` or ``host_cpu<0.9``."""

import csv
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gesscale.errors import InputError
from gesscale.fields import LARGEST_EXACT
from latency_map.errors import shortened
from perfmodel import Reading

REQUIRED = ("replicas", "nd_max_ms", "mst_rows_per_s")
OPTIONAL = ("batch_rows", "tasks", "weight")
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
    mst_rows_per_s: _Figure = Field(description="rows per second, > 0")
    batch_rows: Annotated[_Figure | None, _OrNothing] = Field(None, description="rows > 0, or nothing")
    tasks: Annotated[_Count | None, _OrNothing] = Field(None, description="a whole number >= 1, or nothing")
    weight: Annotated[_Figure | None, _OrNothing] = Field(None, description="a number > 0, or nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLine:
    """A row of the file, cells as they stand.

    Attributes
    ----------
    number
        Its line in the file, the header being line 1.
    cells
        Text by column.
    """

    number: int
    cells: Mapping[str, str]


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
    lines: tuple[CsvLine, ...]

    def where(self, lines: Sequence[CsvLine], condition: str) -> list[CsvLine]:
        """Return the lines that meet a condition.

        Parameters
        ----------
        lines
            Lines of this file.
        condition
            A column, one of = != < <= > >=, and a value or another column. Numbers compare as numbers.
        """
        parts = _CONDITION.fullmatch(condition)
        if parts is None:
            message = f"expected a condition such as nd_max_ms=150 or tasks=replicas, got {condition!r}"
            raise InputError(message)
        column, sign, value = parts["column"], parts["sign"], parts["value"]
        if column not in self.columns:
            message = f"{self.path}: no column {column!r} for the condition {condition!r}, only {self._known}"
            raise InputError(message)
        return [line for line in lines if self._holds(line, column, sign, value)]

    def readings(self, lines: Sequence[CsvLine]) -> list[Reading]:
        """Turn lines into readings, all taken as saturated."""
        return [self._reading(line) for line in lines]

    def _holds(self, line: CsvLine, column: str, sign: str, value: str) -> bool:
        left, right = line.cells[column], line.cells.get(value, value)
        numbers = _number(left), _number(right)
        if None not in numbers:
            return _COMPARISONS[sign](*numbers)
        if sign in ("=", "!="):
            return _COMPARISONS[sign](left, right)
        message = (
            f"{self.path}, line {line.number}, column {column}: expected numbers to compare by {sign}, "
            f"got {left!r} and {right!r}"
        )
        raise InputError(message)

    def _reading(self, line: CsvLine) -> Reading:
        try:
            row = _Row.model_validate({name: line.cells[name] for name in self.columns})
        except ValidationError as fault:
            column = str(fault.errors()[0]["loc"][0])
            expected = _Row.model_fields[column].description
            message = (
                f"{self.path}, line {line.number}, column {column}: expected {expected}, "
                f"got {shortened(line.cells[column])}; repair the cell or leave the row out"
            )
            raise InputError(message) from None
        return Reading(
            replicas=row.replicas,
            nd_max_ms=row.nd_max_ms,
            rows_per_s=row.mst_rows_per_s,
            batch_rows=row.batch_rows,
            tasks=row.tasks,
            weight=row.weight,
        )

    @property
    def _known(self) -> str:
        return ", ".join(self.columns)


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
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        message = f"{path}: expected a readable CSV file in UTF-8, got: {fault}"
        raise InputError(message) from fault
    if not numbered:
        message = f"{path}: expected a header with {', '.join(REQUIRED)}, got an empty file"
        raise InputError(message)
    (_, columns), *rows = numbered
    _check_header(path, columns)
    if not rows:
        message = f"{path}: expected readings below the header, got none"
        raise InputError(message)
    for number, row in rows:
        if len(row) != len(columns):
            message = f"{path}, line {number}: expected {len(columns)} cells as in the header, got {len(row)}"
            raise InputError(message)
    lines = tuple(CsvLine(number=number, cells=dict(zip(columns, row, strict=True))) for number, row in rows)
    return ReadingsFile(path=path, columns=tuple(columns), lines=lines)


def _check_header(path: Path, columns: Sequence[str]) -> None:
    if missing := [name for name in REQUIRED if name not in columns]:
        message = (
            f"{path}, line 1: expected the column {missing[0]} in the header, got only {', '.join(columns)}"
        )
        raise InputError(message)
    if len(set(columns)) != len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        message = f"{path}, line 1: expected each column once, got {twice!r} twice"
        raise InputError(message)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
