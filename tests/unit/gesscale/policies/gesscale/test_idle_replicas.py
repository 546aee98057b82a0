"""gesscale and replicas that get no work."""

from dataclasses import replace

import pytest
from edge import NODES, known
from gesscale_streams import decide, stream

from gesscale.model.decision import Reason
from gesscale.model.order import Order
from gesscale.policies.details import at_useful
from gesscale.policies.gesscale import details
from gesscale.ports import ClusterState, Node


def given_up(placement: tuple[str, ...], at_s: float = 500.0) -> Order:
    return Order(placement=placement, at_s=at_s, before=1, downtime_s=20.0, settled_at_s=800.0, given_up=True)


def on(*nodes: str) -> ClusterState:
    return ClusterState(nodes={name: Node(name=name) for name in NODES}, placements={"op": nodes})


def test_idle_replica_is_removed_during_a_backlog() -> None:
    seen = replace(stream(350, backlog=15000), saturated_share=1.0)
    _, plan = decide(seen, knowledge=known(orders={"op": (given_up(("hub", "near")),)}), cluster=on("hub", "near"))
    assert (plan.reason, plan.placement) == (Reason.IDLE_REPLICA, ("hub",))
    assert plan.detail == details.idle(["near"])


def test_without_backlog_costs_decide_on_an_idle_replica() -> None:
    orders = {"op": (given_up(("hub", "near")),)}
    _, plan = decide(stream(60), knowledge=known(orders=orders), cluster=on("hub", "near"))
    assert (plan.reason, plan.placement) == (Reason.UNDERUSED, ("hub",))


def test_unsettled_order_is_waited_for() -> None:
    pending = Order(placement=("hub", "near"), at_s=1100.0)
    seen = replace(stream(350, backlog=15000), saturated_share=1.0)
    _, plan = decide(seen, knowledge=known(orders={"op": (pending,)}), cluster=on("hub", "near"))
    assert plan.reason is Reason.RECONFIGURING


def test_no_replica_is_ordered_beyond_the_useful_ones() -> None:
    # 350 rows/s need four replicas of 100; three get work.
    _, plan = decide(replace(stream(350, backlog=15000), useful_replicas=3))
    assert (plan.reason, len(plan.placement)) == (Reason.OVERLOADED, 3)
    full = replace(stream(350, ("hub", "mid", "near"), backlog=15000), useful_replicas=3)
    _, plan = decide(full)
    assert (plan.reason, plan.change) == (Reason.AT_MAX_REPLICAS, None)
    assert plan.detail.endswith(at_useful(full))


@pytest.mark.parametrize(("stale", "kept"), [("", ("hub", "near")), ("2 h old", ("far", "hub", "near"))])
def test_the_farthest_replica_without_work_is_removed(stale: str, kept: tuple[str, ...]) -> None:
    seen = replace(stream(250, ("far", "hub", "near"), backlog=15000), useful_replicas=2)
    _, plan = decide(seen, knowledge=known(stale=stale))
    assert plan.placement == kept
    assert (plan.reason is Reason.IDLE_REPLICA) == (len(kept) == 2)


@pytest.mark.parametrize(("ago_s", "reason"), [(600.0, Reason.AT_MAX_REPLICAS), (4000.0, Reason.OVERLOADED)])
def test_idle_replica_is_not_added_again_within_an_hour(ago_s: float, reason: Reason) -> None:
    seen = stream(350, backlog=15000)
    gone = Order(
        placement=("hub",), at_s=seen.at_s - ago_s, before=2, reason="IdleReplica", downtime_s=10.0, settled_at_s=1.0
    )
    _, plan = decide(seen, knowledge=known(orders={"op": (gone,)}))
    assert plan.reason is reason
    assert (details.limited_by_work(1) in plan.detail) == (reason is Reason.AT_MAX_REPLICAS)
