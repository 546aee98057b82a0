"""Accumulates the latencies and the lag of any number of rows in bounded memory."""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from copy import copy
from itertools import accumulate

from gesscale.monitor.row_age import OldestRow

FLOOR_S = 1e-3
GROWTH = 1.01
CEILING_S = 1e7

_LOG_GROWTH = math.log(GROWTH)
_BINS = math.ceil(math.log(CEILING_S / FLOOR_S) / _LOG_GROWTH) + 1
_EDGES = (0.0, *(FLOOR_S * GROWTH**index for index in range(_BINS)))


class LatencyHistogram:
    """Histogram of rows by latency.

    The first bin is from 0 to 1 ms, each further bin is 1 % wider, the last ends at about 116 days and also has all
    longer latencies. Quantiles are off by at most one bin, the mean is exact.
    """

    def __init__(self) -> None:
        self.rows = 0.0
        self._row_seconds = 0.0
        self._shortest_s, self._longest_s = math.inf, 0.0
        self._bin_rows = [0.0] * _BINS
        self._density = [0.0] * _BINS  # change of rows per second of latency from the previous bin

    def add(self, rows: float, one_s: float, other_s: float) -> None:
        """Count rows whose latencies are uniform between two values."""
        low_s, high_s = (one_s, other_s) if one_s <= other_s else (other_s, one_s)
        self.rows += rows
        self._row_seconds += rows * (low_s + high_s) / 2
        self._shortest_s = min(self._shortest_s, low_s)
        self._longest_s = max(self._longest_s, high_s)
        first, last = _bin_of(low_s), _bin_of(high_s)
        span_s = high_s - low_s
        if first == last or span_s <= 1e-9 * high_s:  # no span to divide by
            self._bin_rows[first] += rows
            return
        density = rows / span_s
        self._bin_rows[first] += density * (_EDGES[first + 1] - low_s)
        self._bin_rows[last] += density * (high_s - _EDGES[last])
        self._density[first + 1] += density
        self._density[last] -= density

    def mean_s(self) -> float | None:
        """Return the mean latency, seconds; None without rows."""
        return self._row_seconds / self.rows if self.rows else None

    def longest_s(self) -> float | None:
        """Return the longest latency, seconds; None without rows."""
        return self._longest_s if self.rows else None

    def quantiles_s(self, *shares: float) -> tuple[float | None, ...]:
        """Return quantiles of the latency, seconds; None without rows."""
        if not self.rows:
            return (None,) * len(shares)
        densities = accumulate(self._density)
        rows = [
            inside + max(0.0, density) * (_EDGES[index + 1] - _EDGES[index])
            for index, (inside, density) in enumerate(zip(self._bin_rows, densities, strict=True))
        ]
        reached = list(accumulate(rows))
        return tuple(self._at(share * reached[-1], reached, rows) for share in shares)

    def _at(self, rows_below: float, reached: list[float], rows: list[float]) -> float:
        index = bisect_left(reached, rows_below)
        low_s, high_s = _EDGES[index], _EDGES[index + 1]
        inside = 1 - (reached[index] - rows_below) / rows[index] if rows[index] > 0 else 0.0
        return min(max(low_s + inside * (high_s - low_s), self._shortest_s), self._longest_s)


def _bin_of(latency_s: float) -> int:
    if latency_s < FLOOR_S:
        return 0
    if latency_s >= CEILING_S:
        return _BINS - 1
    return int(math.log(latency_s / FLOOR_S) / _LOG_GROWTH) + 1


