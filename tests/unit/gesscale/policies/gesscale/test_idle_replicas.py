"""gesscale and replicas that get no work."""

from dataclasses import replace

import pytest
from edge import NODES, known, operator
from gesscale_streams import decide, stream

from gesscale.model.decision import Reason
from gesscale.model.observation import NodeReading, OperatorReading
from gesscale.model.offered import OfferedPoint
from gesscale.model.order import Order
from gesscale.policies.details import at_useful
from gesscale.policies.gesscale import details
from gesscale.policies.gesscale.analysis.demand import LoadHistory
from gesscale.policies.gesscale.analysis.idleness import IdleMemory
from gesscale.policies.gesscale.analysis.limits import WorkLimit, without_workless, work_limit
from gesscale.ports import ClusterState, Node


def on(*nodes: str) -> ClusterState:
    return ClusterState(nodes={name: Node(name=name) for name in NODES}, placements={"op": nodes})


def test_a_replica_that_no_batch_has_listed_is_not_idle() -> None:
    """It was pulled, started or cut off until now: the order that names it was given up, and rows wait."""
    order = Order(placement=("hub", "near"), at_s=500.0, before=1, downtime_s=20.0, settled_at_s=800.0, given_up=True)
    seen = replace(stream(350, backlog=15000), saturated_share=1.0)
    _, plan = decide(seen, knowledge=known(orders={"op": (order,)}), cluster=on("hub", "near"))
    assert (plan.reason, plan.change) == (Reason.RECONFIGURING, None)


def test_no_replica_is_ordered_beyond_the_useful_ones() -> None:
    # 350 rows/s need four replicas of 100; three get work.
    _, plan = decide(replace(stream(350, backlog=15000), useful_replicas=3))
    assert (plan.reason, len(plan.placement)) == (Reason.OVERLOADED, 3)
    full = replace(stream(350, ("hub", "mid", "near"), backlog=15000), useful_replicas=3)
    _, plan = decide(full)
    assert (plan.reason, plan.change) == (Reason.PARTITION_LIMIT, None)
    assert plan.detail.endswith(at_useful(full))


@pytest.mark.parametrize(("stale", "kept"), [("", ("hub", "near")), ("2 h old", ("far", "hub", "near"))])
def test_the_farthest_replica_without_work_is_removed(stale: str, kept: tuple[str, ...]) -> None:
    seen = replace(stream(250, ("far", "hub", "near"), backlog=15000), useful_replicas=2)
    _, plan = decide(seen, knowledge=known(stale=stale))
    assert plan.placement == kept
    assert (plan.reason is Reason.IDLE_REPLICA) == (len(kept) == 2)


def given_back(at_s: float, *placement: str) -> Order:
    return Order(placement=placement, at_s=at_s, before=2, reason="IdleReplica", downtime_s=10.0, settled_at_s=1.0)


@pytest.mark.parametrize(("ago_s", "reason"), [(600.0, Reason.IDLE_LIMIT), (4000.0, Reason.OVERLOADED)])
def test_idle_replica_is_not_added_again_within_an_hour(ago_s: float, reason: Reason) -> None:
    seen = stream(350, backlog=15000)
    gone = given_back(seen.at_s - ago_s, "hub")
    _, plan = decide(seen, knowledge=known(orders={"op": (gone,)}))
    assert plan.reason is reason
    assert (details.limited_by_idleness(1, gone.at_s + 3600) in plan.detail) == (reason is Reason.IDLE_LIMIT)


def test_idleness_is_forgotten_with_another_placement_but_not_with_a_trial_of_one_more() -> None:
    seen = stream(350, minutes=10, backlog=15000)
    load = LoadHistory().updated(seen.offered_points, 60.0)
    gone = given_back(1000.0, "hub", "near")

    def limit(*newer: str) -> WorkLimit | None:
        order = Order(placement=newer, at_s=1100.0, before=2, reason="ReplicaLost", downtime_s=1.0)
        return work_limit(operator(), seen, [order, gone], load, 60.0)

    assert limit("hub", "mid", "near") is not None
    assert limit("hub", "mid") is None
    assert limit("hub") is None


def test_idleness_is_forgotten_when_the_usable_nodes_change() -> None:
    memory = IdleMemory.of(1000.0, ("hub", "mid", "near"))
    assert not memory.updated(IdleMemory.of(1000.0, ("hub", "mid", "near"))).ended
    left = memory.updated(IdleMemory.of(1000.0, ("hub", "near")))
    back = left.updated(IdleMemory.of(1000.0, ("hub", "mid", "near")))
    assert left.ended
    assert back.ended  # a node has left since
    newer = IdleMemory.of(2000.0, ("hub", "near"))
    assert back.updated(newer) == newer
    seen = stream(350, minutes=10, backlog=15000)
    load = LoadHistory().updated(seen.offered_points, 60.0)
    orders = [given_back(1000.0, "hub")]
    held, over = (work_limit(operator(), seen, orders, load, 60.0, each) for each in (memory, left))
    assert (held is None, over is None) == (False, True)


