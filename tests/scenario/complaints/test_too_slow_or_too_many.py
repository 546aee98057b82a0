"""What users of other scalers saw when the load rose: too slow, too many, all at once: docs/evidence/complaints.md."""

import math
from dataclasses import replace

import pytest
from complaint_world import changes, reasons, replicas_at, run, under
from spark_scenes import QUIET

from gesscale.loop import ControlLoop
from gesscale.model.decision import Outcome, OutcomeStatus, Reason
from gesscale.model.observation import Batch, NodeReading, OperatorReading, WorkflowObservation
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.plan.change_budget import ChangeBudget
from gesscale.policies.details import at_useful
from gesscale.policies.gesscale import details
from gesscale.ports import ClusterState

JUMP_S = 600.0


def test_a_jump_is_answered_with_all_replicas_that_it_needs() -> None:
    """keda#5171: all messages are ready, "but KEDA only scales up one pod at first", two minutes later the others."""
    load = [300] * 10 + [2000] * 8
    # 2000 / 488 = 4.1, so five; the paper's Gesscale adds one a step, and waits until each has settled.
    (first, *_) = changes(run(under(load)), JUMP_S)
    assert first.at_s == JUMP_S + 60
    assert len(first.plan.placement) >= 5
    paper = changes(run(under(load), "gesscale-2021"), JUMP_S, JUMP_S + 480)
    assert {len(each.outcome.added) for each in paper} == {1}


def test_starting_replica_is_not_ordered_again() -> None:
    """keda#1323: pods that had not started took no messages, and each poll ordered as many again."""
    # 800 rows/s need two; the second registers 200 s after its order.
    notes = run(under([800] * 12), physics=replace(QUIET, start_s=200.0))
    first, *later = changes(notes)
    assert first.at_s == 60
    assert reasons(notes, 61, 260) == {Reason.RECONFIGURING}
    assert all(each.at_s >= 260 for each in later)
    # By 300 s, 74,000 rows wait; six drain them within a minute or so.
    assert max(each.supply_replicas for each in notes.samples["op"]) <= 6


def test_slow_replicas_are_not_removed_while_rows_wait() -> None:
    """numaflow#1853: with slow starts and a massive backlog, it "would oscillate between scaling up and down"."""
    slow = replace(QUIET, start_s=60.0, cold_min_s=60.0, cold_max_s=60.0)
    notes = run(under([300] * 5 + [1500] * 20), physics=slow)
    removals = [each for each in changes(notes) if each.outcome.removed]
    # No more may wait than is offered in the objective, one minute: 1500 x 60 rows.
    assert all(each.analysis.reading.backlog_rows <= 90_000 for each in removals)
    assert len(changes(notes)) <= 4
    assert replicas_at(notes, 1450) in {3, 4}  # 1500 / 488 = 3.1


class IdleExecutor:
    """Cluster and metrics with an executor on one node that gets no task; each batch lists it, as Spark does."""

    def __init__(self, loop: ControlLoop, node: str) -> None:
        self._cluster, self._metrics, self._node = loop.cluster, loop.metrics, node
        self._now_s = 0.0
        self._since_s = math.inf

    def state(self) -> ClusterState:
        state = self._cluster.state()
        held = (self._node,) if self._since_s < math.inf else ()
        placements = {name: tuple(sorted((*nodes, *held))) for name, nodes in state.placements.items()}
        return replace(state, placements=placements)

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        self._since_s = self._now_s if self._node in placement else math.inf
        self._cluster.apply(operator, tuple(node for node in placement if node != self._node))
        return Outcome(status=OutcomeStatus.APPLIED, added=(self._node,))

    def observe(self, now_s: float) -> WorkflowObservation:
        self._now_s = now_s
        seen = self._metrics.observe(now_s)
        return replace(seen, readings={name: self._listed(each) for name, each in seen.readings.items()})

    def _listed(self, reading: OperatorReading) -> OperatorReading:
        """Return the reading as a driver with one more live executor reports it."""
        batches = tuple(self._with_executor(each) for each in reading.batches)
        if batches[-1] is reading.batches[-1]:
            return reading
        idle = NodeReading(throughput_rows_per_s=0.0, busy_share=0.0)
        return replace(
            reading,
            placement=batches[-1].nodes,
            batches=batches,
            warm_batches=tuple(self._with_executor(each) for each in reading.warm_batches),
            by_node={**reading.by_node, self._node: idle},
        )

    def _with_executor(self, batch: Batch) -> Batch:
        """Return the batch with one more executor: the source cuts a task for its slot too, which others run."""
        if batch.ended_at_s <= self._since_s:
            return batch
        return replace(batch, nodes=tuple(sorted((*batch.nodes, self._node))), tasks=(batch.tasks or 0) + 1)


