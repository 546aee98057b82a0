"""Triggers of queries: their interval, and warnings about those that cannot be scaled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from gesscale.common.errors import Problem

#: The policy `gesscale`: its shortest objective in trigger intervals, and its default objective in seconds.
_OBJECTIVE_INTERVALS, _DEFAULT_OBJECTIVE_S = 3.0, 60.0
_TEXT = re.compile(r"(\w+Trigger)(?:\((\d+)\))?")


@dataclass(frozen=True, slots=True)
class QueryTrigger:
    """The trigger of a running query."""

    #: Spark's class name, such as ``ProcessingTimeTrigger``; empty if it cannot be read.
    kind: str = ""
    #: Its interval; in Real-Time Mode the duration of a batch. 0 for none.
    interval_ms: int = 0

    @property
    def fixed_slots(self) -> int | None:
        """1 if the tasks of a batch hold their slots until it ends, else 0; None if unknown."""
        return int(self.kind in {"RealTimeTrigger", "ContinuousTrigger"}) if self.kind else None

    def interval_s(self, given_s: float | None) -> float | None:
        """Return the interval after which a batch is late; None if there is none."""
        if not self.kind:
            return given_s
        return self.interval_ms / 1000 if self.kind == "ProcessingTimeTrigger" and self.interval_ms else None

    def warnings(self, given_s: float | None) -> list[Problem]:
        """Return warnings about the trigger for the user."""
        if self.kind in {"AvailableNowTrigger", "OneTimeTrigger"}:
            name = "availableNow" if self.kind == "AvailableNowTrigger" else "once"
            return [Problem("trigger-ends", {"trigger": name})]
        if self.kind == "RealTimeTrigger":
            return [Problem("trigger-real-time", {"batch_s": self.interval_ms / 1000})]
        if self.kind == "ContinuousTrigger":
            return [Problem("trigger-continuous")]
        if self.kind == "ProcessingTimeTrigger" and self.interval_ms == 0:
            return [Problem("trigger-without-interval")]
        query_s = self.interval_s(given_s)
        found = []
        if given_s is not None and query_s is not None and query_s != given_s:
            found.append(Problem("trigger-interval-differs", {"given_s": given_s, "query_s": query_s}))
        if query_s is not None and _OBJECTIVE_INTERVALS * query_s > _DEFAULT_OBJECTIVE_S:
            found.append(Problem("trigger-long", {"trigger_s": query_s, "objective_s": _OBJECTIVE_INTERVALS * query_s}))
        return found


UNKNOWN_TRIGGER = QueryTrigger()


def parse_trigger(text: str) -> QueryTrigger:
    """Parse the text of a trigger.

    Examples
    --------
    >>> parse_trigger("RealTimeTrigger(5000)")
    QueryTrigger(kind='RealTimeTrigger', interval_ms=5000)
    >>> parse_trigger("something else") == UNKNOWN_TRIGGER
    True
    """
    found = _TEXT.match(text)
    return QueryTrigger(found[1], int(found[2] or 0)) if found else UNKNOWN_TRIGGER


_TENTHS = 10
_LEAST_STARTS, _LEAST_TENTHS = 8, 5


def interval_of_starts(periods: Sequence[tuple[float, float]]) -> float | None:
    """Return the trigger interval by which batches start; None if they do not show one.

    Spark starts a batch at a multiple of the interval, unless the one before it took longer.

    Parameters
    ----------
    periods
        Start and end of consecutive batches, seconds since the epoch.

    Examples
    --------
    >>> interval_of_starts([(start, start + 1.2) for start in range(100, 130, 2)])
    2.0
    >>> interval_of_starts([(1.37 * number, 1.37 * number + 1) for number in range(20)]) is None
    True
    """
    rested = [now[0] for before, now in pairwise(periods) if now[0] - before[1] > 1 / _TENTHS]
    tenths = gcd(*(round(start_s * _TENTHS) for start_s in rested))
    return tenths / _TENTHS if len(rested) >= _LEAST_STARTS and tenths >= _LEAST_TENTHS else None
