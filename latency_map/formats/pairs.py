"""Lists of pairs: edges ``from,to,delay``, and tables of pings with many rows per pair.

WonderNetwork publishes such tables: source, destination, timestamp, min, avg, max, mdev.
"""

import math
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from gesscale.common.text import shortened
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.labels import is_delay_label, pair_columns, stated_by
from latency_map.formats.sheet import Sheet, SheetRow, is_number
from latency_map.formats.source import MapSource, RawDelays, SideFiles, check_file_names
from latency_map.grid import Grid
from latency_map.kinds import DelayKind, DelayUnit

_WIDTH = 3
#: Largest delay in any unit.
_MOST = 1e3 * MAX_RTT_MS
_SUMMARY_OF_PING = {"min", "avg", "max", "mdev"}
_PREFERRED = ("avg", "median", "mean", "average")
_TIMES = ("timestamp", "measured_at", "date", "datetime")


def read_edges(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read a list of edges, with a heading or without; a blank delay is missing.

    Raises
    ------
    LatencyMapError
        It is no such list; the message names file, line and column.
    """
    sheet = Sheet(source)
    row = sheet.first()
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    stated_at = ""
    pairs = _Pairs(source)
    if is_edge_heading(row.cells):
        unit, kind = stated_by(row.cells[2])
        stated_at = f"line {row.line}, column 3: the heading says {shortened(row.cells[2].lower())}"
    else:
        _add_edge(sheet, row, pairs)
    for each in sheet.rows():
        _add_edge(sheet, each, pairs)
    if not pairs.numbers:
        raise sheet.error(row, 0, "expected rows of from,to,delay below the heading, got none")
    return pairs.delays(side_files, notes=sheet.notes(), unit=unit, kind=kind, stated_at=stated_at)


def read_pings(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a table of pings: a heading with the two ends and a delay among other columns.

    Raises
    ------
    LatencyMapError
        It is no such table; the message names file, line and column.
    """
    sheet = Sheet(source)
    header = sheet.first()
    ends = pair_columns(header.cells)
    column = delay_column(header.cells)
    if ends is None or column is None:
        raise sheet.error(
            header,
            0,
            "expected a heading with the two ends and a delay, such as source,destination,avg,"
            f" got {shortened(','.join(header.cells))}",
        )
    lowered = [label.lower() for label in header.cells]
    time_column = next((lowered.index(label) for label in _TIMES if label in lowered), None)
    pings = _Pings(source)
    newest = ""
    for row in sheet.rows():
        if len(row.cells) != len(header.cells):
            raise sheet.error(
                row,
                min(len(row.cells), len(header.cells)),
                f"expected {len(header.cells)} cells as in the heading, got {len(row.cells)}",
            )
        delay = sheet.delay(row, column)
        if delay < 0 or delay > _MOST:
            raise sheet.error(row, column, f"expected a delay of 0 to {_MOST:g}, got {delay:g}")
        a, b = (pings.grid.number(row.cells[end], line=row.line, column=end + 1) for end in ends)
        pings.add(a, b, delay)
        if time_column is not None:
            newest = max(newest, row.cells[time_column])
    if not pings.rows:
        raise sheet.error(header, 0, "expected rows below the heading, got none")
    unit, kind = stated_by(header.cells[column])
    stated_at = f"line {header.line}, column {column + 1}: the heading says {shortened(header.cells[column])}"
    if set(lowered) >= _SUMMARY_OF_PING:
        unit, kind = DelayUnit.MS, DelayKind.RTT
        stated_at = f"line {header.line}: min, avg, max and mdev are what ping writes, in milliseconds"
    values, most = pings.medians()
    names = tuple(pings.grid.numbers)
    counted = f"{pings.rows} rows, at most {most} of one pair: the median of {header.cells[column]!r} is taken"
    return RawDelays(
        names=names,
        values=values,
        place=lambda _a, _b: f"column {column + 1}",
        unit=unit,
        kind=kind,
        stated_at=stated_at,
        measured_at_s=_seconds(newest),
        notes=(counted, *((f"rows without a delay: {pings.lost}",) if pings.lost else ()), *sheet.notes()),
    )


def is_edge_heading(cells: list[str]) -> bool:
    """Tell whether a row is the heading of a list of edges: the two ends of a pair, and a third that is no number."""
    return len(cells) == _WIDTH and pair_columns(cells[:2]) is not None and not is_number(cells[2])


def delay_column(labels: Sequence[str]) -> int | None:
    """Return which column of a table of pings is the delay: the average or the median before any other."""
    lowered = [label.lower() for label in labels]
    for label in _PREFERRED:
        if label in lowered:
            return lowered.index(label)
    ranked = [index for index, label in enumerate(lowered) if is_delay_label(label)]
    for word in _PREFERRED:
        ranked.sort(key=lambda index: word not in lowered[index])
    return ranked[0] if ranked else None


class _Pairs:
    """One delay of each pair, and the line that it stands on."""

    def __init__(self, source: MapSource) -> None:
        self._source = source.name
        self._grid = Grid(source.name, source.limits, {"delay": np.float64(np.nan), "line": np.uint32(0)})
        self.numbers = self._grid.numbers

    def node(self, name: str, line: int, column: int) -> int:
        return self._grid.number(name, line=line, column=column)

    def add(self, a: int, b: int, delay: float, line: int) -> None:
        lines = self._grid.layers["line"]
        if lines[a, b]:
            raise error_at(
                self._source,
                f"line {line}, column 1",
                f"expected every pair once, got this one on line {lines[a, b]} already; remove one",
            )
        lines[a, b] = line
        self._grid.layers["delay"][a, b] = delay

    def delays(
        self,
        side_files: SideFiles,
        *,
        notes: tuple[str, ...],
        unit: DelayUnit | None,
        kind: DelayKind | None,
        stated_at: str,
    ) -> RawDelays:
        """Return them, in the order of the nodes' numbers where the names are numbers."""
        found = list(self.numbers)
        numbered = all(name.isascii() and name.isdigit() and len(name) < 10 for name in found)
        order = sorted(range(len(found)), key=lambda node: int(found[node]) if numbered else node)
        lines = self._grid.layers["line"]
        return RawDelays(
            names=self._names([found[node] for node in order], side_files, numbered=numbered),
            values=self._grid.finish("delay", order),
            place=lambda a, b: f"line {lines[order[a], order[b]]}, column 3",
            unit=unit,
            kind=kind,
            stated_at=stated_at,
            notes=notes,
        )

    def _names(self, found: list[str], side_files: SideFiles, *, numbered: bool) -> tuple[str, ...]:
        listed = side_files.names
        if listed is None:
            return tuple(found)
        if not numbered or not all(1 <= int(number) <= len(listed) for number in found):
            raise LatencyMapError(
                f"{self._source}: expected nodes by number from 1 to {len(listed)}, as many as there are names,"
                " got others; give one name per line for all of them, or none"
            )
        names = tuple(listed[int(number) - 1] for number in found)
        check_file_names(self._source, names)
        return names


class _Pings:
    """Many delays of each pair."""

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
        """Return the median delay of every pair, NaN where it has none, and how many delays a pair has at most."""
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
        with np.errstate(over="ignore"):  # what is beyond all numbers is refused as such
            medians.ravel()[of_pair] = np.where(low == high, low, (low + high) / 2)
        return medians, int(times.max())


def _add_edge(sheet: Sheet, row: SheetRow, pairs: _Pairs) -> None:
    if len(row.cells) != _WIDTH:
        raise sheet.error(
            row, min(len(row.cells), _WIDTH), f"expected three cells: from, to and the delay, got {len(row.cells)}"
        )
    a, b = (pairs.node(row.cells[column], row.line, column + 1) for column in (0, 1))
    pairs.add(a, b, sheet.delay(row, 2), row.line)


def _seconds(text: str) -> float | None:
    try:
        when = datetime.fromisoformat(text)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
