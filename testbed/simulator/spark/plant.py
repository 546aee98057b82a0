"""Simulates operators on Spark Structured Streaming: separate queries, connected by unbounded topics."""

import math
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from gesscale.common.errors import Problem
from gesscale.errors import ClusterError
from gesscale.model.decision import Change, Outcome, OutcomeStatus
from gesscale.model.observation import Batch
from gesscale.ports import ClusterState
from testbed.scoring.sample import Completion
from testbed.simulator.fog import Fog
from testbed.simulator.plant import Efforts, Tally
from testbed.simulator.scene import FailureKind, Scene
from testbed.simulator.spark.batch import ExecutorSet, mean_batch_s
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.query import Emit, Query
from testbed.simulator.stream import SourceStream, Stream, Topic

#: Losses of a node on which executors work.
_WORKING = (None, FailureKind.UNREPORTED)
#: Rows of a batch of a query without a cap.
UNCAPPED_ROWS = 1_000_000_000


class SparkPlant:
    """A `testbed.simulator.plant.Plant` of Spark operators on fog nodes.

    Executors join and leave a running query. A new one works from the first batch that begins after its start, in which
    it is cold. A removed one finishes its tasks. A failed node loses its executors; their unfinished tasks run again
    elsewhere. If it is the node of the driver, the query stops until the node is back and the query has restarted.

    Raises
    ------
    InputError
        If the latency map lacks a node.
    """

    def __init__(self, scene: Scene, physics: Mapping[str, SparkPhysics], *, seed: int) -> None:
        self._scene = scene
        self._fog = Fog(scene.nodes, scene.delays, scene.failures, scene.slowdowns)
        self._now_s = 0.0
        self._next_fault_s = self._fog.next_change_s(-math.inf)
        self._losses: dict[str, FailureKind | None] = dict.fromkeys(scene.nodes)
        self._completions: list[Completion] = []
        streams: dict[str, Stream] = {
            name: SourceStream(scene.workloads[name]) if name in scene.workloads else Topic()
            for name in scene.workflow.operators
        }
        self._queries = {
            name: Query(
                operator,
                physics[name],
                fog=self._fog,
                stream=streams[name],
                emit=self._emitter(name, streams),
                placement=scene.initial[name],
                reach_s=scene.metrics.reach_s,
                cost_changes=scene.cost_changes,
                seed=np.random.SeedSequence([seed, zlib.crc32(name.encode())]),
            )
            for name, operator in scene.workflow.operators.items()
        }
        self._listed = tuple(self._queries.values())

    def advance(self, until_s: float) -> None:
        """Advance time to an instant; an instant in the past does nothing."""
        alone = self._listed[0] if len(self._listed) == 1 else None
        while True:
            query = alone or min(self._listed, key=lambda each: each.next_s)
            next_s = query.next_s
            if self._next_fault_s <= next_s and self._next_fault_s <= until_s:
                self._take_faults(self._next_fault_s)
            elif next_s <= until_s:
                query.step()
            else:
                break
        self._now_s = max(self._now_s, until_s)

    def order(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Begin to change the placement and return at once.

        Raises
        ------
        ClusterError
            If the operator or a node does not exist, the driver is down, or all nodes to add are down and none is
            removed.
        """
        query = self._query(operator)
        now_s = self._now_s
        self._check(query, placement)
        change = Change.between(query.placement, placement)
        if change is None:
            return Outcome(status=OutcomeStatus.NOTHING_TO_DO)
        down = [node for node in change.add if not self._fog.is_up(node, now_s)]
        added = tuple(node for node in change.add if node not in down)
        problem = Problem("simulated-node-down", {"operator": operator, "nodes": down}) if down else None
        if problem is not None and not (added or change.remove):
            raise ClusterError([problem])
        query.order(added, change.remove, now_s)
        query.ordered = frozenset(placement)
        return Outcome(
            status=OutcomeStatus.PARTLY_APPLIED if down else OutcomeStatus.APPLIED,
            added=added,
            removed=change.remove,
            detail="" if problem is None else str(problem),
        )

    def state(self) -> ClusterState:
        """Return the nodes, and the replicas that work or start, without operators whose driver is down."""
        now_s = self._now_s
        closed = {node for node, loss in self._losses.items() if loss is not None}
        placements, starting = {}, {}
        for name, query in self._queries.items():
            if query.driver_is_up:
                ready = query.ready(now_s)
                placements[name] = tuple(node for node in ready if node not in closed)
                starting[name] = tuple(node for node in query.placement if node not in {*ready, *closed})
        ordered = {name: self._queries[name].ordered for name in placements}
        return self._fog.cluster_state(now_s, placements, starting, ordered)

    def batches(self, operator: str) -> Sequence[Batch]:
        """Return the recent batches of an operator, oldest first, some hundreds; read-only."""
        return self._query(operator).batches

    def efforts(self, operator: str, batches: Sequence[Batch]) -> Efforts:
        """Return a function for the work of each executor of an operator in some of its recent batches."""
        return self._query(operator).efforts(batches)

    def last_progress_at_s(self, operator: str, by_s: float) -> float | None:
        """Return when a query last reported a batch or that it idles, up to an instant; None if never."""
        return self._query(operator).last_progress_at_s(by_s)

    def completions(self) -> Sequence[Completion]:
        """Return and forget the rows that have reached a sink of the workflow since the last call."""
        done, self._completions = self._completions, []
        return done

    def tally(self, operator: str) -> Tally:
        """Return an operator's counters now."""
        return self._query(operator).tally(self._now_s)

    def mst_rows_per_s(self, operator: str, placement: Sequence[str]) -> float:
        """Return the true MST of a placement: full batches one after the other, without noise, warm.

        Notes
        -----
        B / max(T(B), trigger); without a cap the limit of large batches. Delays are those of the latency map.
        """
        if not placement:
            return 0.0
        query = self._query(operator)
        rows = query.operator.batch_rows(len(placement)) or UNCAPPED_ROWS
        physics = query.physics
        executor_set = ExecutorSet.of(
            sorted(placement), query.operator.driver_node, self._fog, slots_each=physics.slots_per_replica
        )
        return rows / max(mean_batch_s(physics, executor_set, rows), physics.trigger_s)

    def _query(self, operator: str) -> Query:
        if operator not in self._queries:
            raise ClusterError("simulated-operator-unknown", operator=operator, known=list(self._queries))
        return self._queries[operator]

    def _check(self, query: Query, placement: tuple[str, ...]) -> None:
        name = query.operator.name
        unknown = sorted(set(placement) - set(self._scene.nodes))
        if unknown:
            raise ClusterError("simulated-node-unknown", operator=name, nodes=unknown)
        if not query.driver_is_up:
            raise ClusterError("simulated-driver-down", operator=name, node=query.operator.driver_node)

    def _take_faults(self, at_s: float) -> None:
        self._now_s = at_s
        self._next_fault_s = self._fog.next_change_s(at_s)
        for query in self._listed:
            query.links_changed()
        for node, before in self._losses.items():
            loss = self._losses[node] = self._fog.loss(node, at_s)
            if loss is before:
                continue
            for query in self._listed:
                if before not in _WORKING:
                    query.node_returned(node, at_s, before)
                if loss not in _WORKING:
                    query.node_failed(node, at_s, loss)

    def _emitter(self, name: str, streams: Mapping[str, Stream]) -> Emit:
        """Return a function that forwards the rows of an operator: to its topics, or out of the workflow."""
        outputs = [streams[consumer] for consumer in self._scene.workflow.downstream(name)]
        topics = [stream for stream in outputs if isinstance(stream, Topic)]
        ratio = self._scene.selectivity.get(name, 1.0)
        read = sent = 0

        def emit(rows: int, at_s: float, event_from_s: float, event_until_s: float) -> int:
            nonlocal read, sent
            read += rows
            emitted = math.floor(read * ratio + 1e-9) - sent
            sent += emitted
            for topic in topics:
                topic.publish(emitted, at_s, event_from_s, event_until_s)
            if not topics:
                self._completions.append(Completion(rows, event_from_s, event_until_s, at_s))
            return emitted

        return emit
