"""Distributes the work of a batch over its replicas and over time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testbed.simulator.plant import NO_EFFORT, Effort
from testbed.simulator.spark.batch import BatchTimeline, ExecutorSet
from testbed.simulator.spark.constants import SparkPhysics


class WorkSchedule:
    """Accumulated work, waiting and lifetime of replicas at any instant from now on.

    The work of a batch is spread evenly over its duration, so that a window that ends within it has its part.
    """

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas
        self._since_s = self._time_s = 0.0
        self.worked_s = self.waited_s = 0.0
        self._from_s, self._until_s = 0.0, math.inf
        self._work = self._waiting = 0.0

    def plan(self, from_s: float, until_s: float, work_s: float, waiting_s: float) -> None:
        """Spread new work over a span of time; earlier planned work is done."""
        self.worked_s += self._work
        self.waited_s += self._waiting
        self._from_s, self._until_s = from_s, until_s
        self._work, self._waiting = work_s, waiting_s

    def cut(self, at_s: float) -> tuple[float, float]:
        """Remove the planned work after an instant, and return it: work and waiting, seconds."""
        work, waiting = self.at(at_s)
        left = self.worked_s + self._work - work, self.waited_s + self._waiting - waiting
        self.worked_s, self.waited_s = work, waiting
        self._work = self._waiting = 0.0
        return left

    def at(self, at_s: float) -> tuple[float, float]:
        """Return work and waiting until an instant, replica-seconds."""
        if at_s >= self._until_s:
            return self.worked_s + self._work, self.waited_s + self._waiting
        share = (at_s - self._from_s if at_s > self._from_s else 0.0) / (self._until_s - self._from_s)
        return self.worked_s + share * self._work, self.waited_s + share * self._waiting

    def keep(self, replicas: int, at_s: float) -> None:
        """Set the number of replicas from an instant on."""
        self._time_s = self.replica_seconds(at_s)
        self._since_s, self._replicas = at_s, replicas

    def replica_seconds(self, at_s: float) -> float:
        """Return the lifetime of all replicas until an instant."""
        return self._time_s + self._replicas * (at_s - self._since_s)


@dataclass(slots=True)
class FinishedBatch:
    """A finished batch."""

    executor_set: ExecutorSet
    timeline: BatchTimeline
    rows: int
    _by_slot: Sequence[tuple[str, float, float, float]] | None = None  # many windows contain it

    def by_slot(self, physics: SparkPhysics) -> Sequence[tuple[str, float, float, float]]:
        """Return the node, rows, work and waiting of each slot, the times as shares of its executor."""
        if self._by_slot is None:
            executor_set = self.executor_set
            nodes, slots, members = executor_set.nodes, executor_set.slots, executor_set.members
            row_shares = _row_shares(physics, executor_set, self.timeline)
            shares = zip(row_shares, *_times_s(physics, executor_set, self.timeline), strict=True)
            self._by_slot = [
                (nodes[member], share * self.rows, work_s / slots[member], waiting_s / slots[member])
                for member, (share, work_s, waiting_s) in zip(members, shares, strict=True)
            ]
        return self._by_slot


def efforts(physics: SparkPhysics, batches: Iterable[FinishedBatch]) -> Mapping[str, Effort]:
    """Return the work of each executor in some batches together, by node."""
    found: dict[str, tuple[float, float, float]] = {}
    for batch in batches:
        for node, rows, work_s, waiting_s in batch.by_slot(physics):
            total = found.get(node, NO_EFFORT)
            found[node] = total[0] + rows, total[1] + work_s, total[2] + waiting_s
    return {node: Effort(*total) for node, total in found.items()}


def _row_shares(physics: SparkPhysics, executor_set: ExecutorSet, timeline: BatchTimeline) -> list[float]:
    """Return the share of each slot: its partitions are equal, except the largest, which is the first slot's."""
    if physics.tasks_by_speed:
        return _shares_by_time(physics, executor_set, timeline)
    count = max(1, sum(timeline.tasks))
    if physics.hottest_share * count <= 1 or count == 1 or not timeline.tasks[timeline.first_slot]:
        return [own / count for own in timeline.tasks]
    other = (1 - physics.hottest_share) / (count - 1)
    shares = [other * own for own in timeline.tasks]
    shares[timeline.first_slot] += physics.hottest_share - other
    return shares


def _shares_by_time(physics: SparkPhysics, executor_set: ExecutorSet, timeline: BatchTimeline) -> list[float]:
    """Return the share of each slot with unequal partitions, by the time that it spent on rows."""
    between_s = (
        physics.wave_round_trips * rtt_s * max(0, tasks - 1)
        for rtt_s, tasks in zip(executor_set.rtts_s, timeline.tasks, strict=True)
    )
    idle_s = timeline.idle_s or [0.0] * len(timeline.tasks)
    on_rows = [
        max(0.0, (end_s - timeline.tasks_from_s - waited_s - idled_s) / pace - tasks * physics.task_s)
        for end_s, waited_s, idled_s, pace, tasks in zip(
            timeline.ends_s, between_s, idle_s, executor_set.paces, timeline.tasks, strict=True
        )
    ]
    total = sum(on_rows)
    return [each / total if total else 1 / len(on_rows) for each in on_rows]


def _times_s(
    physics: SparkPhysics, executor_set: ExecutorSet, timeline: BatchTimeline
) -> tuple[list[float], list[float]]:
    """Return the time that each slot worked, and waited for the network, seconds."""
    state = timeline.state
    work_s, waiting_s = [], []
    for slot, rtt_s in enumerate(executor_set.rtts_s):
        between_s = physics.wave_round_trips * rtt_s * max(0, timeline.tasks[slot] - 1)
        idle_s = timeline.idle_s[slot] if timeline.idle_s else 0.0
        worked_s = max(0.0, timeline.ends_s[slot] - timeline.tasks_from_s - between_s - idle_s)
        waited_s = physics.driver_round_trips * executor_set.farthest_s + between_s
        if state is not None:
            within_s = physics.state_round_trips * rtt_s * state.tasks[slot]
            worked_s += max(0.0, state.ends_s[slot] - state.from_s - within_s)
            waited_s += physics.exchange_round_trips * executor_set.apart_s + within_s
        work_s.append(worked_s)
        waiting_s.append(waited_s)
    return work_s, waiting_s
