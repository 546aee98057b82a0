"""Delimited text as cells that know where they stand: every complaint names file, line and column."""

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from latency_map.delays import DelayKind, DelayUnit
from latency_map.errors import LatencyMapError

_DELIMITERS = ",;\t"
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The cells of one row, blanks around them removed, and the line it ends on (from 1)."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Rows of cells, blank rows left out, at least one.

    Attributes
    ----------
    source
        The file, or what stands for it in messages.
    rows
        Its rows.
    """

    source: str
    rows: tuple[Row, ...]

    @classmethod
    def parse(cls, text: str, source: str) -> Self:
        """Split text into cells at the comma, semicolon or tab that its first row has most of.

        Parameters
        ----------
        text
            The text, with or without byte order mark.
        source
            Names it in messages.

        Returns
        -------
        Sheet
            Its cells.

        Raises
        ------
        LatencyMapError
            There is no cell, or the quoting is broken.
        """
        text = text.removeprefix("\ufeff")
        head = _QUOTED.sub("", next((line for line in text.splitlines() if line.strip()), ""))
        delimiter = max(_DELIMITERS, key=head.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
        rows = []
        try:
            for raw in reader:
                cells = tuple(cell.strip() for cell in raw)
                if any(cells):
                    rows.append(Row(line=reader.line_num, cells=cells))
        except csv.Error as error:
            message = (
                f"{source}, line {reader.line_num}: expected cells separated by {delimiter!r}, got: {error}"
            )
            raise LatencyMapError(message) from None
        if not rows:
            message = f"{source}: expected a matrix or an edge list of delays, got no cell at all"
            raise LatencyMapError(message)
        return cls(source=source, rows=tuple(rows))

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file.

        Parameters
        ----------
        path
            A text file in UTF-8.

        Returns
        -------
        Sheet
            Its cells.

        Raises
        ------
        LatencyMapError
            It cannot be read, is not UTF-8 text, or is not a sheet.
        """
        return cls.parse(read_text(path), str(path))

    def error(self, row: Row, column: int, problem: str) -> LatencyMapError:
        """Return an error that points at a cell.

        Parameters
        ----------
        row, column
            Where; columns are counted from 0 here and from 1 in the message.
        problem
            What was expected and what came.

        Returns
        -------
        LatencyMapError
            To be raised.
        """
        return LatencyMapError(f"{self.source}, line {row.line}, column {column + 1}: {problem}")

    def delay(self, row: Row, column: int) -> float:
        """Read a cell as a delay.

        Parameters
        ----------
        row, column
            Where; columns are counted from 0.

        Returns
        -------
        float
            The number, in the file's unit; NaN for a blank cell, which means missing.

        Raises
        ------
        LatencyMapError
            It is neither blank nor a decimal number.
        """
        cell = row.cells[column]
        if not cell:
            return math.nan
        if not is_number(cell):
            expected = "expected a delay such as 12.5, or a blank cell where it is missing"
            raise self.error(row, column, f"{expected}, got {shortened(cell)}")
        return float(cell)

    def check_label(self, row: Row, column: int, unit: DelayUnit, kind: DelayKind) -> None:
        """Refuse a heading such as ``rtt_ms`` that contradicts the stated unit or kind; ignore any other.

        Parameters
        ----------
        row, column
            Where the heading is; columns are counted from 0.
        unit, kind
            What the caller says of the delays.

        Raises
        ------
        LatencyMapError
            The heading says otherwise.
        """
        label = row.cells[column].lower()
        labels = {heading(each_unit, each_kind) for each_unit in DelayUnit for each_kind in DelayKind}
        if label in labels and label != heading(unit, kind):
            problem = f"expected {heading(unit, kind)!r} as the caller states, the heading says {label!r}"
            raise self.error(row, column, problem)


def read_text(path: Path | str) -> str:
    """Read a text file in UTF-8.

    Raises
    ------
    LatencyMapError
        It cannot be read or is not such text.
    """
    try:
        return Path(path).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = (
            f"{path}: expected a readable UTF-8 text file, got: {reason}; correct the path or save it so"
        )
        raise LatencyMapError(message) from None


def heading(unit: DelayUnit, kind: DelayKind) -> str:
    """Return the heading that states unit and kind, such as ``rtt_ms``."""
    return f"{kind.value}_{unit.value}".replace("-", "_")


def is_number(cell: str) -> bool:
    """Tell whether a cell is a decimal number; NaN, infinity and digit groups are none."""
    return _NUMBER.fullmatch(cell) is not None


def shortened(cell: str) -> str:
    """Quote a cell for a message, cut to 40 characters."""
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")
