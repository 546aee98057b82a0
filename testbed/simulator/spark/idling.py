"""When a query reported that it has nothing to do."""

import math
from collections import deque

REPORT_S = 10.0
"""Spark's ``spark.sql.streaming.noDataProgressEventInterval``: an idle query says so this often at most."""

_RUNS_KEPT = 32


class IdleReports:
    """The reports of the last spells of idling.

    Parameters
    ----------
    trigger_s
        How often the query looks for rows.
    """

    def __init__(self, trigger_s: float) -> None:
        self._step_s = trigger_s * max(1, math.ceil(REPORT_S / trigger_s - 1e-9))
        self._runs: deque[list[float]] = deque(maxlen=_RUNS_KEPT)

    def note(self, at_s: float) -> None:
        """Note that it found no rows. The first time after a batch is reported at once."""
        if self._runs and at_s - self._runs[-1][1] <= self._step_s * 1.001:
            self._runs[-1][1] = at_s
        else:
            self._runs.append([at_s, at_s])

    def last_s(self, by_s: float) -> float | None:
        """Return when it last reported so up to an instant; None where it did not."""
        for first_s, last_s in reversed(self._runs):
            if first_s <= by_s:
                steps = math.floor((min(by_s, last_s) - first_s) / self._step_s + 1e-9)
                return first_s + steps * self._step_s
        return None
