"""Delimited text and tables in Markdown as rows of cells; errors have the file, the line and the column."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.rows import MISSING, is_number, parse_delay
from latency_map.formats.source import MapSource
from latency_map.kinds import DelayUnit

#: Number of rows that the detection of a format reads.
HEAD_ROWS = 8

_DELIMITERS = ",;\t|"
#: Delimiters beside which a comma within a number can only be that of decimals.
_CLEAR_OF_COMMAS = ";\t|"
_QUOTED = re.compile(r'"[^"]*"')
_MARKS_OF_NUMBERS = frozenset("0123456789.eE+-")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:\s*[a-zµμ]+)?", re.IGNORECASE)
_DIGIT_GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}\D*")
_RULE = re.compile(r"\s*[|+]?[\s:=-]*-[\s:|+=-]*")
_EMPHASIS = re.compile(r"(\*\*|__|[*_`])(.+)\1")


class SheetRow(NamedTuple):
    """The cells of one row without surrounding blanks, and the line on which it ends (from 1)."""

    line: int
    cells: list[str]


class Sheet:
    """Rows of cells without blank rows, which can be read once.

    Cells are separated by the comma, semicolon, tab or bar that is most frequent in the first row, or by blanks if it
    has none of them.
    """

    def __init__(self, source: MapSource) -> None:
        self.name = source.name
        self.marks: Counter[str] = Counter()
        self._delimiter = _delimiter(source)
        self._doubtful = _line_of_doubtful_comment(source, self._delimiter)
        self._rows = _split_rows(source, self._delimiter)
        #: Places of the first number with a point, with a decimal comma, and with a comma that may group digits.
        self._points, self._commas, self._groups = "", "", ""

    def first(self) -> SheetRow:
        """Return the next row; raise LatencyMapError if there is none."""
        row = next(self._rows, None)
        if row is None:
            raise LatencyMapError("map-empty", source=self.name, expected="rows of delays")
        return row

    def rows(self) -> Iterator[SheetRow]:
        """Return the remaining rows.

        Raises
        ------
        LatencyMapError
            A cell is too long, a comment may be a row, or some numbers have a point and others a comma.
        """
        if self._doubtful:
            raise LatencyMapError("map-comment-doubtful", source=self.name, place=f"line {self._doubtful}")
        yield from self._rows
        self._check_decimals()

    def notes(self) -> list[Problem]:
        """Return notes on marks of missing delays."""
        return [Problem("import-cells-missing", {"mark": mark, "count": n}) for mark, n in self.marks.items()]

    def cell_error(self, row: SheetRow, column: int, code: str, **fields: object) -> LatencyMapError:
        """Return an error with the place of a cell; columns are counted from 0 here and from 1 in the place."""
        return LatencyMapError(code, source=self.name, place=place_of(row, column), **fields)

    def cell_problem(self, row: SheetRow, column: int, problem: Problem) -> LatencyMapError:
        """Return an error with a problem and the place of a cell."""
        return error_of(problem, source=self.name, place=place_of(row, column))

    def check_width(self, row: SheetRow, width: int) -> None:
        """Raise LatencyMapError if a row has another number of cells."""
        if len(row.cells) != width:
            got = len(row.cells)
            raise self.cell_error(row, min(got, width), "map-row-ragged", expected=width, got=got)

    def parse_delays(self, row: SheetRow, start: int) -> tuple[list[float], set[DelayUnit | None]]:
        """Parse the cells of a row from a column (counted from 0) on; NaN where missing. Also return their units.

        Raises
        ------
        LatencyMapError
            A cell is neither a delay nor a mark of a missing one.
        """
        cells = row.cells[start:]
        joined = "".join(cells)
        if _MARKS_OF_NUMBERS.issuperset(joined):
            try:
                delays = list(map(float, cells if all(cells) else [cell or "nan" for cell in cells]))
            except ValueError:
                pass  # some are marks of missing delays; parse them one by one
            else:
                self._points = self._points or ("." in joined and place_of(row, start)) or ""
                return delays, {None}
        figures = [
            parse_delay(self.with_point(row, column), self.name, place_of(row, column), self.marks)
            for column in range(start, len(row.cells))
        ]
        return [delay for delay, _ in figures], {unit for delay, unit in figures if delay > 0 or unit}

    def with_point(self, row: SheetRow, column: int) -> str:
        """Return a cell with a point for its decimal comma, where the delimiter leaves no doubt that it is one."""
        cell = row.cells[column]
        if self._delimiter not in _CLEAR_OF_COMMAS:
            return cell
        if "," not in cell:
            if not self._points and "." in cell and is_number(cell):
                self._points = place_of(row, column)
            return cell
        if not _DECIMAL_COMMA.fullmatch(cell):
            return cell
        if _DIGIT_GROUP.fullmatch(cell):
            self._groups = self._groups or place_of(row, column)
        else:
            self._commas = self._commas or place_of(row, column)
        return cell.replace(",", ".")

    def _check_decimals(self) -> None:
        """Refuse digit groups, which are never told from decimals, and decimals of two kinds."""
        if self._points:
            place = self._points if self._commas or self._groups else ""
        else:
            place = "" if self._commas else self._groups
        if place:
            raise LatencyMapError("map-decimals-doubtful", source=self.name, place=place)


def place_of(row: SheetRow, column: int) -> str:
    """Return the place of a cell, whose column is counted from 0 here and from 1 in the place."""
    return f"line {row.line}, column {column + 1}"


def rows_at_head(source: MapSource, count: int = HEAD_ROWS) -> list[SheetRow]:
    """Return the first few rows of a source."""
    return list(islice(_split_rows(source, _delimiter(source)), count))


def is_number_or_missing(cell: str) -> bool:
    """Return whether a cell is a decimal number or a mark of a missing one."""
    return is_number(cell) or cell.lower() in MISSING or _DECIMAL_COMMA.fullmatch(cell) is not None


def _split_rows(source: MapSource, delimiter: str) -> Iterator[SheetRow]:
    """Split lines into cells, without blank rows and comments, which begin with ``#``."""
    if delimiter == "|":
        yield from _barred_rows(source)
        return
    if not delimiter:
        for number, line in enumerate(source.lines(), 1):
            whole = _QUOTED.sub(lambda quoted: quoted[0][1:-1].replace(" ", "\0"), line) if '"' in line else line
            cells = whole.split()
            if cells and not cells[0].startswith("#"):
                yield SheetRow(line=number, cells=[cell.replace("\0", " ") for cell in cells] if '"' in line else cells)
        return
    lines = ("\n" if _is_comment(line) else line for line in source.lines())
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    width = 0
    try:
        for raw in reader:
            cells = list(map(str.strip, raw))
            if not any(cells):
                continue
            if not width:
                width = len(cells) - 1 if not cells[-1] and not all(map(is_number_or_missing, cells)) else -1
            if len(cells) == width + 1 and not cells[-1]:  # each line ends with a delimiter
                cells.pop()
            yield SheetRow(line=reader.line_num, cells=cells)
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise LatencyMapError(
            "map-csv-invalid", source=source.name, place=place, delimiter=delimiter, cause=str(error)
        ) from None


