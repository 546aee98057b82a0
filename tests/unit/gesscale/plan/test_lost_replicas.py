"""Replicas that are ordered and neither run nor start are restarted, or replaced on the best other node."""

from dataclasses import replace

import pytest
from edge import known, operator, reading

from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict
from gesscale.model.order import Order
from gesscale.plan.directives import Directive
from gesscale.plan.lost_replicas import restore_lost
from gesscale.ports import ClusterState, Node

STAYS = Plan(operator="op", reason=Reason.WITHIN_TARGET, before=("hub",), placement=("hub",))
NODES = {name: Node(name=name) for name in ("hub", "near", "mid", "far", "edge")}


def down(*names: str) -> dict[str, Node]:
    return {name: Node(name=name, problem="down") for name in names}


def restored(live, *, order=None, seen=("hub",), closed=(), plan=STAYS, most=5, pending=False, **state):
    """Return the plan for an operator whose replicas were seen on some nodes, and are on others now."""
    found = None if seen is None else reading(seen)
    analysis = Analysis(operator="op", verdict=Verdict.SAME, reason=Reason.WITHIN_TARGET, reading=found)
    now = ClusterState(**{"nodes": {**NODES, **down(*closed)}, "placements": {"op": live}, **state})
    orders = {}
    if order is not None:
        orders = {"op": (Order(at_s=900.0, placement=order, downtime_s=None if pending else 1.0),)}
    directives = {"op": Directive(operator=operator(max_replicas=most))}
    return restore_lost({"op": plan}, {"op": analysis}, directives, now, known(orders=orders))["op"]


def restarted(plan: Plan) -> tuple[str, ...] | None:
    return plan.placement if plan.reason is Reason.REPLICA_LOST else None


@pytest.mark.parametrize("pending", [False, True])
def test_a_replica_that_died_is_restarted_and_one_whose_node_left_is_replaced_by_the_nearest(pending: bool) -> None:
    assert restarted(restored(("hub",), order=("hub", "mid"), pending=pending)) == ("hub", "mid")
    # Of the free nodes near is 10 ms from hub, mid 50.
    assert restarted(restored(("hub",), order=("far", "hub"), closed=("far",), pending=pending)) == ("hub", "near")
    # Around far and hub, mid is 160 ms at most, near 190, edge 300.
    plan = restored(("far",), order=("far", "near"), closed=("near",), pending=pending)
    assert restarted(plan) == ("far", "mid")
    assert "near" in plan.detail
    assert "mid" in plan.detail


def test_a_deleted_node_and_one_that_the_cluster_says_has_left_are_replaced() -> None:
    nodes = {name: node for name, node in NODES.items() if name != "mid"}
    assert restarted(restored(("hub",), order=("hub", "mid"), nodes=nodes)) == ("hub", "near")
    # The cluster is still starting a pod on a node that is cordoned.
    pending = {"starting": {"op": ("mid",)}, "left": {"op": {"mid": "cordoned"}}}
    plan = restored(("hub",), order=("hub", "mid"), closed=("mid",), pending=True, **pending)
    assert restarted(plan) == ("hub", "near")
    assert "cordoned" in plan.detail


def test_two_lost_nodes_are_replaced_in_one_order_and_starting_replicas_stay_in_it() -> None:
    assert restarted(restored(("hub",), order=("far", "hub", "mid"), closed=("mid", "far"))) == ("edge", "hub", "near")
    plan = restored(("hub",), order=("far", "hub", "near"), closed=("far",), starting={"op": ("near",)})
    assert restarted(plan) == ("hub", "mid", "near")


def test_without_another_node_what_runs_is_kept_and_the_cause_is_named() -> None:
    closed = ("near", "mid", "far", "edge")
    plan = restored(("hub",), order=("hub", "mid"), closed=closed, left={"op": {"mid": "its node was deleted"}})
    assert (plan.reason, plan.placement, plan.change) == (Reason.NO_CANDIDATE_NODE, ("hub",), None)
    assert "mid (its node was deleted)" in plan.detail
    assert {each.node for each in plan.rejections} == set(closed)
    # The policy may remove others, and missing metrics are the reason that counts.
    fewer = replace(STAYS, reason=Reason.UNDERUSED, before=("far", "hub"))
    assert restored(("far", "hub"), order=("far", "hub", "mid"), closed=closed, plan=fewer) is fewer
    assert restored(("hub",), order=("hub", "mid"), closed=closed, seen=None) is STAYS


def test_what_no_node_can_take_stays_ordered() -> None:
    # Two of three are lost, and only near can take one: mid waits for its node.
    plan = restored(("hub",), order=("far", "hub", "mid"), closed=("mid", "far", "edge"))
    assert restarted(plan) == ("hub", "mid", "near")
    assert restarted(restored(("hub", "near"), order=plan.placement, closed=("far", "edge"))) == plan.placement
    assert restored(("hub", "near"), order=plan.placement, closed=("mid", "far", "edge")).change is None


def test_a_node_that_the_policy_rejected_for_its_delay_is_no_replacement() -> None:
    far = Rejection(node="far", reason=Reason.DELAY_EATS_GAIN)
    plan = restored(("hub",), order=("hub", "near"), closed=("near", "mid"), plan=replace(STAYS, rejections=(far,)))
    assert restarted(plan) == ("edge", "hub")


def test_a_replica_that_returns_is_surplus_and_no_reason_for_an_order() -> None:
    # far was replaced by near and is back with its old pod, before near is ready.
    back = restored(("far", "hub"), order=("hub", "near"), starting={"op": ("near",)})
    assert back is STAYS
    # near is lost too: it is replaced, and far is not kept for it.
    assert restarted(restored(("far", "hub"), order=("hub", "near"), closed=("near", "far", "edge"))) == ("hub", "mid")


def test_if_all_replicas_are_lost_the_nodes_nearest_to_the_driver_replace_them() -> None:
    # From hub, the driver's node, far is 200 ms away, edge 300.
    plan = restored((), order=("mid", "near"), closed=("mid", "near"))
    assert restarted(plan) == ("far", "hub")
    assert restored((), order=("near",), starting={"op": ("near",)}) is STAYS
    assert restored(("hub",), seen=("hub", "near")) is STAYS  # nobody ordered the other one
    assert restarted(restored((), seen=("near",))) == ("near",)


def test_the_maximum_bounds_the_replacements() -> None:
    assert restored(("hub", "near"), order=("far", "hub", "near"), closed=("far",), most=2) is STAYS
    assert restarted(restored(("hub",), order=("far", "hub", "mid"), closed=("far",), most=2)) == ("hub", "mid")


def test_refused_executors_are_not_lost() -> None:
    refused = {name: Node(name=name, problem="quota", reason=Reason.POD_REFUSED) for name in NODES if name != "hub"}
    assert restored(("hub",), order=("hub", "near"), nodes={**NODES, **refused}) is STAYS


def test_an_override_newer_than_the_order_restarts_nothing() -> None:
    by_hand = replace(STAYS, reason=Reason.OVERRIDDEN, before=(), placement=("far",))
    assert restored((), order=("hub", "near"), plan=by_hand) is by_hand
    assert restored(("hub",), order=("hub", "near"), plan=replace(by_hand, before=("hub",))).placement == ("far",)
    # One that changes nothing names nothing: what was ordered before is still in force.
    assert restored((), order=("hub",), plan=replace(by_hand, placement=())).reason is Reason.REPLICA_LOST
    concluded = replace(by_hand, reason=Reason.OVERLOADED)
    assert restored((), order=("hub", "near"), plan=concluded).placement == ("hub", "near")
