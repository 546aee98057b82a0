"""Reads CSV files with a header. Each row has its line and its cells by column; a model checks the cells."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from gesscale.common.errors import cause_of
from gesscale.errors import InputError

#: About a month of seconds in six columns.
MAX_BYTES = 64 * 1024 * 1024

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRow:
    """A row of a file with its cells as text."""

    #: The file.
    path: Path
    #: The last line of the row; the header is line 1.
    line: int
    #: Stripped text by column.
    cells: Mapping[str, str]

    def read_as(self, model: type[_Model]) -> _Model:
        """Parse the cells.

        Raises
        ------
        InputError
            If a cell is invalid; with its file, line and column.
        """
        try:
            return model.model_validate(self.cells)
        except ValidationError as fault:
            column = str(fault.errors()[0]["loc"][0])
            raise InputError(
                "csv-cell-invalid",
                source=self.path,
                place=f"line {self.line}, column {column}",
                expected=model.model_fields[column].description,
                got=self.cells.get(column, ""),
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvTable:
    """A file whose header was read."""

    #: The file.
    path: Path
    #: The line of the header.
    line: int
    #: Names of the columns, stripped.
    columns: tuple[str, ...]
    #: The rows below the header without blank ones, read lazily and once. Raises InputError at a row that is not
    #: CSV or has more or fewer cells than the header.
    rows: Iterator[CsvRow]


def read_csv(path: Path, required: Sequence[str], *, header: str = "", max_bytes: int = MAX_BYTES) -> CsvTable:
    """Read a file.

    Raises
    ------
    InputError
        If the file cannot be read or is too large, or its header is absent, lacks a column or repeats one.
    """
    lines = _lines(path, _text(path, max_bytes))
    line, columns = next(lines, (0, ()))
    if not columns:
        raise InputError("csv-empty", source=path, columns=header or required)
    if required:
        _check_header(path, line, columns, required)
    return CsvTable(path=path, line=line, columns=columns, rows=_rows(path, columns, lines))


def _lines(path: Path, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the non-blank lines with their numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, tuple(cell.strip() for cell in cells)
    except csv.Error as fault:
        place = f"line {reader.line_num}"
        raise InputError("csv-malformed", source=path, place=place, cause=str(fault)) from fault


def _rows(path: Path, columns: Sequence[str], lines: Iterator[tuple[int, tuple[str, ...]]]) -> Iterator[CsvRow]:
    for line, cells in lines:
        if len(cells) != len(columns):
            place = f"line {line}"
            raise InputError("csv-cells-mismatch", source=path, place=place, expected=len(columns), got=len(cells))
        yield CsvRow(path=path, line=line, cells=dict(zip(columns, cells, strict=True)))


def _text(path: Path, max_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except (OSError, ValueError) as fault:
        raise InputError("csv-unreadable", source=path, cause=cause_of(fault)) from fault
    if len(raw) > max_bytes:
        raise InputError("csv-too-large", source=path, max_mib=max_bytes // 2**20)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise InputError("csv-not-utf8", source=path, place=f"line {line}", byte=raw[fault.start]) from fault


def _check_header(path: Path, line: int, columns: Sequence[str], required: Sequence[str]) -> None:
    where = {"source": path, "place": f"line {line}"}
    if missing := [name for name in required if name not in columns]:
        raise InputError("csv-column-missing", **where, column=missing[0], got=columns)
    if len(set(columns)) != len(columns):
        repeated = next(name for name in columns if columns.count(name) > 1)
        raise InputError("csv-column-repeated", **where, column=repeated)