def _barred_rows(source: MapSource) -> Iterator[SheetRow]:
    """Split the rows of the table of a text in Markdown, or of one whose cells bars separate.

    Raises
    ------
    LatencyMapError
        The text has more tables than one.
    """
    rules = 0
    for number, line in enumerate(source.lines(), 1):
        text = line.strip()
        if _RULE.fullmatch(text):
            rules += "+" not in text
            if rules > 1:
                raise LatencyMapError("map-tables-several", source=source.name, place=f"line {number}")
        elif "|" in text:
            cells = text.removeprefix("|").removesuffix("|").split("|")
            yield SheetRow(line=number, cells=[_EMPHASIS.sub(r"\2", cell.strip()) for cell in cells])


def _is_comment(line: str) -> bool:
    """Return whether a line begins with ``#`` or is Excel's ``sep=``; a cell ``#`` may be the corner of a matrix."""
    text = line.lstrip()
    if text[:4].lower() == "sep=":
        return True
    return text.startswith("#") and not text[1:].lstrip(" ").startswith(tuple(_DELIMITERS))


def _line_of_doubtful_comment(source: MapSource, delimiter: str) -> int:
    """Return the number of the first comment below the first row that has as many cells as it; 0 if there is none."""
    if "#" not in source.text or not delimiter:
        return 0
    cells = 0
    for number, line in enumerate(source.lines(), 1):
        if cells and _is_comment(line) and line.count(delimiter) == cells:
            return number
        cells = cells or (0 if _is_comment(line) else line.count(delimiter))
    return 0


def _delimiter(source: MapSource) -> str:
    """Return the delimiter of the first row; "" for blanks.

    Raises
    ------
    LatencyMapError
        Cells are separated by blanks, and commas are those of decimals.
    """
    lines = (line for line in source.lines() if line.strip() and not _is_comment(line))
    head = list(islice(lines, 100))
    if any(("|" in line or "+" in line) and _RULE.fullmatch(line.strip()) for line in head):
        return "|"
    first = head[0] if head else ""
    plain = _QUOTED.sub("", first)
    without = _DECIMAL_COMMA.sub("", plain)
    if any(mark in plain for mark in _CLEAR_OF_COMMAS):
        plain = without
    elif "," in plain and "," not in without and len(plain.split()) > 1:
        raise LatencyMapError("map-decimal-comma", source=source.name, place="line 1", cell=plain.strip()[:60])
    best = max(_DELIMITERS, key=plain.count)
    return best if plain.count(best) or not first.split()[1:] else ""