def test_idle_replica_is_named_and_no_more_are_ordered() -> None:
    """dapr#8248: new pods "remain idle", and "no error messages or warnings" explain it."""

    def idle(loop: ControlLoop) -> ControlLoop:
        executor = IdleExecutor(loop, "n1")
        return replace(loop, cluster=executor, metrics=executor)

    notes = run(under([800] * 15), wired=idle)
    order, given_up = changes(notes)
    assert order.outcome.added == ("n1",)
    # Three batches of 12 s with rows for both, and none of them for n1: it goes, and for an hour none is added.
    assert given_up.plan.reason is Reason.IDLE_REPLICA
    assert given_up.plan.placement == ("n0",)
    assert given_up.plan.detail == details.idle(["n1"])
    assert given_up.at_s <= order.at_s + 120
    last = next(each for each in reversed(notes.decisions) if each.at_s <= 840)  # the load ends at 900 s
    assert last.plan.reason is Reason.IDLE_LIMIT
    assert last.plan.detail.endswith(details.limited_by_idleness(1, given_up.at_s + 3600))


@pytest.mark.parametrize("policy", ["gesscale", "gesscale-2021", "ds2", "hpa-cpu"])
def test_no_replica_is_added_beyond_the_partitions(policy: str) -> None:
    """flink-kubernetes-operator#1153: the number of partitions was not known, and replicas read nothing."""
    # 1500 rows/s need four replicas of 488, but two partitions feed two.
    notes = run(under([1500] * 20), policy, physics=replace(QUIET, partitions=2))
    assert max(each.supply_replicas for each in notes.samples["op"]) == 2
    last = next(each for each in reversed(notes.decisions) if each.at_s <= 1140)  # the load ends at 1200 s
    assert last.plan.reason is Reason.PARTITION_LIMIT
    assert last.analysis.reading.useful_replicas == 2


def test_replicas_beyond_the_partitions_are_removed() -> None:
    """dapr#8248, on Spark: every executor is listed with each batch, also those that get no rows."""
    notes = run(under([900] * 15, initial={"op": ("n0", "n1", "n2", "n3")}), physics=replace(QUIET, partitions=2))
    (order,) = changes(notes)
    assert order.plan.reason is Reason.IDLE_REPLICA
    assert (order.at_s, len(order.plan.placement)) == (60, 2)
    assert order.plan.detail == details.surplus(4, at_useful(order.analysis.reading))


def test_change_budget_limits_concurrent_changes() -> None:
    """flink-kubernetes-operator#549: many jobs rescale at once, and the cluster has no room for all their pods."""
    names, base = ("a", "b", "c"), under([200] * 3 + [800] * 8)
    scene = replace(
        base,
        workflow=Workflow(
            [
                Operator(name=name, driver_node="n0", max_replicas=3, cap=BatchCap(rows_per_replica=6000))
                for name in names
            ]
        ),
        workloads=dict.fromkeys(names, base.workloads["op"]),
        initial=dict.fromkeys(names, ("n0",)),
    )
    free = run(scene)
    assert {each.operator for each in changes(free, 180, 241)} == set(names)
    held = run(scene, wired=lambda loop: replace(loop, budget=ChangeBudget(1)))
    steps = [each.at_s for each in changes(held, 180)]
    assert len(steps) == len(set(steps))  # one operator a step
    waiting = [each for each in held.decisions if each.plan.reason is Reason.CHANGE_BUDGET_SPENT]
    assert len(waiting) >= 2  # two of the three, in the first step
    # A change settles within a step, so in a few steps each of the three has had its turn.
    assert {each.operator for each in changes(held, 180, 480)} == set(names)