WORKS = NodeReading(throughput_rows_per_s=100.0, busy_share=0.8)
IDLE = NodeReading(throughput_rows_per_s=0.0, busy_share=0.0)


def two_of_three(load: float = 180.0, **batch: object) -> OperatorReading:
    """Return three replicas, of which two do all the work."""
    seen = stream(load, ("hub", "mid", "near"))
    batches = tuple(replace(each, **batch) for each in seen.batches)
    return replace(seen, batches=batches, by_node={"hub": WORKS, "near": WORKS, "mid": IDLE})


def test_a_replica_without_rows_is_removed_though_no_row_waits() -> None:
    _, plan = decide(two_of_three(tasks=None))
    assert (plan.reason, plan.placement) == (Reason.IDLE_REPLICA, ("hub", "near"))
    assert plan.detail == details.idle(["mid"])
    _, plan = decide(two_of_three(tasks=3))
    assert plan.reason is Reason.IDLE_REPLICA


@pytest.mark.parametrize(
    "seen",
    [
        two_of_three(load=2.0),  # 20 rows a batch for three
        two_of_three(tasks=2),  # fewer tasks than replicas, while no row waits
        # it reads no rows, but works after the shuffle
        replace(two_of_three(), by_node={"hub": WORKS, "near": WORKS, "mid": replace(IDLE, busy_share=0.3)}),
        replace(two_of_three(), by_node={}),  # unknown
        # the replica took part in the last two batches only
        replace(
            two_of_three(),
            batches=(
                *(replace(each, nodes=("hub", "near")) for each in two_of_three().batches[:-2]),
                *two_of_three().batches[-2:],
            ),
        ),
    ],
    ids=["few rows", "few tasks", "shuffle", "unknown", "new"],
)
def test_a_replica_that_may_yet_get_rows_stays(seen: OperatorReading) -> None:
    _, plan = decide(seen)
    assert plan.reason is not Reason.IDLE_REPLICA


def test_the_minimum_is_kept_though_replicas_are_idle() -> None:
    seen = two_of_three(tasks=None)
    kept = without_workless(seen.placement, operator(min_replicas=3), seen, known())
    assert kept is None


@pytest.mark.parametrize("reason", [Reason.IDLE_REPLICA, Reason.SINK_LIMIT, Reason.HOT_PARTITION])
def test_a_limit_ends_with_more_partitions_or_load(reason: Reason) -> None:
    seen = stream(350, minutes=10, backlog=15000)
    gone = Order(placement=("hub",), at_s=1100.0, before=2, reason=reason, downtime_s=10.0, settled_at_s=1110.0)
    load = LoadHistory().updated(seen.offered_points, 60.0)

    def limit(reading: OperatorReading, load: LoadHistory = load) -> WorkLimit | None:
        return work_limit(operator(), reading, [gone], load, 60.0)

    held = limit(seen)
    assert held is not None
    assert (held.replicas, held.reason) == (1, Reason.IDLE_LIMIT if reason is Reason.IDLE_REPLICA else reason)
    partitions = [replace(each, source_partitions=2 if each.batch_id < 40 else 4) for each in seen.batches]
    assert limit(replace(seen, batches=tuple(partitions))) is None
    # 350 rows/s until 1,300 s, then 500.
    more = [OfferedPoint(at_s, 350 * min(at_s, 1300.0) + 500 * max(0.0, at_s - 1300)) for at_s in range(900, 1600, 10)]
    assert limit(seen, LoadHistory().updated(more, 60.0)) is None
    # From 1,300 s on the same replica does twice as much.
    faster = [replace(each, seconds=12.0 if each.ended_at_s < 1300 else 6.0, trigger_s=5.0) for each in seen.batches]
    assert limit(replace(seen, batches=tuple(faster))) is None


def test_one_more_replica_is_allowed_after_an_hour() -> None:
    seen = stream(350, minutes=3, backlog=15000)
    gone = Order(placement=("hub",), at_s=seen.at_s - 3700.0, before=2, reason=Reason.SINK_LIMIT, downtime_s=10.0)
    trial = Order(placement=("hub", "near"), at_s=seen.at_s - 60.0, before=1, reason=Reason.OVERLOADED, downtime_s=1.0)
    limits = [
        work_limit(operator(), seen, orders, LoadHistory().updated(seen.offered_points, 60.0), 60.0)
        for orders in ([gone], [trial, gone], [trial.model_copy(update={"at_s": seen.at_s - 700.0}), gone])
    ]
    assert [each and each.replicas for each in limits] == [2, 2, None]
