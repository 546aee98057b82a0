"""Lists of pairs: edges ``from,to,delay``, and tables of pings with many rows per pair.

WonderNetwork publishes tables of pings with source, destination, timestamp, min, avg, max, mdev.
"""

import math
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from gesscale.common.errors import Problem
from gesscale.common.text import shortened
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError
from latency_map.formats.labels import is_delay_label, pair_columns, parse_label
from latency_map.formats.sheet import Sheet, SheetRow, is_number
from latency_map.formats.source import ImportOptions, MapSource, RawDelays, check_file_names
from latency_map.grid import Grid
from latency_map.kinds import DelayKind, DelayUnit

_WIDTH = 3
#: Largest delay in any unit.
_MAX_DELAY = 1e3 * MAX_RTT_MS
_SUMMARY_OF_PING = {"min", "avg", "max", "mdev"}
_PREFERRED = ("avg", "median", "mean", "average")
_TIMES = ("timestamp", "measured_at", "date", "datetime")


def read_edges(source: MapSource, options: ImportOptions) -> RawDelays:
    """Read a list of edges, with or without a heading; a blank delay is missing.

    Raises
    ------
    LatencyMapError
        The list is invalid.
    """
    sheet = Sheet(source)
    row = sheet.first()
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    stated_at = ""
    pairs = _Pairs(source)
    if is_edge_heading(row.cells):
        unit, kind = parse_label(row.cells[2])
        stated_at = f"line {row.line}, column 3, heading {shortened(row.cells[2].lower())}"
    else:
        _add_edge(sheet, row, pairs)
    for each in sheet.rows():
        _add_edge(sheet, each, pairs)
    if not pairs.numbers:
        raise sheet.cell_error(row, 0, "map-empty", expected="rows below the heading")
    return pairs.delays(options, notes=sheet.notes(), unit=unit, kind=kind, stated_at=stated_at)


def read_pings(source: MapSource, _options: ImportOptions) -> RawDelays:
    """Read a table of pings, whose heading has the two ends and a delay among other columns.

    Raises
    ------
    LatencyMapError
        The table is invalid.
    """
    sheet = Sheet(source)
    header = sheet.first()
    ends = pair_columns(header.cells)
    column = delay_column(header.cells)
    if ends is None or column is None:
        raise sheet.cell_error(header, 0, "map-heading-invalid", heading=",".join(header.cells))
    lowered = [label.lower() for label in header.cells]
    time_column = next((lowered.index(label) for label in _TIMES if label in lowered), None)
    pings = _Pings(source)
    newest = ""
    for row in sheet.rows():
        if len(row.cells) != len(header.cells):
            got, expected = len(row.cells), len(header.cells)
            raise sheet.cell_error(row, min(got, expected), "map-row-ragged", expected=expected, got=got)
        delay = sheet.parse_delay(row, column)
        if delay < 0 or delay > _MAX_DELAY:
            raise sheet.cell_error(row, column, "map-delay-invalid", limit=_MAX_DELAY, unit="us", got=delay)
        a, b = (pings.grid.number(row.cells[end], line=row.line, column=end + 1) for end in ends)
        pings.add(a, b, delay)
        if time_column is not None:
            newest = max(newest, row.cells[time_column])
    if not pings.rows:
        raise sheet.cell_error(header, 0, "map-empty", expected="rows below the heading")
    unit, kind = parse_label(header.cells[column])
    stated_at = f"line {header.line}, column {column + 1}, heading {shortened(header.cells[column])}"
    if set(lowered) >= _SUMMARY_OF_PING:
        unit, kind = DelayUnit.MS, DelayKind.RTT
        stated_at = f"line {header.line}, min, avg, max and mdev of ping in milliseconds"
    values, most = pings.medians()
    names = tuple(pings.grid.numbers)
    label = header.cells[column]
    notes = [Problem("import-medians-taken", {"rows": pings.rows, "rows_per_pair": most, "column": label})]
    if pings.lost:
        notes.append(Problem("import-rows-incomplete", {"count": pings.lost}))
    return RawDelays(
        names=names,
        values=values,
        place=lambda _a, _b: f"column {column + 1}",
        unit=unit,
        kind=kind,
        stated_at=stated_at,
        measured_at_s=_seconds(newest),
        notes=(*notes, *sheet.notes()),
    )


def is_edge_heading(cells: list[str]) -> bool:
    """Return whether a row is the heading of a list of edges: the two ends of a pair and a label."""
    return len(cells) == _WIDTH and pair_columns(cells[:2]) is not None and not is_number(cells[2])