class QuantileOverTime:
    """Mean over time of a quantile of the latency: that of each interval with rows.

    Parameters
    ----------
    share
        The quantile, 0..1.
    """

    def __init__(self, share: float, interval_s: float) -> None:
        self._share, self._interval_s = share, interval_s
        self._interval = 0
        self._rows: list[tuple[float, float, float]] = []  # of this interval: number, least and longest latency
        self._closed, self._total_s = 0, 0.0

    def add(self, rows: float, at_s: float, one_s: float, other_s: float) -> None:
        """Count rows whose latencies are uniform between two values, in the order of their arrival."""
        interval = int(at_s // self._interval_s)
        if interval > self._interval and self._rows:
            self._total_s += self._quantile_s()
            self._closed += 1
            self._rows.clear()
        self._interval = max(interval, self._interval)
        self._rows.append((rows, min(one_s, other_s), max(one_s, other_s)))

    def mean_s(self) -> float | None:
        """Return the mean so far, seconds; None without rows."""
        return (self._total_s + self._quantile_s()) / (self._closed + 1) if self._rows else None

    def _quantile_s(self) -> float:
        """Bisect for the latency below which the share of the rows is."""
        low_s, high_s = min(low for _, low, _ in self._rows), max(high for _, _, high in self._rows)
        wanted = self._share * sum(rows for rows, _, _ in self._rows)
        for _ in range(_BISECTIONS):
            middle_s = (low_s + high_s) / 2
            below = sum(
                rows * (min(1.0, max(0.0, (middle_s - low) / (high - low))) if high > low else middle_s >= low)
                for rows, low, high in self._rows
            )
            low_s, high_s = (low_s, middle_s) if below >= wanted else (middle_s, high_s)
        return high_s


#: Halvings of the range of latencies in an interval: the error is below 1e-9 of it.
_BISECTIONS = 30

_PIECES_KEPT = 256


class LagCurve:
    """Time when the oldest unprocessed row was offered, at each instant; the lag is the time since then.

    Rows arrive roughly in order. A row that arrives later existed before, so the oldest row never becomes older over
    time. A row that others have overtaken makes earlier pieces older when it arrives. Only the
    newest 256 pieces can still become older; the others are summed up.

    Parameters
    ----------
    objectives_s
        The lags of interest, seconds, ascending. Pieces below the first one are dropped.
    """

    def __init__(self, objectives_s: Sequence[float]) -> None:
        self._objectives_s = tuple(objectives_s)
        self._pieces: deque[OldestRow] = deque()
        self._summed_until_s = float("-inf")
        self._seconds = [0.0] * len(self._objectives_s)
        self._areas_s2 = [0.0] * len(self._objectives_s)

    def add(self, from_s: float, until_s: float, offered_from_s: float, offered_until_s: float) -> None:
        """Add rows that arrived evenly and in order between two instants, or all at one."""
        overlapping = self._cut(from_s)
        self._wait(offered_from_s, from_s)
        arriving = OldestRow(from_s, until_s, offered_from_s, offered_until_s)
        for piece in overlapping:
            self._append(arriving.part(from_s, piece.from_s))
            for lower in _lower(piece, arriving.part(piece.from_s, piece.until_s)):
                self._append(lower)
            from_s = piece.until_s
        if until_s > from_s:
            self._append(arriving.part(from_s, until_s))

    def with_rows_left(self, since_s: float, until_s: float) -> "LagCurve":
        """Return a copy in which rows offered since an instant stay unprocessed until another."""
        other = copy(self)
        other._pieces = self._pieces.copy()
        other._seconds, other._areas_s2 = list(self._seconds), list(self._areas_s2)
        other.add(until_s, until_s, since_s, since_s)
        return other

    def seconds_above(self) -> tuple[float, ...]:
        """Return the time in which the lag was above each objective."""
        return tuple(
            total + sum(_above(piece, objective_s)[0] for piece in self._pieces)
            for total, objective_s in zip(self._seconds, self._objectives_s, strict=True)
        )

    def areas_above_s2(self) -> tuple[float, ...]:
        """Return the integral over time of the lag above each objective, seconds squared."""
        return tuple(
            total + sum(_above(piece, objective_s)[1] for piece in self._pieces)
            for total, objective_s in zip(self._areas_s2, self._objectives_s, strict=True)
        )

    def _cut(self, at_s: float) -> list[OldestRow]:
        """Remove the pieces after an instant, and return them."""
        pieces = self._pieces
        later: list[OldestRow] = []
        while pieces and pieces[-1].until_s > at_s:
            piece = pieces.pop()
            if piece.from_s < at_s:
                pieces.append(piece.part(piece.from_s, at_s))
                piece = piece.part(at_s, piece.until_s)
            later.append(piece)
        return later[::-1]

    def _wait(self, offered_s: float, until_s: float) -> None:
        """Add the time that a row waited from its offer until its arrival, after all pieces."""
        pieces = self._pieces
        while pieces and pieces[-1].offered_until_s > offered_s:
            piece = pieces.pop()
            if piece.offered_from_s < offered_s:
                rise_s = piece.offered_until_s - piece.offered_from_s
                share = (offered_s - piece.offered_from_s) / rise_s
                pieces.append(piece.part(piece.from_s, piece.from_s + share * (piece.until_s - piece.from_s)))
                break
        since_s = max(offered_s, pieces[-1].until_s if pieces else self._summed_until_s)
        self._append(OldestRow(since_s, until_s, offered_s, offered_s))

    def _append(self, piece: OldestRow) -> None:
        lag_s = max(piece.from_s - piece.offered_from_s, piece.until_s - piece.offered_until_s)
        if piece.until_s <= piece.from_s or lag_s <= self._objectives_s[0]:
            return
        self._pieces.append(piece)
        if len(self._pieces) > _PIECES_KEPT:
            oldest = self._pieces.popleft()
            self._summed_until_s = oldest.until_s
            for index, objective_s in enumerate(self._objectives_s):
                seconds, area_s2 = _above(oldest, objective_s)
                self._seconds[index] += seconds
                self._areas_s2[index] += area_s2


def _lower(one: OldestRow, other: OldestRow) -> tuple[OldestRow, ...]:
    """Return the older of two pieces of the same time span at each instant."""
    begin_s = one.offered_from_s - other.offered_from_s
    end_s = one.offered_until_s - other.offered_until_s
    if begin_s <= 0 and end_s <= 0:
        return (one,)
    if begin_s >= 0 and end_s >= 0:
        return (other,)
    crossed_s = one.from_s + (one.until_s - one.from_s) * begin_s / (begin_s - end_s)
    first, second = (one, other) if begin_s < 0 else (other, one)
    return first.part(one.from_s, crossed_s), second.part(crossed_s, one.until_s)


def _above(piece: OldestRow, objective_s: float) -> tuple[float, float]:
    """Return the time and the area of a piece above an objective."""
    late = piece.late_part(objective_s)
    if late is None:
        return 0.0, 0.0
    begin_s = late.from_s - late.offered_from_s - objective_s
    end_s = late.until_s - late.offered_until_s - objective_s
    seconds = late.until_s - late.from_s
    return seconds, seconds * (begin_s + end_s) / 2
