"""How rows came through: their latencies, and for how long the oldest one that had not was late."""

from bisect import bisect_right
from copy import copy

from testbed.scoring.latency_histogram import LatencyHistogram
from testbed.scoring.sample import Completion

_SPANS_KEPT = 256


class LateTime:
    """The time that is covered by spans which may overlap, in bounded memory.

    Spans come about in the order of their ends. Of those that are apart only the newest 256 can still grow
    together with one that comes later.
    """

    __slots__ = ("_closed_s", "_closed_until_s", "_spans")

    def __init__(self) -> None:
        self._closed_s, self._closed_until_s = 0.0, float("-inf")
        self._spans: list[tuple[float, float]] = []

    def add(self, from_s: float, until_s: float) -> None:
        """Cover a span; one that ends before it begins covers nothing."""
        from_s = max(from_s, self._closed_until_s)
        if until_s <= from_s:
            return
        spans = self._spans
        if not spans or from_s > spans[-1][1]:
            spans.append((from_s, until_s))
            if len(spans) > _SPANS_KEPT:
                first_s, last_s = spans.pop(0)
                self._closed_s += last_s - first_s
                self._closed_until_s = last_s
        elif spans[-1][0] <= from_s:
            spans[-1] = (spans[-1][0], max(until_s, spans[-1][1]))
        else:
            self._merge(from_s, until_s)

    def total_s(self) -> float:
        """Return how much time is covered, seconds."""
        return self._closed_s + sum(until_s - from_s for from_s, until_s in self._spans)

    def with_span(self, from_s: float, until_s: float) -> "LateTime":
        """Return another that covers a span more."""
        other = copy(self)
        other._spans = list(self._spans)
        other.add(from_s, until_s)
        return other

    def _merge(self, from_s: float, until_s: float) -> None:
        spans = self._spans
        first = bisect_right(spans, from_s, key=lambda span: span[1])
        last = bisect_right(spans, until_s, key=lambda span: span[0])
        touched = spans[first:last]
        if touched:
            from_s, until_s = min(from_s, touched[0][0]), max(until_s, touched[-1][1])
        spans[first:last] = [(from_s, until_s)]


class Passage:
    """What is learned from rows that came through, online.

    The lag at an instant t is the age of the oldest row that has been offered by t and has not come through; it is 0
    where there is none. Only the completions that follow show which row that was. So each of them is looked at when it
    arrives: its oldest row, offered at a and through at c, made the lag exceed an objective L all through
    (a + L, c); where the rows arrive one by one, the same holds for each. The time above the objective is what these
    spans cover together.

    Attributes
    ----------
    slo_s
        The objective L, seconds.
    latencies
        Of all rows so far.
    newest_s
        When the newest row that came through had been offered; None before there was one.
    """

    __slots__ = ("_late", "latencies", "newest_s", "slo_s")

    def __init__(self, slo_s: float) -> None:
        self.slo_s = slo_s
        self.latencies = LatencyHistogram()
        self.newest_s: float | None = None
        self._late = LateTime()

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink, in the order of their arrival."""
        rows = completion.rows
        if rows <= 0:
            return
        until_s, newest_s = completion.at_s, completion.offered_until_s
        from_s = completion.arrived_from_s
        if from_s is None:
            from_s = until_s
        offered_from_s, slo_s = completion.offered_from_s, self.slo_s
        first_s = from_s - offered_from_s if from_s > offered_from_s else 0.0
        last_s = until_s - newest_s if until_s > newest_s else 0.0
        self.latencies.add(rows, first_s, last_s)
        if self.newest_s is None or newest_s > self.newest_s:
            self.newest_s = newest_s
        if first_s > slo_s or last_s > slo_s:
            crossed_s = from_s
            if (first_s > slo_s) != (last_s > slo_s):
                crossed_s += (until_s - from_s) * (first_s - slo_s) / (first_s - last_s)
            self._late.add(
                offered_from_s + slo_s if first_s > slo_s else crossed_s,
                until_s if last_s > slo_s else crossed_s,
            )

    def late_s(self, left_since_s: float | None, ended_at_s: float) -> float:
        """Return the seconds in which the lag was above the objective.

        Parameters
        ----------
        left_since_s
            When the oldest row that never came through was offered; None where all did.
        ended_at_s
            When the run ended.
        """
        if left_since_s is None:
            return self._late.total_s()
        return self._late.with_span(left_since_s + self.slo_s, ended_at_s).total_s()
