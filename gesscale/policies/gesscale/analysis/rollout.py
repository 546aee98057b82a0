"""Simulates candidates on all scenarios of the load: after the first action the scaling table decides.

Rows are processed first in, first out. They are late if fewer rows are served than were offered one objective ago.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale.analysis.lateness import share_above_0, spare_rows_per_s
from gesscale.policies.gesscale.analysis.planning_horizon import Array, Counts, FirstAction, PlanningHorizon
from gesscale.policies.gesscale.analysis.scaling_table import ScalingTable, solve_scaling_table


class Rollout(NamedTuple):
    """Operator with its planning horizon and at least one candidate."""

    horizon: PlanningHorizon
    candidates: Sequence[FirstAction]


class RolloutCost(NamedTuple):
    """Cost of each candidate on each scenario; shape ``(candidates, c)``."""

    replica_minutes: Array
    late_minutes: Array
    changes: Array


#: Maximum number of candidates times scenarios in one simulation, which bounds its memory.
MAX_BATCH_SIZE = 32768


def simulate_rollouts(rollouts: Sequence[Rollout]) -> list[RolloutCost]:
    """Simulate the candidates of many operators to the end of their horizons.

    Operators of equal shape are simulated in one batch, because array operations on a single one are too small.
    """
    by_shape: dict[object, list[int]] = {}
    for index, rollout in enumerate(rollouts):
        by_shape.setdefault(_shape(rollout), []).append(index)
    found: dict[int, RolloutCost] = {}
    for indices in by_shape.values():
        candidates, scenarios = len(rollouts[indices[0]].candidates), len(rollouts[indices[0]].horizon.weights)
        size = max(1, MAX_BATCH_SIZE // (candidates * scenarios))
        for begin in range(0, len(indices), size):
            batch = indices[begin : begin + size]
            found.update(zip(batch, _simulate_batch([rollouts[index] for index in batch]), strict=True))
    return [found[index] for index in range(len(rollouts))]


def _shape(rollout: Rollout) -> tuple[object, ...]:
    horizon = rollout.horizon
    return (len(rollout.candidates), len(horizon.weights), len(horizon.rows_per_s), horizon.steps_s.tobytes())


class _SharedInputs(NamedTuple):
    """Inputs of o operators of one shape, shared by all their candidates; c scenarios, k steps."""

    #: Shape ``(k,)``.
    steps_s: Array
    #: Shape ``(k + 1,)``: start of each step and end of the last one, seconds from now.
    instants_s: Array
    #: Shape ``(k + 1, o, 1, c)``: as in `PlanningHorizon` (offered, deadline_rows).
    offered: Array
    deadline_rows: Array
    #: Shape ``(o, n)``: capacity of 1, 2, ... replicas.
    rows_per_s: Array
    #: Shape ``(o, 1, 1)``: capacity of the maximum number of replicas.
    max_rows_per_s: Array
    #: Shape ``(o, 1, 1)``: time during which a change stalls replicas, and blocks other changes (stalled_s, locked_s).
    stalled_s: Array
    locked_s: Array
    #: Shape ``(o, 1, 1)``: 1 if the remaining replicas serve during a change, 0 if the job stops.
    serves_during_change: Array

    def capacity(self, count: Counts) -> Array:
        """Return the capacity of numbers of replicas, rows/s; shape ``(o, candidates, c)`` as ``count``."""
        first = self.rows_per_s.shape[1] * np.arange(len(count))[:, None, None]
        capacity: Array = self.rows_per_s.take(first + count - 1)
        return capacity


def _shared_inputs(horizons: Sequence[PlanningHorizon]) -> _SharedInputs:
    steps_s = horizons[0].steps_s
    offered, deadline_rows = (
        np.array(rows).transpose(2, 0, 1)[:, :, None]
        for rows in ([each.offered for each in horizons], [each.deadline_rows for each in horizons])
    )
    per_operator = [
        (
            each.rows_per_s[each.max_replicas - 1],
            each.change.stalled_s,
            each.change.locked_s,
            each.change.serves_during_change,
        )
        for each in horizons
    ]
    figures = np.array(per_operator, dtype=np.float64).T[:, :, None, None]
    max_rows_per_s, stalled_s, locked_s, serves_during_change = figures
    return _SharedInputs(
        steps_s=steps_s,
        instants_s=np.cumsum([0.0, *steps_s]),
        offered=offered,
        deadline_rows=deadline_rows,
        rows_per_s=np.array([each.rows_per_s for each in horizons]),
        max_rows_per_s=max_rows_per_s,
        stalled_s=stalled_s,
        locked_s=locked_s,
        serves_during_change=serves_during_change,
    )


@dataclass(slots=True, kw_only=True)
class _RolloutState:
    """State and cost of each candidate on each scenario; all arrays have shape ``(o, candidates, c)``."""

    #: Replicas and their capacity (count, rows_per_s).
    count: Counts
    rows_per_s: Array
    #: Remaining time of a change, and the capacity until then (stalled_s, stalled_rows_per_s).
    stalled_s: Array
    stalled_rows_per_s: Array
    #: Rows processed from now on.
    served: Array
    #: Rows past their deadline; negative if there is time left.
    overdue: Array
    #: Time at which the last change has settled, seconds from now.
    settled_s: Array
    #: Cost so far (replica_s, late_s, changes).
    replica_s: Array
    late_s: Array
    changes: Array


def _simulate_batch(rollouts: Sequence[Rollout]) -> Iterator[RolloutCost]:
    """Simulate operators of one shape."""
    horizons = [rollout.horizon for rollout in rollouts]
    shared = _shared_inputs(horizons)
    tables = [solve_scaling_table(horizon) for horizon in horizons]
    target, changed = _first_actions(rollouts)
    state = _initial_state(horizons, shared, target)
    _simulate_step(shared, state, 0, changed, target)
    for step in range(1, len(shared.steps_s)):
        target = _table_actions(tables, shared, state, step)
        _simulate_step(shared, state, step, target != state.count, target)
    _charge_remaining(shared, state)
    parts = (state.replica_s / 60, state.late_s / 60, state.changes)
    return (RolloutCost(*cost) for cost in zip(*parts, strict=True))


def _first_actions(rollouts: Sequence[Rollout]) -> tuple[Counts, NDArray[np.bool_]]:
    """Return the replicas of the candidates, and which of them are a change."""
    shape = (len(rollouts), len(rollouts[0].candidates), len(rollouts[0].horizon.weights))
    count, changed = (
        np.array([[getattr(each, name) for each in rollout.candidates] for rollout in rollouts])[:, :, None]
        for name in FirstAction._fields
    )
    return np.broadcast_to(count, shape), np.broadcast_to(changed, shape)


def _initial_state(horizons: Sequence[PlanningHorizon], shared: _SharedInputs, count: Counts) -> _RolloutState:
    def everywhere(values: Sequence[float]) -> Array:
        return np.broadcast_to(np.array(values)[:, None, None], count.shape).copy()

    served = everywhere([-horizon.backlog_rows for horizon in horizons])
    return _RolloutState(
        count=count.copy(),
        rows_per_s=everywhere([horizon.present_rows_per_s for horizon in horizons]),
        stalled_s=np.zeros(count.shape),
        stalled_rows_per_s=np.zeros(count.shape),
        served=served,
        overdue=shared.deadline_rows[0] - served,
        settled_s=np.zeros(count.shape),
        replica_s=np.zeros(count.shape),
        late_s=np.zeros(count.shape),
        changes=np.zeros(count.shape),
    )


def _table_actions(tables: Sequence[ScalingTable], shared: _SharedInputs, state: _RolloutState, step: int) -> Counts:
    """Return the replicas of a step by the scaling tables; unchanged until the last change has settled."""
    rows = np.maximum(0.0, shared.offered[step] - state.served)
    target = np.array([each.best_replicas(step, *of) for each, *of in zip(tables, state.count, rows, strict=True)])
    return np.where(state.settled_s <= shared.instants_s[step], target, state.count)


def _simulate_step(
    shared: _SharedInputs, state: _RolloutState, step: int, changed: NDArray[np.bool_], target: Counts
) -> None:
    """Simulate one step; replicas that change are stalled at its start."""
    seconds, capacity = shared.steps_s[step], shared.capacity(target)
    for values, now in (
        (state.stalled_s, shared.stalled_s),
        (state.stalled_rows_per_s, np.minimum(state.rows_per_s, capacity) * shared.serves_during_change),
        (state.settled_s, shared.instants_s[step] + shared.locked_s),
        (state.rows_per_s, capacity),
        (state.count, target),
    ):
        np.copyto(values, now, where=changed)
    state.changes += changed
    stalled_s = np.minimum(state.stalled_s, seconds)
    state.stalled_s -= stalled_s
    serving_s, share = seconds - stalled_s, stalled_s / seconds
    offered, deadline_rows = (
        (rows[step] + share * (rows[step + 1] - rows[step]), rows[step + 1])
        for rows in (shared.offered, shared.deadline_rows)
    )
    served_after_stall = np.minimum(state.served + state.stalled_rows_per_s * stalled_s, offered[0])
    served = np.minimum(served_after_stall + state.rows_per_s * serving_s, offered[1])
    overdue_after_stall, overdue = deadline_rows[0] - served_after_stall, deadline_rows[1] - served
    state.late_s += stalled_s * share_above_0(state.overdue, overdue_after_stall)
    state.late_s += serving_s * share_above_0(overdue_after_stall, overdue)
    state.replica_s += state.count * seconds
    state.served, state.overdue = served, overdue


def _charge_remaining(shared: _SharedInputs, state: _RolloutState) -> None:
    """Charge the remaining backlog: its replica time, and the time until no row is late with all replicas."""
    load = (shared.offered[-1] - shared.offered[-2]) / shared.steps_s[-1]
    state.late_s += np.maximum(0.0, state.overdue) / spare_rows_per_s(shared.max_rows_per_s, load)
    state.replica_s += np.maximum(0.0, shared.offered[-1] - state.served) / shared.rows_per_s[:, :1, None]
