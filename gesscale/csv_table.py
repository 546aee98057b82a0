"""Rows of a CSV file with a header, each with its line and its cells by column; a model says what a cell may hold."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from gesscale.common.errors import cause_of
from gesscale.common.text import shortened
from gesscale.errors import InputError

#: A month of seconds in six columns takes about as much.
BYTES_MOST = 64 * 1024 * 1024

_SHOWN = 180  # characters of a header in a message

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRow:
    """A row of a file, cells as they stand."""

    #: The file.
    path: Path
    #: Where the row ends in it, the header being line 1.
    line: int
    #: Text by column, without blanks around it.
    cells: Mapping[str, str]

    def read_as(self, model: type[_Model]) -> _Model:
        """Return what the row says.

        Raises
        ------
        InputError
            Where a cell is not what it should be; names file, line and column.
        """
        try:
            return model.model_validate(self.cells)
        except ValidationError as fault:
            column = str(fault.errors()[0]["loc"][0])
            raise InputError(
                f"{self.path}, line {self.line}, column {column}: expected {model.model_fields[column].description}, "
                f"got {shortened(self.cells.get(column, ''))}; repair the cell or leave the row out"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvTable:
    """A file whose header was read."""

    #: The file.
    path: Path
    #: The line of the header.
    line: int
    #: Their names, without blanks around them.
    columns: tuple[str, ...]
    #: Those below the header, blank ones left out; read once, as they are asked for. Raises InputError where
    #: one has not as many cells as the header, or is no CSV; names file and line.
    rows: Iterator[CsvRow]


def read_csv(path: Path, required: Sequence[str], *, header: str = "", most_bytes: int = BYTES_MOST) -> CsvTable:
    """Read a file.

    Raises
    ------
    InputError
        Where the file cannot be read or is too large, or its header is absent, lacks a column or has one twice.
    """
    lines = _lines(path, _text(path, most_bytes))
    line, columns = next(lines, (0, ()))
    if not columns:
        raise InputError(f"{path}: expected a header with {header or ', '.join(required)}, got an empty file")
    if required:
        _check_header(f"{path}, line {line}", columns, required)
    return CsvTable(path=path, line=line, columns=columns, rows=_rows(path, columns, lines))


def _lines(path: Path, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the lines that are not blank, with their numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, tuple(cell.strip() for cell in cells)
    except csv.Error as fault:
        raise InputError(f"{path}, line {reader.line_num}: expected CSV, got: {fault}") from fault


def _rows(path: Path, columns: Sequence[str], lines: Iterator[tuple[int, tuple[str, ...]]]) -> Iterator[CsvRow]:
    for line, cells in lines:
        if len(cells) != len(columns):
            raise InputError(f"{path}, line {line}: expected {len(columns)} cells as in the header, got {len(cells)}")
        yield CsvRow(path=path, line=line, cells=dict(zip(columns, cells, strict=True)))


def _text(path: Path, most_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(most_bytes + 1)
    except (OSError, ValueError) as fault:
        raise InputError(f"{path}: expected a readable CSV file, got: {cause_of(fault)}") from fault
    if len(raw) > most_bytes:
        raise InputError(
            f"{path}: expected at most {most_bytes // 2**20} MiB, got more; give fewer rows, such as one per 10 s"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise InputError(
            f"{path}, line {line}: expected UTF-8, got the byte 0x{raw[fault.start]:02x}; save it as UTF-8"
        ) from fault


def _check_header(where: str, columns: Sequence[str], required: Sequence[str]) -> None:
    if missing := [name for name in required if name not in columns]:
        came = ", ".join(columns)[:_SHOWN]
        raise InputError(f"{where}: expected the column {missing[0]} in the header, got only {came}")
    if len(set(columns)) != len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"{where}: expected each column once, got {shortened(twice)} twice")
