"""Computes the frontier: a lower bound on the cost of plans that never under-provision, by their number of changes.

Dynamic programming with perfect foresight. A replica that serves at an instant u was ordered by u - downtime and costs
since then, so the level paid at s must cover the demand in [s, s + downtime]. This is the only constraint, and real
plans have more: here no output is lost during a change, a removed replica costs nothing from then on although a restart
costs the larger level until it ends, changes may overlap, the first level is free, and demand is that of the best
placement. Everything left out only adds cost, so the figure is a lower bound for every plan whose changes take the
downtime or longer. A policy can still cost less by under-provisioning.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frontier:
    """Lowest cost for each number of reconfigurations."""

    #: Largest number of reconfigurations requested, K.
    max_reconfigurations: int
    #: Number with which a plan follows the demand exactly; more do not lower the cost.
    enough_reconfigurations: int
    _replica_s: NDArray[np.float64]  # by reconfigurations

    def cost(self, reconfigurations: int) -> float:
        """Return the lowest replica-minutes with at most a number of reconfigurations, 0 to K."""
        return float(self._replica_s[min(reconfigurations, self.enough_reconfigurations)]) / 60


def frontier(demand: Sequence[int], step_s: float, downtime_s: float, max_reconfigurations: int) -> Frontier:
    """Return the lowest cost of never under-provisioning, for 0 to K reconfigurations."""
    since_s, required = _required_levels(demand, step_s, downtime_s)
    most = min(max_reconfigurations, len(required) - 1)
    return Frontier(
        max_reconfigurations=max_reconfigurations,
        enough_reconfigurations=len(required) - 1,
        _replica_s=_min_costs(np.diff(since_s).tolist(), required, most),
    )


def _required_levels(demand: Sequence[int], step_s: float, downtime_s: float) -> tuple[list[float], list[int]]:
    """Return the start of each period of an equal required level, followed by the end; and the levels."""
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


def _min_costs(seconds: Sequence[float], required: Sequence[int], most: int) -> NDArray[np.float64]:
    """Return the lowest replica-seconds of all periods, by the number of changes after the first level.

    Backwards over the periods, for each level and number of changes left: keep the level during the period, or change
    to the best one at its start with one change less. O(periods x levels x K).
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
