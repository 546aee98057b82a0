"""Simulates a streaming query: its triggers, batches and idle times."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator
from testbed.simulator.fog import Fog
from testbed.simulator.plant import Efforts, Tally
from testbed.simulator.scene import CostChange, FailureKind
from testbed.simulator.spark.batch import BatchTimeline, factors, run_batch, timeline_after_loss
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.efforts import FinishedBatch, WorkSchedule, efforts
from testbed.simulator.spark.replica_pool import MembershipPeriod, ReplicaPool
from testbed.simulator.stream import Stream

#: Spark's ``spark.sql.streaming.noDataProgressEventInterval``: shortest time between idle reports of a query.
REPORT_S = 10.0

_IDLE_PERIODS_KEPT = 32


class IdleReports:
    """Reports of the last idle periods."""

    def __init__(self, trigger_s: float) -> None:
        self._step_s = trigger_s * max(1, math.ceil(REPORT_S / trigger_s - 1e-9))
        self._idle_periods: deque[list[float]] = deque(maxlen=_IDLE_PERIODS_KEPT)

    def note(self, at_s: float) -> None:
        """Note that a trigger found no rows. The first one after a batch is reported at once."""
        if self._idle_periods and at_s - self._idle_periods[-1][1] <= self._step_s * 1.001:
            self._idle_periods[-1][1] = at_s
        else:
            self._idle_periods.append([at_s, at_s])

    def last_s(self, by_s: float) -> float | None:
        """Return the time of the last idle report up to an instant; None if there is none."""
        for first_s, last_s in reversed(self._idle_periods):
            if first_s <= by_s:
                steps = math.floor((min(by_s, last_s) - first_s) / self._step_s + 1e-9)
                return first_s + steps * self._step_s
        return None


#: Minimum number of recent batches in memory; the maximum is twice this number.
BATCHES_KEPT = 512

#: Emits output: number of rows read, time, and when the first and the last of them entered the workflow. Returns the
#: number of output rows.
Emit = Callable[[int, float, float, float], int]


@dataclass(slots=True)
class _Running:
    """A running batch; without a period it waits for an executor."""

    begun_s: float
    rows: int
    offered_rows: float
    cap_rows: int | None
    worked_from_s: float = 0.0
    period: MembershipPeriod | None = None
    timeline: BatchTimeline | None = None


class Query:
    """Processes a stream of rows; its next event is at ``next_s``, and `step` executes it.

    Parameters
    ----------
    reach_s
        How long it keeps the work of single executors, seconds.
    """

    def __init__(
        self,
        operator: Operator,
        physics: SparkPhysics,
        *,
        fog: Fog,
        stream: Stream,
        emit: Emit,
        placement: Sequence[str],
        reach_s: float,
        seed: np.random.SeedSequence,
        cost_changes: Sequence[CostChange] = (),
    ) -> None:
        of_starts, of_batches, of_tasks, of_slots = (np.random.default_rng(child) for child in seed.spawn(4))
        self.operator = operator
        self.physics = physics
        self._cost_changes = [
            (each.from_s, each.until_s, replace(physics, service_ms_per_row=physics.service_ms_per_row * each.factor))
            for each in cost_changes
        ]
        self.batches: list[Batch] = []
        # At most two batches begin in a trigger interval: one on time, and one after a late batch.
        self._done: deque[FinishedBatch] = deque(maxlen=2 * math.ceil(reach_s / physics.trigger_s) + 2)
        self.driver_is_up = True
        #: Nodes of the last order.
        self.ordered = frozenset(placement)
        self.next_s = 0.0
        self._stream = stream
        self._emit = emit
        self._idles = IdleReports(physics.trigger_s)
        self._batch_factors = factors(of_batches, physics.batch_noise)
        self._task_factors = factors(of_tasks, physics.task_noise) if physics.task_noise else None
        self._slot_draws = of_slots
        self._replica_pool = ReplicaPool(
            physics, driver_node=operator.driver_node, fog=fog, placement=placement, rng=of_starts
        )
        self._work_schedule = WorkSchedule(len(self._replica_pool))
        self._running: _Running | None = None
        self._extra_s = 0.0
        self._done_rows = 0
        self._counted_from_rows = 0
        self._number = 0

    # State

    @property
    def placement(self) -> tuple[str, ...]:
        """Nodes of the replicas, sorted, including starting ones."""
        return self._replica_pool.placement

    def ready(self, at_s: float) -> tuple[str, ...]:
        """Return the nodes whose replicas can work, and those of replicas that returned and are not removed yet."""
        return tuple(sorted({*self._replica_pool.period_at(at_s).nodes, *self._replica_pool.surplus(at_s)}))

    def tally(self, at_s: float) -> Tally:
        """Return its counters now."""
        schedule, replica_pool = self._work_schedule, self._replica_pool
        work_s, waiting_s = schedule.at(at_s)
        return Tally(  # positional, for speed
            self._stream.offered_rows(at_s),
            float(self._done_rows),
            work_s,
            waiting_s,
            schedule.replica_seconds(at_s),
            len(replica_pool),
            len(replica_pool.period_at(at_s).members),
            replica_pool.price,
        )

    def efforts(self, batches: Sequence[Batch]) -> Efforts:
        """Return a function for the work of its executors in some recent batches."""
        done, number = self._done, self._number
        return partial(efforts, self.physics, [done[batch.batch_id - number] for batch in batches])

    def last_progress_at_s(self, by_s: float) -> float | None:
        """Return when it last reported a batch or that it idles, up to an instant."""
        ended = (batch.ended_at_s for batch in reversed(self.batches) if batch.ended_at_s <= by_s)
        reported = [instant for instant in (next(ended, None), self._idles.last_s(by_s)) if instant is not None]
        return max(reported, default=None)

    # Events

    def order(self, add: Sequence[str], remove: Sequence[str], at_s: float) -> None:
        """Order executors on nodes that are up, and decommission others.

        A decommissioned executor takes no further batch, and finishes its tasks of the current one.
        """
        for node in add:
            self._replica_pool.start(node, at_s)
        for node in remove:
            self._replica_pool.drop(node)
        self._replicas_changed(at_s)
        running, leave_s = self._running, self.physics.leave_s
        if not remove:
            return
        if running is None or running.timeline is None:
            self._extra_s = leave_s
        else:
            longer = replace(running.timeline, seconds=running.timeline.seconds + leave_s)
            self._change_timeline(running, running.timeline, longer, at_s)

    def node_failed(self, node: str, at_s: float, loss: FailureKind | None = FailureKind.DOWN) -> None:
        """Stop everything that runs on a node; its executor is kept if the node is cut off."""
        self._replica_pool.drop(node, keep=loss is FailureKind.CUT_OFF)
        self._replicas_changed(at_s)
        if node == self.operator.driver_node:
            self._driver_failed(at_s)
        elif self._running is not None:
            self._lose(self._running, node, at_s)

    def node_returned(self, node: str, at_s: float, loss: FailureKind | None = FailureKind.DOWN) -> None:
        """Note that a node is back: with its driver, the executor that was cut off, or one that was Pending.

        Others do not restart on their own.
        """
        if node != self.operator.driver_node:
            self._executor_returned(node, at_s, loss)
            return
        self.driver_is_up = True
        runs_at_s = at_s + self.physics.driver_restart_s
        self._replica_pool.restart(runs_at_s)
        self._counted_from_rows = self._done_rows
        self.next_s = self._tick_s(runs_at_s)

    def _executor_returned(self, node: str, at_s: float, loss: FailureKind | None) -> None:
        if loss is FailureKind.CUT_OFF:
            self._replica_pool.reconnect(node, at_s, stays=node in self.ordered)
        elif loss is FailureKind.DRAINED and node in self.ordered:
            self._replica_pool.start(node, at_s)
        self._replicas_changed(at_s)

    def links_changed(self) -> None:
        """Update the delays between nodes; the running batch keeps its timeline."""
        self._replica_pool.links_changed()

    def step(self) -> None:
        """Execute the next event: a trigger, the end of a batch, or the executor that a batch waits for."""
        at_s, running = self.next_s, self._running
        if running is None:
            self._trigger(at_s)
        elif running.timeline is None or running.period is None:
            self._work(running, self._replica_pool.period_at(at_s), at_s)
        else:
            self._finish(running, running.period, running.timeline, at_s)

    # Batches

    def _trigger(self, at_s: float) -> None:
        offered_rows = self._stream.offered_rows(at_s)
        waiting_rows = int(offered_rows - self._done_rows)
        if waiting_rows < 1 or (waiting_rows < self.physics.min_rows and not self._is_delayed(at_s)):
            self._idles.note(at_s)
            self.next_s = self._tick_s(at_s)
            return
        period = self._replica_pool.period_at(at_s)
        cap_rows = self.operator.batch_rows(len(period.members) or 1)
        rows = waiting_rows if cap_rows is None or waiting_rows < cap_rows else cap_rows
        running = self._running = _Running(at_s, rows, offered_rows, cap_rows)
        self._work(running, period, at_s)

    def _work(self, running: _Running, period: MembershipPeriod, at_s: float) -> None:
        if not period.members:
            running.period = running.timeline = None
            self.next_s = period.until_s
            return
        physics = self._physics_at(at_s)
        timeline = run_batch(
            physics,
            period.executor_set,
            running.rows,
            cold_s=() if period.are_warm else period.cold_s(),
            batch_factor=next(self._batch_factors),
            task_factors=self._task_factors,
            first_slot=int(self._slot_draws.random() * len(period.executor_set.paces))
            if period.random_first_slot
            else 0,
        )
        timeline.seconds += self._extra_s
        self._extra_s = 0.0
        running.worked_from_s, running.period, running.timeline = at_s, period, timeline
        self.next_s = at_s + timeline.seconds
        self._work_schedule.plan(at_s, self.next_s, timeline.work_s, timeline.waiting_s)

    def _physics_at(self, at_s: float) -> SparkPhysics:
        for from_s, until_s, physics in self._cost_changes:
            if from_s <= at_s < until_s:
                return physics
        return self.physics

    def _is_delayed(self, at_s: float) -> bool:
        """Return whether the source has waited for more rows for as long as it may."""
        last_s = self.batches[-1].ended_at_s if self.batches else 0.0
        return at_s - last_s >= self.physics.max_trigger_delay_s

    def _finish(self, running: _Running, period: MembershipPeriod, timeline: BatchTimeline, at_s: float) -> None:
        from_row = self._done_rows
        self._done_rows = until_row = from_row + running.rows
        event_from_s, event_until_s = self._stream.event_span(from_row, until_row)
        self._stream.forget(until_row)
        output_rows = self._emit(running.rows, at_s, event_from_s, event_until_s)
        nodes = workers = self._replica_pool.period_at(at_s).nodes
        if nodes != period.nodes or 0 in timeline.tasks:
            slots = zip(period.executor_set.members, timeline.tasks, strict=True)
            worked = {period.nodes[member] for member, tasks in slots if tasks}
            workers = tuple(node for node in nodes if node in worked)
        self.batches.append(
            Batch(
                batch_id=self._number,
                ended_at_s=at_s,
                rows=running.rows,
                seconds=at_s - running.begun_s,
                nodes=nodes,
                workers=workers,
                trigger_s=self.physics.trigger_s,
                cap_rows=running.cap_rows,
                offered_rows_total=running.offered_rows - self._counted_from_rows,
                backlog_rows=running.offered_rows - until_row,
                output_rows=output_rows,
                source_partitions=self.physics.partitions or None,
                tasks=max(sum(timeline.tasks), self.physics.state_partitions),
            )
        )
        self._done.append(FinishedBatch(period.executor_set, timeline, running.rows))
        self._number += 1
        if len(self.batches) == 2 * BATCHES_KEPT:
            del self.batches[:BATCHES_KEPT]
        if not period.are_warm:
            self._replica_pool.worked(period)
        self._running = None
        due_s = self._tick_s(running.begun_s)
        self.next_s = due_s if due_s > at_s else at_s

    def _lose(self, running: _Running, node: str, at_s: float) -> None:
        period, timeline = running.period, running.timeline
        if period is None or timeline is None or node not in period.executor_set.nodes:
            return
        able = [index for index, replica in enumerate(period.members) if replica in self._replica_pool]
        if not able:
            self._work_schedule.cut(at_s)
            self._work(running, self._replica_pool.period_at(at_s), at_s)
            return
        after = timeline_after_loss(
            timeline,
            self.physics,
            period.executor_set,
            lost=period.executor_set.nodes.index(node),
            able=able,
            elapsed_s=at_s - running.worked_from_s,
        )
        self._change_timeline(running, timeline, after, at_s)

    def _change_timeline(self, running: _Running, before: BatchTimeline, after: BatchTimeline, at_s: float) -> None:
        """Change the timeline of a running batch from now on."""
        left_work_s, left_waiting_s = self._work_schedule.cut(at_s)
        running.timeline = after
        self.next_s = running.worked_from_s + after.seconds
        self._work_schedule.plan(at_s, self.next_s, left_work_s + after.work_s - before.work_s, left_waiting_s)

    def _driver_failed(self, at_s: float) -> None:
        self.driver_is_up = False
        self._work_schedule.cut(at_s)
        self._running = None  # uncommitted rows are read again
        self.next_s = math.inf
        self._replica_pool.pause()

    def _replicas_changed(self, at_s: float) -> None:
        self._work_schedule.keep(len(self._replica_pool), at_s)
        if self._running is not None and self._running.timeline is None:
            self.next_s = self._replica_pool.period_at(at_s).until_s

    def _tick_s(self, after_s: float) -> float:
        trigger_s = self.physics.trigger_s
        return (math.floor(after_s / trigger_s + 1e-9) + 1) * trigger_s
