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

#: Delimiters with which a comma within a number can only be that of decimals.
_CLEAR_OF_COMMAS = ";\t|"
_QUOTED = re.compile(r'"[^"]*"')
_MARKS_OF_NUMBERS = frozenset("0123456789.eE+-")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:\s*[a-zµμ]+)?", re.IGNORECASE)
_DIGIT_GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}\D*")
_EMPHASIS = re.compile(r"(\*\*|__|[*_`])(.+)\1")
#: A line that begins with ``#``, or Excel's ``sep=``; a cell ``#`` may be the corner of a matrix.
_COMMENT = re.compile(r"\s*(?:#(?! *[,;\t|])|sep=)", re.IGNORECASE)


class SheetRow(NamedTuple):
    """The cells of one row without surrounding blanks, and the line on which it ends (from 1)."""

    line: int
    cells: list[str]


class Sheet:
    """Rows of cells without blank rows.

    Cells are separated by the comma, semicolon or tab that is most frequent in the first row, by the bars of Markdown,
    or by blanks.

    Raises
    ------
    LatencyMapError
        The text is empty, has bars but no table in Markdown, or commas that are those of decimals between blanks.
    """

    def __init__(self, source: MapSource) -> None:
        self.name = source.name
        self.marks: Counter[str] = Counter()
        self._source = source
        self._delimiter = _delimiter(source)
        #: Place of the first number with a point, with a decimal comma, and with a comma that may group digits.
        self._decimals: dict[str, str] = {}
        #: The first rows.
        self.head = list(islice(self._split(), HEAD_ROWS))
        if not self.head:
            raise LatencyMapError("map-empty", source=self.name, expected="rows of delays")

    def rows(self, start: int) -> Iterator[SheetRow]:
        """Return the rows from one on, counted from 0.

        Raises
        ------
        LatencyMapError
            A cell is too long, a comment may be a row, some numbers have a point and others a comma, or commas may
            group digits, which are never distinguished from decimals.
        """
        yield from islice(self._split(), start, None)
        seen = self._decimals
        doubtful = seen.get(".") if len(seen) > 1 else None if "," in seen else seen.get("group")
        if doubtful:
            raise LatencyMapError("map-decimals-doubtful", source=self.name, place=doubtful)

    def notes(self) -> list[Problem]:
        """Return notes on marks of missing delays."""
        return [Problem("import-cells-missing", {"mark": mark, "count": n}) for mark, n in self.marks.items()]

    def cell_error(self, row: SheetRow, column: int, problem: Problem | str, **fields: object) -> LatencyMapError:
        """Return an error with the place of a cell; columns are counted from 0 here and from 1 in the place."""
        problem = Problem(problem, fields) if isinstance(problem, str) else problem
        return error_of(problem, source=self.name, place=place_of(row, column))

    def check_width(self, row: SheetRow, width: int) -> None:
        """Raise LatencyMapError if a row has another number of cells."""
        if (got := len(row.cells)) != width:
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
                if "." in joined:
                    self._decimals.setdefault(".", place_of(row, start))
                return delays, {None}
        figures = [
            parse_delay(self.with_point(row, column), self.name, place_of(row, column), self.marks)
            for column in range(start, len(row.cells))
        ]
        return [delay for delay, _ in figures], {unit for delay, unit in figures if delay > 0 or unit}

    def with_point(self, row: SheetRow, column: int) -> str:
        """Return a cell with a point for its decimal comma, where the delimiter leaves no doubt that it is one."""
        cell = row.cells[column]
        if self._delimiter not in _CLEAR_OF_COMMAS or not ("," in cell or ("." in cell and "." not in self._decimals)):
            return cell
        if "," not in cell or not _DECIMAL_COMMA.fullmatch(cell):
            if is_number(cell):
                self._decimals.setdefault(".", place_of(row, column))
            return cell
        self._decimals.setdefault("group" if _DIGIT_GROUP.fullmatch(cell) else ",", place_of(row, column))
        return cell.replace(",", ".")

    def _split(self) -> Iterator[SheetRow]:
        blanks, markdown = self._delimiter == " ", self._delimiter == "|"
        lines = (" ".join(line.split()) for line in self._lines()) if blanks else self._lines()
        reader = csv.reader(lines, delimiter=self._delimiter, skipinitialspace=not blanks)
        try:
            for raw in reader:
                cells = list(map(str.strip, raw))
                if any(cells):
                    yield SheetRow(reader.line_num, [_EMPHASIS.sub(r"\2", c) for c in cells] if markdown else cells)
        except csv.Error as error:
            fields = {"place": f"line {reader.line_num}", "delimiter": self._delimiter, "cause": str(error)}
            raise LatencyMapError("map-csv-invalid", source=self.name, **fields) from None

    def _lines(self) -> Iterator[str]:
        """Return the lines, blank ones for comments and for what is outside the table in Markdown."""
        width = rules = 0
        for number, line in enumerate(self._source.lines(), 1):
            if self._delimiter == "|":
                text, is_rule = line.strip(), _is_rule(line)
                rules += is_rule
                if rules > 1:
                    raise LatencyMapError("map-tables-several", source=self.name, place=f"line {number}")
                yield "\n" if is_rule or "|" not in text else text.removeprefix("|").removesuffix("|")
            elif _COMMENT.match(line):
                if width and self._width(line) == width:
                    raise LatencyMapError("map-comment-doubtful", source=self.name, place=f"line {number}")
                yield "\n"
            else:
                width = width or self._width(line)
                yield line

    def _width(self, line: str) -> int:
        return len(line.split()) if self._delimiter == " " else line.count(self._delimiter)


def place_of(row: SheetRow, column: int) -> str:
    """Return the place of a cell, whose column is counted from 0 here and from 1 in the place."""
    return f"line {row.line}, column {column + 1}"


def is_number_or_missing(cell: str) -> bool:
    """Return whether a cell is a decimal number or a mark of a missing one."""
    return is_number(cell) or cell.lower() in MISSING or _DECIMAL_COMMA.fullmatch(cell) is not None


def _is_rule(line: str) -> bool:
    """Return whether a line is that between the heading and the rows of a table in Markdown."""
    return "|" in line and "-" in line and not line.strip("|:- \t\r\n")


def _delimiter(source: MapSource) -> str:
    """Return the delimiter of the first row."""
    head = list(islice((line for line in source.lines() if line.strip() and not _COMMENT.match(line)), 100))
    if any(map(_is_rule, head)):
        return "|"
    plain = _QUOTED.sub("", head[0]) if head else ""
    without = _DECIMAL_COMMA.sub("", plain)
    if ";" in plain or "\t" in plain:
        plain = without
    elif "," in plain and "," not in without and len(plain.split()) > 1:
        raise LatencyMapError("map-decimal-comma", source=source.name, place="line 1", cell=plain.strip()[:60])
    elif "|" in plain and "," not in plain:
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like="a table with bars, not Markdown")
    best = max(",;\t", key=plain.count)
    return best if best in plain or not head or len(head[0].split()) < 2 else " "
