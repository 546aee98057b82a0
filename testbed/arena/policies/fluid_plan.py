"""Optimal plan of a whole run with perfect foresight: dynamic programming over replicas and backlog.

In the fluid model of an operator rows arrive as they are offered and leave at the capacity of the placement. The plan
minimises replica-minutes plus a price for each late minute. Rows are processed first in, first out, so at an instant t
the oldest waiting row is older than L exactly if more rows wait than were offered in [t - L, t].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arena.names import LATE_MINUTE_PRICE
from testbed.arena.policies.perfect_foresight import Inflow

#: Longest tick of the fluid model, seconds.
_TICK_S = 10.0

_GRID_POINTS = 240
#: Range of the backlog grid: what the largest capacity processes in this time, seconds.
_GRID_S = 3600.0

#: Steps planned after the last row was offered.
_DRAIN_STEPS = 10

_MIN_ROWS = 1e-9
_MINUTE_S = 60.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fluid:
    """Fluid model of an operator; tuples are by the number of replicas."""

    #: Loads offered to it.
    inflow: Inflow
    #: When the last row was offered, seconds.
    duration_s: float
    #: Time between two steps of the loop; the first is one period after the beginning.
    period_s: float
    #: Latency objective, seconds.
    slo_s: float
    #: Allowed numbers of replicas, ascending.
    replicas: tuple[int, ...]
    #: Number of replicas at the start.
    initial: int
    #: Capacity of each number, rows/s.
    capacity_rows_per_s: tuple[float, ...]
    #: Duration of a change to each number.
    changing_s: tuple[float, ...]
    #: Capacity during a change, rows/s: by the number before, then by the number after.
    changing_rows_per_s: tuple[tuple[float, ...], ...]
    #: Duration of a full batch; 0 if rows are processed one by one.
    batch_s: tuple[float, ...]
    #: Price of a late minute, and of a change in addition to its delay, replica-minutes (price, change_price).
    price: float = LATE_MINUTE_PRICE
    change_price: float = 0.0


@lru_cache(maxsize=16)  # seeds may share a world's load and delays
def cheapest_plan(fluid: Fluid) -> tuple[int, ...]:
    """Return the replicas of the cheapest plan, at the start and from each step of the loop on.

    The duration of a change is rounded up to whole steps, during which no other change begins. After the last row was
    offered, replicas cost until all rows are processed.
    """
    model = _Model(fluid)
    values = model.values()
    present = fluid.replicas.index(fluid.initial)
    planned = [present]
    rows = model.keep(0, np.zeros(1)).rows[0, present]
    while len(planned) < model.steps:
        kept, changed, totals, other_totals = model.options(len(planned), rows, values)
        other = int(other_totals[present, :, 0].argmin())
        if totals[present, 0] <= other_totals[present, other, 0]:
            planned.append(present)
            rows = kept.rows[0, present]
        else:
            planned += [other] * model.change_steps
            rows = changed.rows[present, other]
            present = other
    return tuple(fluid.replicas[index] for index in planned[: model.steps])


@dataclass(frozen=True, slots=True)
class _Transition:
    """Outcome of some steps; arrays by the replicas before, the replicas after, and the backlog at the start."""

    #: Replica-minutes, and late minutes at their price.
    cost: Floats
    #: Backlog at the end, rows.
    rows: Floats


class _Model:
    """Fluid model in steps of the loop, for all numbers of replicas and a grid of backlogs.

    Attributes
    ----------
    steps
        Number of steps of the plan.
    change_steps
        Steps that a change takes.
    """

    def __init__(self, fluid: Fluid) -> None:
        ticks = max(1, math.ceil(fluid.period_s / _TICK_S - 1e-9))
        tick_s = fluid.period_s / ticks
        self.steps = math.ceil(fluid.duration_s / fluid.period_s - 1e-9) + _DRAIN_STEPS
        self.change_steps = max(1, math.ceil(max(fluid.changing_s) / fluid.period_s - 1e-9))
        self._ticks = ticks
        self._late_cost = fluid.price * tick_s / _MINUTE_S
        self._price, self._change_price = fluid.price, fluid.change_price
        self._replicas = np.array(fluid.replicas, dtype=float)[:, None]
        self._replica_cost = self._replicas * tick_s / _MINUTE_S
        self._capacity_rows_per_s = np.array(fluid.capacity_rows_per_s)
        self._waiting_rows = self._capacity_rows_per_s.max() * _GRID_S * np.linspace(0.0, 1.0, _GRID_POINTS) ** 2
        self._capacity_rows = np.tile(self._capacity_rows_per_s * tick_s, (ticks, 1, 1))[..., None]
        elapsed = np.arange(self.change_steps * ticks)[:, None, None]
        changing = np.clip(np.array(fluid.changing_s) / tick_s - elapsed, 0.0, 1.0)
        while_changing = np.array(fluid.changing_rows_per_s)
        self._capacity_while_changing_rows = (
            tick_s * (changing * while_changing + (1 - changing) * self._capacity_rows_per_s)
        )[..., None]
        edges_s = np.arange((self.steps + self.change_steps) * ticks + 1) * tick_s
        middles_s = (edges_s[:-1] + edges_s[1:]) / 2
        self._offered_rows = np.diff(_offered_rows(fluid.inflow, edges_s))
        self._input_flows = edges_s[:-1] < fluid.duration_s - 1e-9

        def offered_before_late(batches: int) -> Floats:
            age_s = np.maximum(0.0, fluid.slo_s - batches * np.array(fluid.batch_s)[:, None])
            return _offered_rows(fluid.inflow, middles_s) - _offered_rows(fluid.inflow, middles_s - age_s)

        # Rows leave at the end of a batch, so between two ends the oldest age grows by the length of a batch.
        on_time_rows, late_rows = offered_before_late(2), offered_before_late(1)
        self._on_time_rows = on_time_rows.T[..., None]
        self._late_span_rows = np.maximum(1.0, late_rows - on_time_rows).T[..., None]
        self._same = np.eye(len(fluid.replicas), dtype=bool)[..., None]

    def keep(self, step: int, rows: Floats) -> _Transition:
        """Return the outcome of a step without a change."""
        return self._transition(step, rows, self._capacity_rows)

    def options(
        self, step: int, rows: Floats, values: Sequence[Floats]
    ) -> tuple[_Transition, _Transition, Floats, Floats]:
        """Return the outcomes of keeping and of changing the replicas at a step, and the cost of each to the end."""
        kept = self.keep(step, rows)
        changed = self._transition(step, rows, self._capacity_while_changing_rows)
        keeping = kept.cost + self._valued(kept.rows, values[step + 1])
        left = self._valued(changed.rows, values[step + self.change_steps])
        changing = changed.cost + left + self._change_price
        return kept, changed, keeping[0], np.where(self._same, np.inf, changing)

    def values(self) -> Sequence[Floats]:
        """Return the cost of each number of replicas and backlog from each step to the end, replica-minutes."""
        rows = self._waiting_rows
        left_min = rows / self._capacity_rows_per_s[:, None] / _MINUTE_S
        values = [left_min * (self._replicas + self._price)] * (self.steps + self.change_steps)
        for step in range(self.steps - 1, 0, -1):
            _, _, keeping, changing = self.options(step, rows, values)
            values[step] = np.minimum(keeping, changing.min(axis=1))
        return values

    def _transition(self, step: int, rows: Floats, capacity_rows: Floats) -> _Transition:
        cost: Floats = np.zeros(1)
        for tick, capacity in enumerate(capacity_rows, start=step * self._ticks):
            left = np.maximum(0.0, rows + self._offered_rows[tick] - capacity)
            late = ((rows + left) / 2 - self._on_time_rows[tick]) / self._late_span_rows[tick]
            cost = cost + self._late_cost * np.clip(late, 0.0, 1.0)
            used = 1.0 if self._input_flows[tick] else np.minimum(1.0, rows / np.maximum(capacity, _MIN_ROWS))
            cost = cost + self._replica_cost * used
            rows = left
        return _Transition(cost, rows)

    def _valued(self, rows: Floats, values: Floats) -> Floats:
        columns = (np.interp(rows[:, index], self._waiting_rows, value) for index, value in enumerate(values))
        return np.stack(tuple(columns), axis=1)


def _offered_rows(inflow: Inflow, at_s: NDArray[np.floating[Any]]) -> Floats:
    """Return the rows offered until each instant."""
    rows = [sum([share * load.offered_rows(at) for load, share in inflow]) for at in at_s.ravel().tolist()]
    return np.array(rows).reshape(at_s.shape)
