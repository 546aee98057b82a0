"""Delimited text as rows of cells; errors have the file, the line and the column."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.source import MapSource

#: Number of rows that the detection of a format reads.
HEAD_ROWS = 8

_DELIMITERS = ",;\t"
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MARKS_OF_NUMBERS = frozenset("0123456789.eE+-")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_MISSING = frozenset(("", "-", "–", "—", "*", "?", "n/a", "na", "null", "none"))


class SheetRow(NamedTuple):
    """The cells of one row without surrounding blanks, and the line on which it ends (from 1)."""

    line: int
    cells: list[str]


class Sheet:
    """Rows of cells without blank rows, which can be read once.

    Cells are separated by the comma, semicolon or tab that is most frequent in the first row, or by blanks if there
    is none of them.
    """

    def __init__(self, source: MapSource) -> None:
        self.name = source.name
        self._rows = _split_rows(source)
        self._marks: Counter[str] = Counter()

    def first(self) -> SheetRow:
        """Return the next row; raise LatencyMapError if there is none."""
        row = next(self._rows, None)
        if row is None:
            raise LatencyMapError("map-empty", source=self.name, expected="rows of delays")
        return row

    def rows(self) -> Iterator[SheetRow]:
        """Return the remaining rows; raise LatencyMapError if the quotes of a cell are broken."""
        return self._rows

    def cell_error(self, row: SheetRow, column: int, code: str, **fields: object) -> LatencyMapError:
        """Return an error with the place of a cell; columns are counted from 0 here and from 1 in the place."""
        return LatencyMapError(code, source=self.name, place=self._place(row, column), **fields)

    def cell_problem(self, row: SheetRow, column: int, problem: Problem) -> LatencyMapError:
        """Return an error with a problem and the place of a cell."""
        return error_of(problem, source=self.name, place=self._place(row, column))

    def parse_delays(self, row: SheetRow, start: int) -> list[float]:
        """Parse the cells of a row from a column (counted from 0) on, in the unit of the file; NaN where missing.

        Raises
        ------
        LatencyMapError
            A cell is neither a decimal number nor a mark of a missing delay.
        """
        cells = row.cells[start:]
        if _MARKS_OF_NUMBERS.issuperset("".join(cells)):
            try:
                return list(map(float, cells))
            except ValueError:
                pass  # some are blank; parse them one by one
        return [self.parse_delay(row, column) for column in range(start, len(row.cells))]

    def parse_delay(self, row: SheetRow, column: int) -> float:
        """Parse one cell; see `parse_delays`."""
        cell = row.cells[column]
        if is_number(cell):
            return float(cell)
        if cell.lower() in _MISSING:
            if cell:
                self._marks[cell] += 1
            return math.nan
        if _DECIMAL_COMMA.fullmatch(cell):
            raise self.cell_error(row, column, "map-decimal-comma", cell=cell)
        raise self.cell_error(row, column, "map-cell-invalid", cell=cell)

    def notes(self) -> tuple[Problem, ...]:
        """Return a note for each mark of a missing delay other than a blank cell."""
        return tuple(
            Problem("import-cells-missing", {"mark": mark, "count": count}) for mark, count in self._marks.items()
        )

    @staticmethod
    def _place(row: SheetRow, column: int) -> str:
        return f"line {row.line}, column {column + 1}"


def rows_at_head(source: MapSource) -> list[SheetRow]:
    """Return the first few rows of a source; none if the quotes of a cell are broken."""
    try:
        return list(islice(_split_rows(source), HEAD_ROWS))
    except LatencyMapError:
        return []


def _split_rows(source: MapSource) -> Iterator[SheetRow]:
    """Split lines into cells, without blank rows and comments, which begin with ``#``."""
    delimiter = _delimiter(source)
    if not delimiter:
        for number, line in enumerate(source.lines(), 1):
            cells = line.split()
            if cells and not cells[0].startswith("#"):
                yield SheetRow(line=number, cells=cells)
        return
    lines = ("\n" if _is_comment(line) else line for line in source.lines())
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for raw in reader:
            cells = list(map(str.strip, raw))
            if any(cells):
                yield SheetRow(line=reader.line_num, cells=cells)
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise LatencyMapError(
            "map-csv-invalid", source=source.name, place=place, delimiter=delimiter, cause=str(error)
        ) from None


def _is_comment(line: str) -> bool:
    """Return whether a line begins with ``#``, unless that is a whole cell, as the corner of a matrix may be."""
    text = line.lstrip()
    return text.startswith("#") and not text[1:].lstrip(" ").startswith(tuple(_DELIMITERS))


def is_number(cell: str) -> bool:
    """Return whether a cell is a decimal number; NaN, infinity and digit groups are not."""
    return _NUMBER.fullmatch(cell) is not None


def is_number_or_missing(cell: str) -> bool:
    """Return whether a cell is a decimal number or a mark of a missing one."""
    return cell.lower() in _MISSING or is_number(cell)


def _delimiter(source: MapSource) -> str:
    """Return the delimiter of the first row; "" for blanks."""
    first = next((line for line in source.lines() if line.strip() and not _is_comment(line)), "")
    plain = _QUOTED.sub("", first)
    if ";" in plain:
        plain = _DECIMAL_COMMA.sub("", plain)
    best = max(_DELIMITERS, key=plain.count)
    return best if plain.count(best) or '"' in first or not plain.split()[1:] else ""
