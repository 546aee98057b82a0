"""Delimited text as rows of cells that know where they stand: every complaint names file, line and column."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError
from latency_map.formats.source import MapSource

#: As many rows tell what a sheet is.
ROWS_LOOKED_AT = 8

_DELIMITERS = ",;\t"
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MARKS_OF_NUMBERS = frozenset("0123456789.eE+-")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_MISSING = frozenset(("", "-", "–", "—", "*", "?", "n/a", "na", "null", "none"))


class SheetRow(NamedTuple):
    """The cells of one row, blanks around them removed, and the line it ends on (from 1)."""

    line: int
    cells: list[str]


class Sheet:
    """Rows of cells, blank rows left out, read once.

    Cells are separated by the comma, semicolon or tab that the first row has most of, or by blanks where it
    has none of them.
    """

    def __init__(self, source: MapSource) -> None:
        self.name = source.name
        self._rows = _split_rows(source)
        self._marks: Counter[str] = Counter()

    def first(self) -> SheetRow:
        """Return the next row; raises LatencyMapError where there is none."""
        row = next(self._rows, None)
        if row is None:
            raise LatencyMapError(f"{self.name}: expected a matrix or an edge list of delays, got no cell at all")
        return row

    def rows(self) -> Iterator[SheetRow]:
        """Return the rows that are left; raises LatencyMapError where the quoting is broken."""
        return self._rows

    def error(self, row: SheetRow, column: int, problem: str) -> LatencyMapError:
        """Return an error that points at a cell; columns are counted from 0 here and from 1 in the message."""
        return LatencyMapError(f"{self.name}, line {row.line}, column {column + 1}: {problem}")

    def delays(self, row: SheetRow, start: int) -> list[float]:
        """Read the cells of a row from a column (counted from 0) on, in the file's unit; NaN where missing.

        Raises
        ------
        LatencyMapError
            A cell is no decimal number and says not that it is missing.
        """
        cells = row.cells[start:]
        if _MARKS_OF_NUMBERS.issuperset("".join(cells)):
            try:
                return list(map(float, cells))
            except ValueError:
                pass  # some are blank: one by one
        return [self.delay(row, column) for column in range(start, len(row.cells))]

    def delay(self, row: SheetRow, column: int) -> float:
        """Read one cell as `delays` does."""
        cell = row.cells[column]
        if is_number(cell):
            return float(cell)
        if cell.lower() in _MISSING:
            if cell:
                self._marks[cell] += 1
            return math.nan
        expected = "expected a delay such as 12.5, or a blank cell where it is missing"
        hint = "; write decimals with a point" if _DECIMAL_COMMA.fullmatch(cell) else ""
        raise self.error(row, column, f"{expected}, got {shortened(cell)}{hint}")

    def notes(self) -> tuple[str, ...]:
        """Return what stood for a missing delay, other than blank cells, for people."""
        return tuple(f"{mark!r} taken as missing, cells: {count}" for mark, count in self._marks.items())


def rows_at_head(source: MapSource) -> list[SheetRow]:
    """Return the first few rows of a source; none where they are badly quoted."""
    try:
        return list(islice(_split_rows(source), ROWS_LOOKED_AT))
    except LatencyMapError:
        return []


def _split_rows(source: MapSource) -> Iterator[SheetRow]:
    """Split lines into cells; rows that are blank or a comment, which begins with ``#``, are left out."""
    delimiter = _delimiter(source)
    if not delimiter:
        for number, line in enumerate(source.lines(), 1):
            cells = line.split()
            if cells and not cells[0].startswith("#"):
                yield SheetRow(line=number, cells=cells)
        return
    told = ("\n" if _is_comment(line) else line for line in source.lines())
    reader = csv.reader(told, delimiter=delimiter, skipinitialspace=True)
    try:
        for raw in reader:
            cells = list(map(str.strip, raw))
            if any(cells):
                yield SheetRow(line=reader.line_num, cells=cells)
    except csv.Error as error:
        raise LatencyMapError(
            f"{source.name}, line {reader.line_num}: expected cells separated by {delimiter!r}, got: {error}"
        ) from None


def _is_comment(line: str) -> bool:
    """Tell whether a line is a comment: it begins with ``#``, but not with a cell of it as a matrix's corner may be."""
    text = line.lstrip()
    return text.startswith("#") and not text[1:].lstrip(" ").startswith(tuple(_DELIMITERS))


def is_number(cell: str) -> bool:
    """Tell whether a cell is a decimal number; NaN, infinity and digit groups are none."""
    return _NUMBER.fullmatch(cell) is not None


def is_number_or_missing(cell: str) -> bool:
    """Tell whether a cell is a decimal number or says that there is none."""
    return cell.lower() in _MISSING or is_number(cell)


def _delimiter(source: MapSource) -> str:
    """Return what separates the cells of the first row; "" for blanks."""
    first = next((line for line in source.lines() if line.strip() and not _is_comment(line)), "")
    plain = _QUOTED.sub("", first)
    if ";" in plain:
        plain = _DECIMAL_COMMA.sub("", plain)
    best = max(_DELIMITERS, key=plain.count)
    return best if plain.count(best) or '"' in first or not plain.split()[1:] else ""
