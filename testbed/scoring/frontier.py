"""The frontier: what any plan must at least have cost that never under-provided, by how often it reconfigured.

Dynamic programming with perfect foresight. A replica that serves at an instant u was ordered by u - downtime and has
been paid for since, so the level that is paid at s must cover the demand of all of [s, s + downtime]. That is all a
plan has to satisfy here, and it is less than real ones must: no output is lost while a change goes on, a replica that
is given up costs nothing from then on although a restart pays the larger level until it is over, changes may overlap,
the first level is free, and demand is that of the best placement. Everything left out would only add cost, so the
figure is a lower bound for every plan whose changes take the downtime or longer. A policy may still cost less: by
under-providing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frontier:
    """The least cost for every number of reconfigurations."""

    #: K, the largest number that was asked for.
    most_reconfigurations: int
    #: With so many a plan can follow the demand exactly; more never save anything.
    enough_reconfigurations: int
    _replica_s: NDArray[np.float64]  # by reconfigurations

    def cost(self, reconfigurations: int) -> float:
        """Return the least replica-minutes with at most so many reconfigurations, 0 to K."""
        return float(self._replica_s[min(reconfigurations, self.enough_reconfigurations)]) / 60


def frontier(demand: Sequence[int], step_s: float, downtime_s: float, most_reconfigurations: int) -> Frontier:
    """Find the least cost of never under-providing, for 0 to K reconfigurations."""
    since_s, required = _required_levels(demand, step_s, downtime_s)
    most = min(most_reconfigurations, len(required) - 1)
    return Frontier(
        most_reconfigurations=most_reconfigurations,
        enough_reconfigurations=len(required) - 1,
        _replica_s=_least_costs(np.diff(since_s).tolist(), required, most),
    )


def _required_levels(demand: Sequence[int], step_s: float, downtime_s: float) -> tuple[list[float], list[int]]:
    """Return when each run of equal levels to be paid begins, and the end; and the levels."""
    starts_s: list[float] = []
    levels: list[int] = []
    for index, level in enumerate(demand):
        if not levels or level != levels[-1]:
            starts_s.append(index * step_s)
            levels.append(int(level))
    cuts_s = sorted({*starts_s, *(start_s - downtime_s for start_s in starts_s if start_s > downtime_s)})
    since_s: list[float] = []
    required: list[int] = []
    for from_s, until_s in pairwise((*cuts_s, len(demand) * step_s)):
        middle_s = (from_s + until_s) / 2
        first = bisect_right(starts_s, middle_s) - 1
        level = max(levels[first : bisect_right(starts_s, middle_s + downtime_s)])
        if not required or level != required[-1]:
            since_s.append(from_s)
            required.append(level)
    return [*since_s, len(demand) * step_s], required


def _least_costs(seconds: Sequence[float], required: Sequence[int], most: int) -> NDArray[np.float64]:
    """Return the least replica-seconds of all runs, by the changes left once the first level is chosen.

    Backwards over the runs; for every level and number of changes left: keep the level through the run, or, at its
    beginning, change to the best one with a change less. O(runs x levels x K).
    """
    levels = sorted(set(required))
    prices = np.asarray(levels, dtype=np.float64)
    rest = np.zeros((len(required) + 1, most + 1))
    having = np.zeros((most + 1, len(levels)))
    for at in range(len(required) - 1, -1, -1):
        enough = bisect_left(levels, required[at])
        having += prices * seconds[at]
        having[:, :enough] = np.inf
        having[:, enough:].min(axis=1, out=rest[at])
        np.minimum(having[1:], rest[at, :-1, np.newaxis], out=having[1:])
    least: NDArray[np.float64] = rest[0]
    return least