def delay_column(labels: Sequence[str]) -> int | None:
    """Return the column of the delay in a table of pings; an average or a median is preferred."""
    lowered = [label.lower() for label in labels]
    for label in _PREFERRED:
        if label in lowered:
            return lowered.index(label)
    ranked = [index for index, label in enumerate(lowered) if is_delay_label(label)]
    for word in _PREFERRED:
        ranked.sort(key=lambda index: word not in lowered[index])
    return ranked[0] if ranked else None


class _Pairs:
    """One delay for each pair, with its line."""

    def __init__(self, source: MapSource) -> None:
        self._source = source.name
        self._grid = Grid(source.name, source.limits, {"delay": np.float64(np.nan), "line": np.uint32(0)})
        self.numbers = self._grid.numbers

    def node(self, name: str, line: int, column: int) -> int:
        return self._grid.number(name, line=line, column=column)

    def add(self, a: int, b: int, delay: float, line: int) -> None:
        lines = self._grid.layers["line"]
        if lines[a, b]:
            place, first_line = f"line {line}, column 1", int(lines[a, b])
            raise LatencyMapError("map-pair-duplicate", source=self._source, place=place, first_line=first_line)
        lines[a, b] = line
        self._grid.layers["delay"][a, b] = delay

    def delays(
        self,
        options: ImportOptions,
        *,
        notes: tuple[Problem, ...],
        unit: DelayUnit | None,
        kind: DelayKind | None,
        stated_at: str,
    ) -> RawDelays:
        """Return the delays; nodes whose names are all numbers are sorted by number."""
        found = list(self.numbers)
        numbered = all(name.isascii() and name.isdigit() and len(name) < 10 for name in found)
        order = sorted(range(len(found)), key=lambda node: int(found[node]) if numbered else node)
        lines = self._grid.layers["line"]
        return RawDelays(
            names=self._names([found[node] for node in order], options, numbered=numbered),
            values=self._grid.finish("delay", order),
            place=lambda a, b: f"line {lines[order[a], order[b]]}, column 3",
            unit=unit,
            kind=kind,
            stated_at=stated_at,
            notes=notes,
        )

    def _names(self, found: list[str], options: ImportOptions, *, numbered: bool) -> tuple[str, ...]:
        listed = options.names
        if listed is None:
            return tuple(found)
        if not numbered or not all(1 <= int(number) <= len(listed) for number in found):
            raise LatencyMapError("map-nodes-unnumbered", source=self._source, names=len(listed))
        names = tuple(listed[int(number) - 1] for number in found)
        check_file_names(self._source, names)
        return names


class _Pings:
    """Several delays for each pair."""

    def __init__(self, source: MapSource) -> None:
        self.grid = Grid(source.name, source.limits, {})
        self.rows = self.lost = 0
        self._from, self._to, self._delays = array("i"), array("i"), array("d")

    def add(self, a: int, b: int, delay: float) -> None:
        self.rows += 1
        if math.isnan(delay):
            self.lost += 1
            return
        self._from.append(a)
        self._to.append(b)
        self._delays.append(delay)

    def medians(self) -> tuple[Delays, int]:
        """Return the median delay of each pair, NaN if it has none, and the largest number of delays of a pair."""
        count = len(self.grid.numbers)
        medians: Delays = np.full((count, count), np.nan)
        if not self._delays:
            return medians, 0
        delays = np.frombuffer(self._delays)
        pairs = np.frombuffer(self._from, np.int32).astype(np.int64) * count + np.frombuffer(self._to, np.int32)
        order = np.lexsort((delays, pairs))
        pairs, delays = pairs[order], delays[order]
        of_pair, starts, times = np.unique(pairs, return_index=True, return_counts=True)
        low, high = delays[starts + (times - 1) // 2], delays[starts + times // 2]
        with np.errstate(over="ignore"):  # infinity is rejected later
            medians.ravel()[of_pair] = np.where(low == high, low, (low + high) / 2)
        return medians, int(times.max())


def _add_edge(sheet: Sheet, row: SheetRow, pairs: _Pairs) -> None:
    if len(row.cells) != _WIDTH:
        got = len(row.cells)
        raise sheet.cell_error(row, min(got, _WIDTH), "map-row-ragged", expected=_WIDTH, got=got)
    a, b = (pairs.node(row.cells[column], row.line, column + 1) for column in (0, 1))
    pairs.add(a, b, sheet.parse_delay(row, 2), row.line)


def _seconds(text: str) -> float | None:
    try:
        when = datetime.fromisoformat(text)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
