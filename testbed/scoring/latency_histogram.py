"""Latencies of very many rows in bounded memory: a histogram whose bins grow by one per cent."""

import math
from bisect import bisect_left
from itertools import accumulate

FLOOR_S = 1e-3
GROWTH = 1.01
CEILING_S = 1e7

_LOG_GROWTH = math.log(GROWTH)
_BINS = math.ceil(math.log(CEILING_S / FLOOR_S) / _LOG_GROWTH) + 1
_EDGES = (0.0, *(FLOOR_S * GROWTH**index for index in range(_BINS)))


class LatencyHistogram:
    """Rows by latency.

    The first bin reaches from 0 to 1 ms, each further one is 1 % wider, the last ends at about 116 days; what lies
    beyond counts there. Quantiles are off by one bin at most, the mean is exact.
    """

    __slots__ = ("_bin_rows", "_density", "_longest_s", "_row_seconds", "_shortest_s", "rows")

    def __init__(self) -> None:
        self.rows = 0.0
        self._row_seconds = 0.0
        self._shortest_s, self._longest_s = math.inf, 0.0
        self._bin_rows = [0.0] * _BINS
        self._density = [0.0] * _BINS  # change of rows per second of latency against the bin before

    def add(self, rows: float, one_s: float, other_s: float) -> None:
        """Count rows whose latencies are spread evenly between two.

        Parameters
        ----------
        rows
            How many, > 0.
        one_s, other_s
            The latencies, >= 0, in any order.
        """
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

    def quantiles_s(self, *shares: float) -> tuple[float | None, ...]:
        """Return the latencies that these shares of the rows, 0..1, do not exceed, seconds; None without rows."""
        if not self.rows:
            return (None,) * len(shares)
        densities = accumulate(self._density)
        rows = [
            inside + max(0.0, density) * (_EDGES[index + 1] - _EDGES[index])
            for index, (inside, density) in enumerate(zip(self._bin_rows, densities, strict=True))
        ]
        reached = list(accumulate(rows))
        return tuple(self._at(share * reached[-1], reached, rows) for share in shares)

    def _at(self, wanted: float, reached: list[float], rows: list[float]) -> float:
        index = bisect_left(reached, wanted)
        low_s, high_s = _EDGES[index], _EDGES[index + 1]
        inside = 1 - (reached[index] - wanted) / rows[index] if rows[index] > 0 else 0.0
        return min(max(low_s + inside * (high_s - low_s), self._shortest_s), self._longest_s)


def _bin_of(latency_s: float) -> int:
    if latency_s < FLOOR_S:
        return 0
    if latency_s >= CEILING_S:
        return _BINS - 1
    return int(math.log(latency_s / FLOOR_S) / _LOG_GROWTH) + 1
