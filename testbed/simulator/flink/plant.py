"""Simulates streaming jobs on Flink: restarts, backpressure, and the work of each replica."""

import math
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from gesscale.errors import ClusterError
from gesscale.model.decision import Change, Outcome, OutcomeStatus
from gesscale.model.observation import Batch
from gesscale.ports import ClusterState
from testbed.scoring.sample import Completion
from testbed.simulator.flink.physics import FlinkPhysics, capacity, round_trips_ms
from testbed.simulator.flink.task import Task, fair_share
from testbed.simulator.fog import Fog
from testbed.simulator.plant import Efforts, Tally
from testbed.simulator.scene import Scene
from testbed.simulator.stream import SourceStream, Topic

_ROUNDING_S = 1e-6


class FlinkPlant:
    """A workflow that runs as one Flink job; fulfils `testbed.simulator.plant.Plant`.

    Time advances in ticks. An order or a failure within a tick takes effect at its end: rows are processed until a
    savepoint is complete or a loss is noticed. There are no micro-batches: each tick is reported as a batch without a
    cap whose trigger interval is the tick and whose duration is its busy part. Operators on one node do not compete.

    Parameters
    ----------
    tick_s
        Length of a tick, seconds.
    """

    def __init__(self, scene: Scene, physics: Mapping[str, FlinkPhysics], *, seed: int, tick_s: float = 10.0) -> None:
        self._scene = scene
        self._tick_s = tick_s
        self._fog = Fog(scene.nodes, scene.delays, scene.failures, scene.slowdowns)
        workflow = scene.workflow
        self._consumers = {name: workflow.downstream(name) for name in workflow.operators}
        self._producers = {name: workflow.upstream(name) for name in workflow.operators}
        self._topics = {name: Topic() for name, producers in self._producers.items() if producers}
        self._joins = any(len(producers) > 1 for producers in self._producers.values())
        kept_ticks = max(16, math.ceil(scene.metrics.history_s / tick_s))
        self._tasks = {
            name: Task(
                operator=workflow.operators[name],
                physics=physics[name],
                stream=self._topics[name] if name in self._topics else SourceStream(scene.workloads[name]),
                selectivity=scene.selectivity.get(name, 1.0),
                retention_s=scene.retention_s.get(name),
                placement=scene.initial[name],
                fog=self._fog,
                tick_s=tick_s,
                seed=seed,
                kept_ticks=kept_ticks,
            )
            for name in TopologicalSorter(self._producers).static_order()
        }
        self._completions: list[Completion] = []
        self._now_s = 0.0
        self._ticks = 0
        self._down: frozenset[str] = frozenset()
        self._next_fault_s = 0.0 if self._fog.has_faults else math.inf

    # Events

    def advance(self, until_s: float) -> None:
        """Advance time to an instant; an instant in the past does nothing."""
        while (begin_s := self._ticks * self._tick_s) <= until_s + _ROUNDING_S:
            if begin_s >= self._next_fault_s:
                self._take_faults(begin_s)
            end_s = (self._ticks + 1) * self._tick_s
            if end_s > until_s + _ROUNDING_S:
                break
            self._tick(begin_s, end_s)
            self._ticks += 1
        # A tick that ends within rounding of an instant is over by then.
        self._now_s = max(self._now_s, until_s, self._ticks * self._tick_s)

    def order(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Begin to restart the job on other nodes and return at once.

        Raises
        ------
        ClusterError
            If a node is unknown or down; nothing changes then.
        """
        if operator not in self._tasks:
            raise ClusterError("simulated-operator-unknown", operator=operator, known=list(self._tasks))
        task = self._tasks[operator]
        self._check_placement(task, placement)
        change = Change.between(task.placement, placement)
        if change is None:
            return Outcome(status=OutcomeStatus.NOTHING_TO_DO)
        task.count_replica_time(self._now_s)
        task.placement = tuple(sorted(placement))
        task.lost = ()
        from_s = math.ceil((self._now_s - _ROUNDING_S) / self._tick_s) * self._tick_s
        self._restart(task, from_s, from_s)
        return Outcome(status=OutcomeStatus.APPLIED, added=change.add, removed=change.remove)

    def _tick(self, from_s: float, until_s: float) -> None:
        for task in self._tasks.values():
            if lost := task.drop_unread(from_s):
                self._completions.append(Completion(lost, *task.event_span(lost), at_s=from_s, lost=True))
        able = {name: task.begin_tick(from_s) for name, task in self._tasks.items()}
        claims = self._claims(able, until_s) if self._joins else {}
        room = self._room(able, claims, from_s) if self._topics else {}
        left = {name: set(self._producers[name]) for name in self._topics}
        for name, task in self._tasks.items():
            consumers = self._consumers[name]
            for other in consumers:
                left[other].remove(name)
            limit = min(
                (fair_share(room[other], map(claims.__getitem__, left[other])) for other in consumers), default=math.inf
            )
            rows = 0.0 if task.is_down(from_s) else task.end_tick(able[name], limit, until_s)
            emitted = rows * task.selectivity
            for other in consumers:
                room[other] -= emitted
            if rows > 0:
                self._emit(task, rows, from_s, until_s)

    def _emit(self, task: Task, rows: float, from_s: float, until_s: float) -> None:
        first_s, last_s = task.event_span(rows)
        emitted = rows * task.selectivity
        if task.operator.name not in self._topics:
            task.emitted_at_s, task.emitted_lag_s = until_s, until_s - last_s
        consumers = self._consumers[task.operator.name]
        for name in consumers:
            self._topics[name].publish(emitted, until_s, first_s, last_s)
        if not consumers and emitted:
            self._completions.append(
                Completion(
                    rows=emitted, offered_from_s=first_s, offered_until_s=last_s, at_s=until_s, arrived_from_s=from_s
                )
            )

    def _claims(self, able: Mapping[str, float], until_s: float) -> dict[str, float]:
        """Return the rows that each operator could emit in a tick that ends then, without backpressure."""
        claims: dict[str, float] = {}
        for name, task in self._tasks.items():
            arriving = sum(claims[producer] for producer in self._producers[name])
            claims[name] = min(able[name], task.waiting_rows(until_s) + arriving) * task.selectivity
        return claims

    def _room(self, able: Mapping[str, float], claims: Mapping[str, float], at_s: float) -> dict[str, float]:
        """Return the rows that each downstream operator can receive in a tick.

        These are the free rows of its input buffers plus those that it takes out in the tick, which its own consumers
        may limit.
        """
        room: dict[str, float] = {}
        for name, task in reversed(self._tasks.items()):
            consumers = self._consumers[name]
            limit = min((self._share(name, other, room[other], claims) for other in consumers), default=math.inf)
            room[name] = task.room_rows(min(able[name], task.limited_to(limit)), at_s)
        return room

    def _share(self, producer: str, consumer: str, room: float, claims: Mapping[str, float]) -> float:
        others = (claims[name] for name in self._producers[consumer] if name != producer)
        return fair_share(room, others)

    # Faults and restarts

    def _take_faults(self, at_s: float) -> None:
        self._next_fault_s = self._fog.next_change_s(at_s)
        down = frozenset(name for name in self._fog.nodes if not self._fog.is_up(name, at_s))
        failed, returned = down - self._down, self._down - down
        self._down = down
        for task in self._tasks.values():
            task.update_capacity(at_s)
            task.count_replica_time(at_s)
            back = tuple(node for node in task.lost if node in returned)
            hit = not failed.isdisjoint((*task.placement, *task.working, task.operator.driver_node))
            if back:
                task.placement, task.lost = back, ()
            if hit:
                gone = tuple(node for node in task.placement if node in down)
                task.placement = tuple(node for node in task.placement if node not in down)
                if not task.placement:
                    task.lost = task.lost or gone
                for member in self._job_of(task):
                    member.lose_progress()
            if back or hit:
                self._restart(task, at_s, at_s + (task.physics.failure_detection_s if hit else 0.0))

    def _restart(self, task: Task, from_s: float, known_s: float) -> None:
        """Stop an operator, or the whole job, from an instant on; the restart begins when the failure is known."""
        job = self._job_of(task)
        ready_s = max(known_s, *(self._up_again_s(member.operator.driver_node, known_s) for member in job))
        lacks_nodes = any(not member.placement for member in job)
        until_s = math.inf if lacks_nodes else ready_s + task.draw_restart_s()
        for member in job:
            member.stop(from_s, until_s)

    def _job_of(self, task: Task) -> Sequence[Task]:
        return tuple(self._tasks.values()) if task.physics.restart_whole_job else (task,)

    def _up_again_s(self, node: str, at_s: float) -> float:
        while math.isfinite(at_s) and not self._fog.is_up(node, at_s):
            at_s = self._fog.next_change_s(at_s)
        return at_s

    def _check_placement(self, task: Task, placement: tuple[str, ...]) -> None:
        operator = task.operator.name
        for node in placement:
            if node not in self._fog.nodes:
                raise ClusterError("simulated-node-unknown", operator=operator, nodes=[node])
            if node not in task.placement and not self._fog.is_up(node, self._now_s):
                raise ClusterError("simulated-node-down", operator=operator, nodes=[node])
        if not placement:
            raise ClusterError("simulated-placement-empty", operator=operator)

    # State

    def state(self) -> ClusterState:
        """Return the nodes and the placements; during a restart, the future ones."""
        placements = {name: task.placement for name, task in self._tasks.items() if task.placement}
        return self._fog.cluster_state(self._now_s, placements)

    def batches(self, operator: str) -> Sequence[Batch]:
        """Return the recent ticks of an operator, oldest first; a stopped one reports none."""
        return self._tasks[operator].batches

    def efforts(self, operator: str, batches: Sequence[Batch]) -> Efforts:
        """Return a function for the work of the replicas of an operator in some recent ticks."""
        return self._tasks[operator].efforts(batches)

    def last_progress_at_s(self, operator: str, by_s: float) -> float | None:
        """Return when an operator last reported a tick up to an instant; None if never."""
        return self._tasks[operator].last_progress_at_s(by_s)

    def completions(self) -> Sequence[Completion]:
        """Return the rows that have reached a sink of the workflow, or were lost, since the last call."""
        completions, self._completions = self._completions, []
        return completions

    def tally(self, operator: str) -> Tally:
        """Return an operator's counters now; rows count at the end of their tick."""
        return self._tasks[operator].tally(self._now_s)

    def mst_rows_per_s(self, operator: str, placement: Sequence[str]) -> float:
        """Return the true MST of a placement: without noise, warm, by the delays of the map."""
        task, nodes = self._tasks[operator], sorted(placement)
        driver = task.operator.driver_node
        return capacity(
            task.physics,
            [self._fog.nodes[node].weight for node in nodes],
            round_trips_ms(task.physics, driver, nodes, self._fog.base_rtt_ms),
        ).rows_per_s
