"""The cheapest plan of a whole run, for who knows the load: dynamic programming over replicas and backlog.

A fluid model of one operator: rows arrive as they are offered, and leave at the capacity of the placement. The plan
minimises replica-minutes plus a price for each late minute. Rows come through first in, first out, so the oldest one
that waits is older than L at an instant t exactly where more rows wait than were offered in [t - L, t].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arena.policies.perfect_foresight import Inflow

#: What the plan pays for a late minute, replica-minutes: the middle price of the league.
LATE_MINUTE_PRICE = 10.0

#: Length of a tick of the fluid, seconds, at most.
_TICK_S = 10.0

_GRID_POINTS = 240
#: The longest backlog that is told from a longer one: what the greatest capacity processes in this time,
#: seconds.
_GRID_S = 3600.0

#: Steps that are planned after the last row was offered.
_DRAIN_STEPS = 10

_LEAST_ROWS = 1e-9
_MINUTE_S = 60.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fluid:
    """An operator as the plan sees it; tuples are by the number of replicas."""

    #: What is offered to it.
    inflow: Inflow
    #: When the last row was offered, seconds.
    duration_s: float
    #: Time between two steps of the loop; the first is one period after the beginning.
    period_s: float
    #: The age of a row that is still good, seconds.
    slo_s: float
    #: The numbers that it may have, ascending.
    replicas: tuple[int, ...]
    #: Which of them it begins with.
    initial: int
    #: What each number processes, rows/s.
    capacity_rows_per_s: tuple[float, ...]
    #: How long a change to each number takes.
    changing_s: tuple[float, ...]
    #: What is processed meanwhile, rows/s: by the number before, then by the number after.
    changing_rows_per_s: tuple[tuple[float, ...], ...]
    #: How long a full batch takes; 0 where rows come through one by one.
    batch_s: tuple[float, ...]
    #: Of a late minute, and of a change on top of what it holds up, replica-minutes (price, change_price).
    price: float = LATE_MINUTE_PRICE
    change_price: float = 0.0


@lru_cache(maxsize=16)  # seeds may share a world's load and delays
def cheapest_plan(fluid: Fluid) -> tuple[int, ...]:
    """Return the replicas of the cheapest plan, from the beginning and from each step of the loop on.

    A change takes so many whole steps that it is over at their end; until then there is no other one. After the last
    row was offered, replicas are paid for until all rows are processed.
    """
    model = _Model(fluid)
    values = model.values()
    present = fluid.replicas.index(fluid.initial)
    planned = [present]
    rows = model.kept(0, np.zeros(1)).rows[0, present]
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
class _Course:
    """What came of some steps; arrays by the number of replicas before, the number after, and the backlog at first."""

    #: Replica-minutes, late minutes at their price.
    cost: Floats
    #: Rows that wait in the end.
    rows: Floats


class _Model:
    """The fluid in steps of the loop, for all numbers of replicas and many backlogs at once.

    Attributes
    ----------
    steps
        Of the whole plan.
    change_steps
        How many of them a change takes.
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
        self._paid = self._replicas * tick_s / _MINUTE_S
        self._capacity_rows_per_s = np.array(fluid.capacity_rows_per_s)
        self._waiting_rows = self._capacity_rows_per_s.max() * _GRID_S * np.linspace(0.0, 1.0, _GRID_POINTS) ** 2
        self._able_rows = np.tile(self._capacity_rows_per_s * tick_s, (ticks, 1, 1))[..., None]
        gone = np.arange(self.change_steps * ticks)[:, None, None]
        changing = np.clip(np.array(fluid.changing_s) / tick_s - gone, 0.0, 1.0)
        while_changing = np.array(fluid.changing_rows_per_s)
        self._able_while_changing_rows = (
            tick_s * (changing * while_changing + (1 - changing) * self._capacity_rows_per_s)
        )[..., None]
        edges_s = np.arange((self.steps + self.change_steps) * ticks + 1) * tick_s
        middles_s = (edges_s[:-1] + edges_s[1:]) / 2
        self._arriving_rows = np.diff(_offered_rows(fluid.inflow, edges_s))
        self._offers = edges_s[:-1] < fluid.duration_s - 1e-9

        def offered_before_late(batches: int) -> Floats:
            age_s = np.maximum(0.0, fluid.slo_s - batches * np.array(fluid.batch_s)[:, None])
            return _offered_rows(fluid.inflow, middles_s) - _offered_rows(fluid.inflow, middles_s - age_s)

        # Rows come through at the end of a batch, so between two ends the oldest age grows by the length of a batch.
        never_late_rows, always_late_rows = offered_before_late(2), offered_before_late(1)
        self._never_late_rows = never_late_rows.T[..., None]
        self._late_span_rows = np.maximum(1.0, always_late_rows - never_late_rows).T[..., None]
        self._same = np.eye(len(fluid.replicas), dtype=bool)[..., None]

    def kept(self, step: int, rows: Floats) -> _Course:
        """Return what comes of a step in which the replicas stay."""
        return self._course(step, rows, self._able_rows)

    def options(self, step: int, rows: Floats, values: Sequence[Floats]) -> tuple[_Course, _Course, Floats, Floats]:
        """Return what comes of keeping and of changing the replicas at a step, and what each costs to the end."""
        kept = self.kept(step, rows)
        changed = self._course(step, rows, self._able_while_changing_rows)
        keeping = kept.cost + self._valued(kept.rows, values[step + 1])
        left = self._valued(changed.rows, values[step + self.change_steps])
        changing = changed.cost + left + self._change_price
        return kept, changed, keeping[0], np.where(self._same, np.inf, changing)

    def values(self) -> Sequence[Floats]:
        """Return what each number of replicas and backlog costs from each step to the end, replica-minutes."""
        rows = self._waiting_rows
        left_min = rows / self._capacity_rows_per_s[:, None] / _MINUTE_S
        values = [left_min * (self._replicas + self._price)] * (self.steps + self.change_steps)
        for step in range(self.steps - 1, 0, -1):
            _, _, keeping, changing = self.options(step, rows, values)
            values[step] = np.minimum(keeping, changing.min(axis=1))
        return values

    def _course(self, step: int, rows: Floats, able_rows: Floats) -> _Course:
        cost: Floats = np.zeros(1)
        for tick, able in enumerate(able_rows, start=step * self._ticks):
            left = np.maximum(0.0, rows + self._arriving_rows[tick] - able)
            late = ((rows + left) / 2 - self._never_late_rows[tick]) / self._late_span_rows[tick]
            cost = cost + self._late_cost * np.clip(late, 0.0, 1.0)
            held = 1.0 if self._offers[tick] else np.minimum(1.0, rows / np.maximum(able, _LEAST_ROWS))
            cost = cost + self._paid * held
            rows = left
        return _Course(cost, rows)

    def _valued(self, rows: Floats, values: Floats) -> Floats:
        columns = (np.interp(rows[:, index], self._waiting_rows, value) for index, value in enumerate(values))
        return np.stack(tuple(columns), axis=1)


def _offered_rows(inflow: Inflow, at_s: NDArray[np.floating[Any]]) -> Floats:
    """Return the rows offered until each instant."""
    rows = [sum([share * load.offered_rows(at) for load, share in inflow]) for at in at_s.ravel().tolist()]
    return np.array(rows).reshape(at_s.shape)
