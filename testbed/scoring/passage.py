"""How rows came through: their latencies, and how late the oldest one was that had not."""

from dataclasses import dataclass

from testbed.scoring.lag_curve import LagCurve
from testbed.scoring.latency_histogram import LatencyHistogram
from testbed.scoring.sample import Completion

OBJECTIVES = (0.5, 1.0, 2.0)
"""The objectives that the lag is compared with, as multiples of the one that is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late a run was, for each of `OBJECTIVES`.

    Attributes
    ----------
    above_s
        Time in which the lag was above the objective, seconds.
    area_s
        Integral over time of how far the lag was above the objective, divided by the objective, seconds.
    """

    above_s: tuple[float, ...]
    area_s: tuple[float, ...]


class Passage:
    """What is learned from rows that came through, online.

    The lag at an instant t is the age of the oldest row that has been offered by t and has not come through; it is 0
    where there is none. Only the completions that follow show which row that was. So each of them is looked at when it
    arrives: its oldest row, offered at a and through at c, made the lag t - a at least all through (a, c); where the
    rows arrive one by one, the same holds for each.

    Attributes
    ----------
    latencies
        Of all rows so far.
    newest_s
        When the newest row that came through had been offered; None before there was one.

    Parameters
    ----------
    slo_s
        The objective, seconds.
    """

    __slots__ = ("_lag", "_objectives_s", "latencies", "newest_s")

    def __init__(self, slo_s: float) -> None:
        self.latencies = LatencyHistogram()
        self.newest_s: float | None = None
        self._objectives_s = tuple(multiple * slo_s for multiple in OBJECTIVES)
        self._lag = LagCurve(self._objectives_s)

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink, in the order of their arrival."""
        rows = completion.rows
        if rows <= 0:
            return
        until_s, newest_s = completion.at_s, completion.offered_until_s
        from_s = completion.arrived_from_s
        if from_s is None:
            from_s = until_s
        oldest_s = completion.offered_from_s
        first_s = from_s - oldest_s if from_s > oldest_s else 0.0
        last_s = until_s - newest_s if until_s > newest_s else 0.0
        self.latencies.add(rows, first_s, last_s)
        if self.newest_s is None or newest_s > self.newest_s:
            self.newest_s = newest_s
        if first_s > self._objectives_s[0] or last_s > self._objectives_s[0]:
            self._lag.add(from_s, until_s, oldest_s, newest_s)

    def lateness(self, left_since_s: float | None, ended_at_s: float) -> Lateness:
        """Return how late the rows were.

        Parameters
        ----------
        left_since_s
            When the oldest row that never came through was offered; None where all did.
        ended_at_s
            When the run ended.
        """
        lag = self._lag if left_since_s is None else self._lag.with_rows_left(left_since_s, ended_at_s)
        areas_s2 = zip(lag.areas_above_s2(), self._objectives_s, strict=True)
        return Lateness(
            above_s=lag.seconds_above(), area_s=tuple(area / objective for area, objective in areas_s2)
        )
