"""Replica limits hold for every policy, in both directions, whatever is seen of the operator."""

import pytest
from edge import FakeCluster, control_loop, known, observe, operator, reading, workflow
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.model.decision import Reason
from gesscale.model.observation import MissingReading
from gesscale.model.order import Order
from gesscale.options import PolicyOptions
from gesscale.plan.directives import Directive, Pause
from gesscale.policies import GuardedPolicy, policy_named, policy_names
from gesscale.ports import ClusterState, Node

ALL = ("edge", "far", "hub", "mid", "near")
LATE = {"throughput": 250.0, "offered": 900.0, "saturated": 1.0, "backlog": 90_000.0}
CALM = {"throughput": 20.0, "offered": 20.0}


def step(name, placement, limits, seen, directives=None):
    policy = policy_named(name, workflow(operator(min_replicas=limits[0], max_replicas=limits[1])), PolicyOptions())
    if seen is None:
        observed = observe(missing_readings=[MissingReading(operator="op", code="metrics-missing")])
    else:
        observed = observe(reading(placement, **seen))
    cluster = FakeCluster({"op": placement})
    loop = control_loop(cluster, observed, policy=GuardedPolicy(policy), directives=directives or {})
    (decision,) = loop.step(1000.0)
    return decision, cluster


@pytest.mark.parametrize("name", sorted(policy_names()))
@given(
    placement=st.sets(st.sampled_from(ALL), min_size=1).map(lambda nodes: tuple(sorted(nodes))),
    limits=st.tuples(st.integers(1, 5), st.integers(1, 5)).map(sorted),
    seen=st.sampled_from([LATE, CALM, None]),
)
@settings(max_examples=examples(40, few=6))
def test_limits_hold_in_the_next_step(name, placement, limits, seen):
    decision, cluster = step(name, placement, limits, seen)
    least, most = limits
    assert least <= len(cluster.placements["op"]) <= most
    if len(placement) > most:
        assert decision.plan.reason is Reason.AT_MAX_REPLICAS
    if len(placement) < least:
        assert decision.plan.reason is Reason.AT_MIN_REPLICAS


def test_the_farthest_replicas_go_and_the_nearest_come():
    decision, cluster = step("static", ALL, (1, 2), LATE)
    assert cluster.orders == [("op", ("hub", "near"))]
    assert decision.plan.nd_max_ms == 10.0
    _, cluster = step("static", ("hub",), (3, 5), None)
    assert cluster.orders == [("op", ("hub", "mid", "near"))]


def test_a_pause_is_reported_instead():
    paused = {"op": Directive(operator=operator(max_replicas=2), pause=Pause())}
    decision, cluster = step("static", ALL, (1, 2), LATE, paused)
    assert (decision.plan.reason, cluster.orders) == (Reason.PAUSED, [])


def plan(live, order, limits, **state):
    policy = policy_named("static", workflow(operator(min_replicas=limits[0], max_replicas=limits[1])), PolicyOptions())
    cluster = ClusterState(nodes={name: Node(name=name) for name in ALL}, placements={"op": live}, **state)
    knowledge = known(orders={"op": (Order(placement=order, at_s=990.0),)})
    guarded = GuardedPolicy(policy)
    return guarded.plan(guarded.analyze(observe(reading(live)), knowledge), cluster, knowledge)["op"]


def test_an_order_on_its_way_within_the_limits_is_waited_for():
    assert plan(ALL, ("hub", "near"), (1, 2)).change is None
    assert plan(("hub",), ("hub", "near"), (2, 5), starting={"op": ("near",)}).change is None


def test_an_order_on_its_way_beyond_the_limits_is_replaced():
    ordered = plan(("hub", "mid", "near"), ALL, (1, 2))
    assert (ordered.placement, ordered.reason) == (("hub", "near"), Reason.AT_MAX_REPLICAS)


def test_a_cluster_that_cannot_be_read_is_left_alone():
    assert plan(ALL, ALL, (1, 2), problem="gone").change is None
    assert plan((), (), (2, 5)).change is None
