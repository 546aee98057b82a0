"""Candidates state against every scenario of the load: what is done first is theirs, then they go on as advised.

First in, first out: rows are late where what was served is less than what had been offered the objective ago.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.lateness import share_above_0, spare_rows_per_s
from gesscale.policies.gesscale2.analysis.planning_horizon import Array, Candidate, Counts, PlanningHorizon
from gesscale.policies.gesscale2.analysis.scaling_table import ScalingTable, solve_scaling_table


class Rollout(NamedTuple):
    """An operator and its load, and the candidates that are state for it, one or more."""

    horizon: PlanningHorizon
    candidates: Sequence[Candidate]


class RolloutCost(NamedTuple):
    """What each candidate pays on each scenario; shape ``(candidates, c)``."""

    replica_minutes: Array
    late_minutes: Array
    changes: Array


#: So many candidates on scenarios are state at once: memory grows with them.
MAX_BATCH_SIZE = 32768


def simulate_rollouts(rollouts: Sequence[Rollout]) -> list[RolloutCost]:
    """Play the candidates of many operators to the end of the scenarios.

    Operators of the same shape are state together, since the steps of one alone are too short for arrays.
    """
    alike: dict[object, list[int]] = {}
    for index, rollout in enumerate(rollouts):
        alike.setdefault(_shape(rollout), []).append(index)
    found: dict[int, RolloutCost] = {}
    for indices in alike.values():
        candidates, scenarios = len(rollouts[indices[0]].candidates), len(rollouts[indices[0]].horizon.weights)
        at_once = max(1, MAX_BATCH_SIZE // (candidates * scenarios))
        for begin in range(0, len(indices), at_once):
            some = indices[begin : begin + at_once]
            found.update(zip(some, _simulate_batch([rollouts[index] for index in some]), strict=True))
    return [found[index] for index in range(len(rollouts))]


def _shape(rollout: Rollout) -> tuple[object, ...]:
    horizon = rollout.horizon
    return (len(rollout.candidates), len(horizon.weights), len(horizon.rows_per_s), horizon.steps_s.tobytes())


class _SharedInputs(NamedTuple):
    """What o operators of one shape meet, the same for all their candidates; c scenarios, k steps."""

    #: Shape ``(k,)``.
    steps_s: Array
    #: Shape ``(k + 1,)``: when each step begins, and the last one ends, seconds from now.
    instants_s: Array
    #: Shape ``(k + 1, o, 1, c)``: as in `PlanningHorizon` (offered, due).
    offered: Array
    due: Array
    #: Shape ``(o, n)``: capacity of 1, 2, ... replicas.
    rows_per_s: Array
    #: Shape ``(o, 1, 1)``: capacity of as many as there may be.
    most_rows_per_s: Array
    #: Shape ``(o, 1, 1)``: for how long a change holds up the replicas, and no other change can be ordered (held_s,
    #: busy_s).
    held_s: Array
    busy_s: Array
    #: Shape ``(o, 1, 1)``: 1 where those that stay serve meanwhile, 0 where the job stops.
    serves_during_change: Array

    def carried(self, count: Counts) -> Array:
        """Return what so many replicas carry, rows/s; shape ``(o, candidates, c)`` as ``count``."""
        first = self.rows_per_s.shape[1] * np.arange(len(count))[:, None, None]
        carried: Array = self.rows_per_s.take(first + count - 1)
        return carried


def _shared_inputs(horizons: Sequence[PlanningHorizon]) -> _SharedInputs:
    steps_s = horizons[0].steps_s
    offered, due = (
        np.array(rows).transpose(2, 0, 1)[:, :, None]
        for rows in ([each.offered for each in horizons], [each.due for each in horizons])
    )
    each_alone = [
        (each.rows_per_s[each.most - 1], each.change.held_s, each.change.busy_s, each.change.serves_during_change)
        for each in horizons
    ]
    most_rows_per_s, held_s, busy_s, serves_during_change = np.array(each_alone, dtype=np.float64).T[:, :, None, None]
    return _SharedInputs(
        steps_s=steps_s,
        instants_s=np.cumsum([0.0, *steps_s]),
        offered=offered,
        due=due,
        rows_per_s=np.array([each.rows_per_s for each in horizons]),
        most_rows_per_s=most_rows_per_s,
        held_s=held_s,
        busy_s=busy_s,
        serves_during_change=serves_during_change,
    )


@dataclass(slots=True, kw_only=True)
class _RolloutState:
    """Where each candidate is on each scenario, and what it paid; each array of shape ``(o, candidates, c)``."""

    #: Replicas, and what they carry (count, rows_per_s).
    count: Counts
    rows_per_s: Array
    #: For how long a change still holds them up, and what they carry until then (held_s, held_rows_per_s).
    held_s: Array
    held_rows_per_s: Array
    #: Rows, from now on.
    served: Array
    #: Rows that have to be through and are not; below 0 where there is time left.
    overdue: Array
    #: When the last change has settled, seconds from now.
    settled_s: Array
    #: What was paid so far (replica_s, late_s, changes).
    replica_s: Array
    late_s: Array
    changes: Array


def _simulate_batch(rollouts: Sequence[Rollout]) -> Iterator[RolloutCost]:
    """Play operators of one shape."""
    horizons = [rollout.horizon for rollout in rollouts]
    together = _shared_inputs(horizons)
    tables = [solve_scaling_table(horizon) for horizon in horizons]
    wanted, changed = _first_actions(rollouts)
    state = _initial_state(horizons, together, wanted)
    _simulate_step(together, state, 0, changed, wanted)
    for step in range(1, len(together.steps_s)):
        wanted = _table_actions(tables, together, state, step)
        _simulate_step(together, state, step, wanted != state.count, wanted)
    _charge_remaining(together, state)
    parts = (state.replica_s / 60, state.late_s / 60, state.changes)
    return (RolloutCost(*paid) for paid in zip(*parts, strict=True))


def _first_actions(rollouts: Sequence[Rollout]) -> tuple[Counts, NDArray[np.bool_]]:
    """Return how many replicas the candidates hold, and which of them are a change."""
    shape = (len(rollouts), len(rollouts[0].candidates), len(rollouts[0].horizon.weights))
    count, changed = (
        np.array([[getattr(each, name) for each in rollout.candidates] for rollout in rollouts])[:, :, None]
        for name in Candidate._fields
    )
    return np.broadcast_to(count, shape), np.broadcast_to(changed, shape)


def _initial_state(horizons: Sequence[PlanningHorizon], together: _SharedInputs, count: Counts) -> _RolloutState:
    def everywhere(values: Sequence[float]) -> Array:
        return np.broadcast_to(np.array(values)[:, None, None], count.shape).copy()

    served = everywhere([-horizon.backlog_rows for horizon in horizons])
    return _RolloutState(
        count=count.copy(),
        rows_per_s=everywhere([horizon.present_rows_per_s for horizon in horizons]),
        held_s=np.zeros(count.shape),
        held_rows_per_s=np.zeros(count.shape),
        served=served,
        overdue=together.due[0] - served,
        settled_s=np.zeros(count.shape),
        replica_s=np.zeros(count.shape),
        late_s=np.zeros(count.shape),
        changes=np.zeros(count.shape),
    )


def _table_actions(tables: Sequence[ScalingTable], together: _SharedInputs, state: _RolloutState, step: int) -> Counts:
    """Return how many replicas to have in a step; the same ones until the last change has settled."""
    rows = np.maximum(0.0, together.offered[step] - state.served)
    wanted = np.array([each.wanted(step, *of) for each, *of in zip(tables, state.count, rows, strict=True)])
    return np.where(state.settled_s <= together.instants_s[step], wanted, state.count)


def _simulate_step(
    together: _SharedInputs, state: _RolloutState, step: int, changed: NDArray[np.bool_], wanted: Counts
) -> None:
    """Let one step pass, in which those that change to the replicas wanted are held up first."""
    seconds, carried = together.steps_s[step], together.carried(wanted)
    for kept, now in (
        (state.held_s, together.held_s),
        (state.held_rows_per_s, np.minimum(state.rows_per_s, carried) * together.serves_during_change),
        (state.settled_s, together.instants_s[step] + together.busy_s),
        (state.rows_per_s, carried),
        (state.count, wanted),
    ):
        np.copyto(kept, now, where=changed)
    state.changes += changed
    held_s = np.minimum(state.held_s, seconds)
    state.held_s -= held_s
    freely_s, share = seconds - held_s, held_s / seconds
    offered, due = (
        (rows[step] + share * (rows[step + 1] - rows[step]), rows[step + 1])
        for rows in (together.offered, together.due)
    )
    served_then = np.minimum(state.served + state.held_rows_per_s * held_s, offered[0])
    served = np.minimum(served_then + state.rows_per_s * freely_s, offered[1])
    overdue_then, overdue = due[0] - served_then, due[1] - served
    state.late_s += held_s * share_above_0(state.overdue, overdue_then)
    state.late_s += freely_s * share_above_0(overdue_then, overdue)
    state.replica_s += state.count * seconds
    state.served, state.overdue = served, overdue


def _charge_remaining(together: _SharedInputs, state: _RolloutState) -> None:
    """Charge what is left: the work that waits, and the time until no row is late any more with all replicas."""
    load = (together.offered[-1] - together.offered[-2]) / together.steps_s[-1]
    state.late_s += np.maximum(0.0, state.overdue) / spare_rows_per_s(together.most_rows_per_s, load)
    state.replica_s += np.maximum(0.0, together.offered[-1] - state.served) / together.rows_per_s[:, :1, None]
