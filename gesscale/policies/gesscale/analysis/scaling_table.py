"""Scaling table: the best number of replicas for each later step, backlog and scenario, by dynamic programming.

Backward induction gives each replica count with each backlog a cost on each scenario: the lesser of keeping the count
and changing it. The policy cannot know which scenario will occur. So it chooses by the mean cost over the scenarios
that have been similar until then, but pays the cost of the scenario itself (Longstaff and Schwartz, Valuing American
options by simulation, 2001; the mean over a mesh of scenarios: Broadie and Glasserman, A stochastic mesh method, 2004).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale.analysis.lateness import Floats, share_above_0, spare_rows_per_s
from gesscale.policies.gesscale.analysis.planning_horizon import Array, Counts, PlanningHorizon

#: Single precision is faster, and its error is far below the uncertainty of the costs.
Single = NDArray[np.float32]

#: Backlogs of the table: squares, since short backlogs matter most, and a long one for extrapolation.
_LEVELS = np.array([*np.arange(13.0) ** 2, 600.0])
#: The last square is the work of all replicas in this share of the horizon.
_SQUARES_SHARE = 0.6
_BACKLOGS, _WIDTHS = len(_LEVELS), np.diff(_LEVELS).astype(np.float32)
#: Share of the distance of two scenarios that remains after a step.
_FADE = 0.7


class ScalingTable(NamedTuple):
    """Cost to the end of keeping and of changing; k steps, n numbers of replicas, g backlogs, c scenarios."""

    #: Backlog at level 1 of the table.
    level_rows: float
    #: Minimum number of replicas, at most the maximum.
    min_replicas: int
    #: Shape ``(k, n, g, c)``: mean cost over similar scenarios, replica-minutes. The first step is not used.
    keeping: Single
    #: Shape ``(k, g, c)``: the same for the best change, and its number of replicas (changing, best).
    changing: Single
    best: Counts

    def best_replicas(self, step: int, count: Counts, rows: Array) -> Counts:
        """Return the best number of replicas from a step on; may be the present one."""
        _, max_replicas, _, scenarios = self.keeping.shape
        below, part = _between(rows, self.level_rows)
        at = below.astype(np.int64) * scenarios + np.arange(scenarios)
        keep_cost = _interpolate(
            self.keeping[step], at + (np.minimum(count, max_replicas) - 1) * (_BACKLOGS * scenarios), part
        )
        change_cost = _interpolate(self.changing[step], at, part)
        changes = (change_cost < keep_cost) | (count < self.min_replicas) | (count > max_replicas)
        found: Counts = np.where(changes, self.best[step].take(at + scenarios * (part > 0.5)), count)
        return found


def solve_scaling_table(horizon: PlanningHorizon) -> ScalingTable:
    """Compute the table for every step after the first."""
    model = _Model(horizon)
    steps, (max_replicas, backlogs, scenarios) = len(horizon.steps_s), model.shape
    min_replicas = min(horizon.min_replicas, max_replicas)  # with room for fewer than the minimum, all room is used
    keeping = np.zeros((steps, *model.shape), dtype=np.float32)
    changing, best = (np.zeros((steps, backlogs, scenarios), dtype=kind) for kind in (np.float32, np.int64))
    cell = np.arange(backlogs * scenarios).reshape(backlogs, scenarios)
    values = model.final_cost()
    keep_values: list[Single] = [values] * (steps + 1)
    for step, similar in reversed(list(enumerate(model.similar, start=1))):
        keep_values[step] = model.keeping_cost(step, values)
        change_costs = model.changing_cost(step, keep_values)[min_replicas - 1 :]
        keep_cost, other_cost = (
            (each.reshape(-1, scenarios) @ similar.T).reshape(each.shape) for each in (keep_values[step], change_costs)
        )
        chosen, cheapest = other_cost.argmin(axis=0), other_cost.min(axis=0)
        change_is_cheaper = cheapest < keep_cost
        change_is_cheaper[: min_replicas - 1] = True
        values = np.where(change_is_cheaper, change_costs.take(chosen * cell.size + cell), keep_values[step])
        keeping[step], changing[step], best[step] = keep_cost, cheapest, chosen + min_replicas
    return ScalingTable(model.level_rows, min_replicas, keeping, changing, best)


def _single(values: NDArray[Any]) -> Single:
    return values.astype(np.float32, order="C")


def _between(rows: Floats, level_rows: float) -> tuple[Floats, Floats]:
    """Return the index of the backlog below each number of rows, and the fraction towards the next one."""
    part = rows / level_rows
    below = np.sqrt(part)
    np.floor(below, out=below)
    np.minimum(below, _BACKLOGS - 2, out=below)
    part -= below * below
    part /= _WIDTHS.take(below.astype(np.int64))
    return below, part


def _interpolate(values: Single, at: Counts, part: NDArray[Any]) -> NDArray[Any]:
    """Interpolate between the values of two backlogs; `at` are the flat indices of the lower ones."""
    flat = values.ravel()
    low = flat.take(at, mode="clip")  # no index needs clipping, but it is faster
    found: NDArray[Any] = (flat[values.shape[-1] :].take(at, mode="clip") - low) * part
    found += low
    return found


class _Model:
    """Discrete model of an operator; arrays by number of replicas, backlog and scenario, the longest axis last.

    Attributes
    ----------
    level_rows
        As in `ScalingTable`.
    shape
        Shape of most arrays.
    similar
        For each step after the first, shape ``(c, c)``: weight of each scenario if another one is the true one.
    """

    def __init__(self, horizon: PlanningHorizon) -> None:
        self._horizon = horizon
        self._rows_per_s = _single(horizon.rows_per_s[: horizon.max_replicas, None, None])
        self.level_rows = float(_SQUARES_SHARE * horizon.steps_s.sum() * self._rows_per_s[-1, 0, 0] / _LEVELS[-2])
        self._waiting = _single(self.level_rows * _LEVELS)[:, None]
        self.shape = horizon.max_replicas, _BACKLOGS, len(horizon.weights)
        max_replicas, backlogs, scenarios = self.shape
        first = backlogs * scenarios * np.arange(max_replicas)[:, None, None] + np.arange(scenarios)
        self._first = _single(np.broadcast_to(first, self.shape))  # flat indices without a backlog
        self._seconds = horizon.steps_s.tolist()
        self._replicas = _single(np.arange(1, max_replicas + 1)[:, None, None])
        self._offered = _single(np.diff(horizon.offered, axis=1).T)
        self._allowed = _single((horizon.offered - horizon.deadline_rows).T)
        self.similar = self._similarity()

    def _similarity(self) -> Single:
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

    def final_cost(self) -> Single:
        """Return the cost of the backlog at the end."""
        horizon = self._horizon
        load = self._offered[-1] / self._seconds[-1]
        late_s = np.maximum(0.0, self._waiting - self._allowed[-1]) / spare_rows_per_s(self._rows_per_s[-1], load)
        cost = horizon.late_minute_price * late_s / 60 + self._waiting / self._rows_per_s[0] / 60
        return np.broadcast_to(cost, self.shape).copy()

    def _after_step(self, step: int, rows: Single, served: Single | float) -> tuple[Single, Single]:
        """Return the backlog after a step with at most these rows served, and the cost of lateness."""
        left = rows + self._offered[step] - served
        np.maximum(left, 0.0, out=left)
        late = share_above_0(rows - self._allowed[step], left - self._allowed[step + 1])
        late *= self._horizon.late_minute_price * self._seconds[step] / 60
        return left, late

    def _interpolated(self, rows: Single, values: Single) -> Single:
        """Interpolate the values of a table at these backlogs."""
        below, part = _between(rows, self.level_rows)
        return _interpolate(values, (self._first + below * self.shape[2]).astype(np.int64), part)

    def keeping_cost(self, step: int, after: Single) -> Single:
        """Return the cost of a step without a change, and of the steps after it."""
        left, late = self._after_step(step, self._waiting, self._rows_per_s * self._seconds[step])
        cost = self._interpolated(left, after)
        cost += late
        cost += self._replicas * (self._seconds[step] / 60)
        return cost

    def changing_cost(self, step: int, keep_values: list[Single]) -> Single:
        """Return the cost of a change to each number of replicas, with the cost of keeping it after the stop."""
        rows, cost, stop_s = self._waiting, self._horizon.change.replica_minutes, self._horizon.change.stop_s
        total: Single = np.full(1, cost, dtype=np.float32)
        while stop_s > 0 and step < len(self._seconds):
            seconds = self._seconds[step]
            serves_s = max(0.0, seconds - stop_s)
            served = self._rows_per_s * serves_s if serves_s else 0.0
            rows, late = self._after_step(step, rows, served)
            total = total + late + self._replicas * (seconds / 60)
            stop_s, step = stop_s - seconds, step + 1
        return self._interpolated(rows, keep_values[step]) + total
