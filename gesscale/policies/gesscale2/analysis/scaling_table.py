"""Scaling table: the best number of replicas for each later step, backlog and scenario, by dynamic programming.

Backward induction gives each replica count with each backlog a cost on each scenario: the lesser of keeping the count
and changing it. The policy cannot know which scenario will occur. So it chooses by the mean cost over the scenarios
that have been similar until then, but pays the cost of the scenario itself (Longstaff and Schwartz, Valuing American
options by simulation, 2001; the mean over a mesh of scenarios: Broadie and Glasserman, A stochastic mesh method, 2004).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.lateness import Floats, share_above_0, spare_rows_per_s
from gesscale.policies.gesscale2.analysis.planning_horizon import Array, Counts, PlanningHorizon

#: In single precision the table takes less time, and costs differ by far less than by what is not known.
Single = NDArray[np.float32]

#: The backlogs of the table: squares, as short ones count most, and one far away, from which longer ones go
#: on.
_LEVELS = np.array([*np.arange(13.0) ** 2, 600.0])
#: The last square is what all replicas do in this share of the time until the end.
_SQUARES_SHARE = 0.6
_BACKLOGS, _WIDTHS = len(_LEVELS), np.diff(_LEVELS).astype(np.float32)
#: How much of the distance of two scenarios is left after a step.
_FADE = 0.7


class ScalingTable(NamedTuple):
    """What keeping and what changing costs to the end; k steps, n numbers of replicas, g backlogs, c scenarios."""

    #: The backlog at level 1 of the table.
    level_rows: float
    #: Fewest replicas; no more than the most.
    least: int
    #: Shape ``(k, n, g, c)``: mean cost over alike scenarios, replica-minutes. Nothing is chosen in the first
    #: step.
    keeping: Single
    #: Shape ``(k, g, c)``: the same for the best other number, and which that is (changing, best).
    changing: Single
    best: Counts

    def wanted(self, step: int, count: Counts, rows: Array) -> Counts:
        """Return how many replicas to have from a step on; may be the same."""
        _, most, _, scenarios = self.keeping.shape
        below, part = _between(rows, self.level_rows)
        at = below.astype(np.int64) * scenarios + np.arange(scenarios)
        kept = _valued(self.keeping[step], at + (np.minimum(count, most) - 1) * (_BACKLOGS * scenarios), part)
        changed = _valued(self.changing[step], at, part)
        changes = (changed < kept) | (count < self.least) | (count > most)
        found: Counts = np.where(changes, self.best[step].take(at + scenarios * (part > 0.5)), count)
        return found


def solve_scaling_table(horizon: PlanningHorizon) -> ScalingTable:
    """Find how to go on, for every step but the first."""
    model = _Model(horizon)
    steps, (most, backlogs, scenarios) = len(horizon.steps_s), model.shape
    least = min(horizon.least, most)  # where there is room for fewer than the fewest, all of it is taken
    keeping = np.zeros((steps, *model.shape), dtype=np.float32)
    changing, best = (np.zeros((steps, backlogs, scenarios), dtype=kind) for kind in (np.float32, np.int64))
    cell = np.arange(backlogs * scenarios).reshape(backlogs, scenarios)
    values = model.left()
    keeps: list[Single] = [values] * (steps + 1)
    for step, alike in reversed(list(enumerate(model.alike, start=1))):
        keeps[step] = model.kept(step, values)
        changed = model.changed(step, keeps)[least - 1 :]
        kept, other = ((each.reshape(-1, scenarios) @ alike.T).reshape(each.shape) for each in (keeps[step], changed))
        chosen, cheapest = other.argmin(axis=0), other.min(axis=0)
        leaves = cheapest < kept
        leaves[: least - 1] = True
        values = np.where(leaves, changed.take(chosen * cell.size + cell), keeps[step])
        keeping[step], changing[step], best[step] = kept, cheapest, chosen + least
    return ScalingTable(model.level_rows, least, keeping, changing, best)


def _single(values: NDArray[Any]) -> Single:
    return values.astype(np.float32, order="C")


def _between(rows: Floats, level_rows: float) -> tuple[Floats, Floats]:
    """Return which backlog of the table is below some rows, and how far they are on the way to the next one."""
    part = rows / level_rows
    below = np.sqrt(part)
    np.floor(below, out=below)
    np.minimum(below, _BACKLOGS - 2, out=below)
    part -= below * below
    part /= _WIDTHS.take(below.astype(np.int64))
    return below, part


def _valued(values: Single, at: Counts, part: NDArray[Any]) -> NDArray[Any]:
    """Return what is between the values of two backlogs; `at` are the flat indices of the lower ones."""
    flat = values.ravel()
    low = flat.take(at, mode="clip")  # which no index needs, and is faster
    found: NDArray[Any] = (flat[values.shape[-1] :].take(at, mode="clip") - low) * part
    found += low
    return found


class _Model:
    """An operator in steps; arrays by number of replicas, backlog and scenario: the longest axis is the last one.

    Attributes
    ----------
    level_rows
        As in `ScalingTable`.
    shape
        Of most arrays.
    alike
        For each step but the first, shape ``(c, c)``: how much each scenario counts where another is the true one.
    """

    def __init__(self, horizon: PlanningHorizon) -> None:
        self._horizon = horizon
        self._rows_per_s = _single(horizon.rows_per_s[: horizon.most, None, None])
        self.level_rows = float(_SQUARES_SHARE * horizon.steps_s.sum() * self._rows_per_s[-1, 0, 0] / _LEVELS[-2])
        self._waiting = _single(self.level_rows * _LEVELS)[:, None]
        self.shape = horizon.most, _BACKLOGS, len(horizon.weights)
        most, backlogs, scenarios = self.shape
        first = backlogs * scenarios * np.arange(most)[:, None, None] + np.arange(scenarios)
        self._first = _single(np.broadcast_to(first, self.shape))  # flat indices where no rows wait
        self._seconds = horizon.steps_s.tolist()
        self._replicas = _single(np.arange(1, most + 1)[:, None, None])
        self._offered = _single(np.diff(horizon.offered, axis=1).T)
        self._allowed = _single((horizon.offered - horizon.due).T)
        self.alike = self._mixed()

    def _mixed(self) -> Single:
        replicas = self._offered / (_single(self._horizon.steps_s[:, None]) * self._rows_per_s[0, 0])
        apart = replicas[:-1, :, None] - replicas[:-1, None, :]
        apart *= apart
        apart *= -0.5 * (1 - _FADE)
        for step in range(1, len(apart)):
            apart[step] += _FADE * apart[step - 1]
        weights: Single = np.exp(apart, out=apart)
        weights *= _single(self._horizon.weights)
        weights /= weights.sum(axis=2, keepdims=True)
        return weights

    def left(self) -> Single:
        """Return what is charged for the rows that wait in the end."""
        horizon = self._horizon
        load = self._offered[-1] / self._seconds[-1]
        late_s = np.maximum(0.0, self._waiting - self._allowed[-1]) / spare_rows_per_s(self._rows_per_s[-1], load)
        cost = horizon.late_minute_price * late_s / 60 + self._waiting / self._rows_per_s[0] / 60
        return np.broadcast_to(cost, self.shape).copy()

    def _played(self, step: int, rows: Single, served: Single | float) -> tuple[Single, Single]:
        """Return the rows that wait after a step in which so many are served at most, and what lateness costs."""
        left = rows + self._offered[step] - served
        np.maximum(left, 0.0, out=left)
        late = share_above_0(rows - self._allowed[step], left - self._allowed[step + 1])
        late *= self._horizon.late_minute_price * self._seconds[step] / 60
        return left, late

    def _with(self, rows: Single, values: Single) -> Single:
        """Return what lies between the values of a table where so many rows wait."""
        below, part = _between(rows, self.level_rows)
        return _valued(values, (self._first + below * self.shape[2]).astype(np.int64), part)

    def kept(self, step: int, after: Single) -> Single:
        """Return the cost of a step in which the replicas stay, and of what comes after it."""
        left, late = self._played(step, self._waiting, self._rows_per_s * self._seconds[step])
        cost = self._with(left, after)
        cost += late
        cost += self._replicas * (self._seconds[step] / 60)
        return cost

    def changed(self, step: int, keeps: list[Single]) -> Single:
        """Return the cost of a change to each number, by what keeping costs in the step when it has stopped."""
        rows, cost, stop_s = self._waiting, self._horizon.change.replica_minutes, self._horizon.change.stop_s
        total: Single = np.full(1, cost, dtype=np.float32)
        while stop_s > 0 and step < len(self._seconds):
            seconds = self._seconds[step]
            serves_s = max(0.0, seconds - stop_s)
            served = self._rows_per_s * serves_s if serves_s else 0.0
            rows, late = self._played(step, rows, served)
            total = total + late + self._replicas * (seconds / 60)
            stop_s, step = stop_s - seconds, step + 1
        return self._with(rows, keeps[step]) + total
