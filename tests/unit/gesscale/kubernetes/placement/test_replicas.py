"""Ordered replicas: running, starting, or on a node that has left."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kube import node, pod

from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.nodes import Taint
from gesscale.kubernetes.placement.replicas import SeenExecutors, changed_nodes, is_view_broken, replicas_of
from gesscale.kubernetes.placement.room import ALL_NODES, ExecutorNeeds, evaluate_node
from gesscale.kubernetes.resource.spec import LabelSelector
from gesscale.model.decision import Reason
from gesscale.ports import Node

UNREADY = {"unready": "Ready is Unknown: NodeStatusUnknown", "unready_since_s": 100.0}
CORDONED = {"cordoned": True}
TAINTED = {"taints": (Taint(key="dead", effect="NoExecute"),)}
POOL = LabelSelector(matchLabels={"pool": "edge"})


def state_of(executors, ordered, nodes, pool=ALL_NODES):
    named = {each.name: each for each in nodes}
    evaluated = (evaluate_node(each, each.room.without(each.room), ExecutorNeeds(pool=pool)) for each in nodes)
    return replicas_of(executors, ordered, named, {each.name: each for each in evaluated if each.problem}, {})


HEALTHY = [node("a"), node("b")]


@pytest.mark.parametrize(
    ("executor", "on_c", "kind"),
    [
        (pod("e", "c"), {}, "running"),
        (pod("e", "c", ready=False), {}, "starting"),
        (None, {}, "starting"),
        (pod("e", "c", terminating=True), {}, "starting"),
        (pod("e", "c"), None, "left"),
        (None, None, "left"),
        (pod("e", "c"), UNREADY, "left"),
        (pod("e", "c"), CORDONED, "running"),
        (pod("e", "c", ready=False), CORDONED, "starting"),  # its kubelet starts what is bound to it
        (pod("e", "c", terminating=True), CORDONED, "left"),
        (pod("e", ""), CORDONED, "left"),
        (pod("e", "c"), TAINTED, "running"),
        (pod("e", "c", terminating=True), TAINTED, "left"),
    ],
)
def test_an_ordered_replica_runs_starts_or_has_left(executor, on_c, kind):
    nodes = [*HEALTHY, *([] if on_c is None else [node("c", **on_c)])]
    found = state_of([executor] if executor else [], ("c",), nodes)
    assert {name: tuple(getattr(found, name)) for name in found._fields} == {
        "running": (),
        "starting": (),
        "left": (),
        kind: ("c",),
    }


def test_a_node_relabelled_out_of_the_pool_keeps_its_executor_and_gets_no_other():
    nodes = [node("a", labels={"pool": "edge"}), node("c", labels={"pool": "Edge"})]
    assert state_of([pod("e", "c")], ("a", "c"), nodes, POOL).running == ("c",)
    assert set(state_of([], ("a", "c"), nodes, POOL).left) == {"c"}


def test_an_executor_outside_the_order_is_running_too():
    assert state_of([pod("e", "a"), pod("f", "b")], ("b",), HEALTHY).running == ("a", "b")


@pytest.mark.parametrize(
    ("unready", "ready", "is_broken"),
    [
        (0, 3, False),
        (1, 0, True),  # all of them
        (3, 0, True),
        (2, 1, False),  # two nodes of three may well fail together
        (3, 1, True),  # 75 % and more than two, as kube-controller-manager has it
        (3, 3, False),
    ],
)
def test_many_unready_nodes_are_the_fault_of_the_control_plane(unready, ready, is_broken):
    nodes = [node(f"u{index}", **UNREADY) for index in range(unready)] + [node(f"r{index}") for index in range(ready)]
    assert is_view_broken({each.name: each for each in nodes}) is is_broken


def test_nothing_is_lost_while_the_control_plane_is_at_fault():
    nodes = [node(name, **UNREADY) for name in "abc"]
    executors = [pod(f"e{name}", name, ready=False) for name in "ab"]  # it marks the pods too
    found = state_of(executors, ("a", "b", "c"), nodes)
    assert (found.running, found.starting, found.left) == (("a", "b"), ("c",), {})


def test_a_new_address_ends_a_replica_until_a_new_executor_runs():
    seen, before, after = SeenExecutors(), node("a", addresses=("10.0.0.1",)), node("a", addresses=("10.0.0.9",))
    assert not seen.misplaced([pod("e1", "a")], {"a": before}, {})
    assert set(seen.misplaced([pod("e1", "a")], {"a": after}, {})) == {"a"}
    assert set(seen.misplaced([pod("e1", "a")], {"a": after}, {})) == {"a"}
    assert not seen.misplaced([pod("e1", "a", terminating=True), pod("e2", "a")], {"a": after}, {})


def test_a_node_without_addresses_has_not_moved():
    seen = SeenExecutors()
    for nodes in ({"a": node("a")}, {"a": node("a", addresses=("10.0.0.1",))}, {"a": node("a")}):
        assert not seen.misplaced([pod("e1", "a")], nodes, {})


def test_an_executor_that_starts_on_a_closed_node_is_misplaced():
    seen, nodes = SeenExecutors(), {"a": node("a", addresses=("10.0.0.1",))}
    closed = {"a": Node(name="a", problem="not in the node pool", reason=Reason.NOT_IN_POOL)}
    assert not seen.misplaced([pod("e1", "a")], nodes, {})
    assert not seen.misplaced([pod("e1", "a")], nodes, closed)  # it may stay
    for _ in range(2):
        assert seen.misplaced([pod("e2", "a")], nodes, closed) == {"a": "not in the node pool"}
    assert not seen.misplaced([pod("e2", "a")], nodes, {})
    assert not SeenExecutors().misplaced([pod("e2", "a")], nodes, closed)  # a new controller has not seen the other


def index(nodes, pods):
    return ClusterIndex({each.name: each for each in nodes}, {each.name: each for each in pods})


@pytest.mark.parametrize(
    ("nodes", "pods", "changed"),
    [
        ([node("a"), node("b")], [pod("e1", "a"), pod("e2", "b")], set()),
        ([node("a")], [pod("e1", "a"), pod("e2", "b")], {"b"}),
        ([node("a"), node("b", **CORDONED)], [pod("e1", "a"), pod("e2", "b")], {"b"}),
        ([node("a"), node("b", **UNREADY)], [pod("e1", "a"), pod("e2", "b")], {"b"}),
        ([node("a"), node("b", **TAINTED)], [pod("e1", "a"), pod("e2", "b")], {"b"}),
        ([node("a"), node("b", labels={"pool": "other"})], [pod("e1", "a"), pod("e2", "b")], {"b"}),
        ([node("a"), node("b", addresses=("10.0.0.9",))], [pod("e1", "a"), pod("e2", "b")], {"b"}),
        ([node("a"), node("b", weight=2.0)], [pod("e1", "a"), pod("e2", "b")], set()),
        ([node("a"), node("b")], [pod("e1", "a")], {"b"}),
        ([node("a"), node("b")], [pod("e1", "a"), pod("e2", "b", terminating=True)], {"b"}),
        ([node("a"), node("b")], [pod("e1", "a"), pod("e2", "b", ready=False)], {"b"}),
        ([node("a"), node("b"), node("c")], [pod("e1", "a"), pod("e2", "b"), pod("e3", "c", ready=False)], set()),
    ],
)
def test_a_change_that_may_lose_a_replica_names_its_node(nodes, pods, changed):
    before = index([node("a"), node("b")], [pod("e1", "a"), pod("e2", "b")])
    assert changed_nodes(before, index(nodes, pods)) == changed


NAMES = st.sampled_from("abcde")
PODS = st.builds(
    lambda name, on, ready, terminating: replace(pod(name, on), ready=ready, terminating=terminating),
    st.sampled_from(["e1", "e2", "e3", "e4"]), st.one_of(st.just(""), NAMES), st.booleans(), st.booleans(),
)  # fmt: skip
NODES = st.builds(
    lambda name, state: node(name, **state), NAMES, st.sampled_from([{}, UNREADY, CORDONED, TAINTED])
)  # fmt: skip


@given(executors=st.lists(PODS, max_size=5), ordered=st.sets(NAMES), nodes=st.lists(NODES, unique_by=lambda n: n.name))
def test_each_ordered_node_is_in_exactly_one_state(executors, ordered, nodes):
    found = state_of(executors, ordered, nodes)
    states = [set(found.running) & ordered, set(found.starting), set(found.left)]
    assert set().union(*states) == ordered
    assert sum(map(len, states)) == len(ordered)
    assert set(found.running) <= {each.name for each in nodes}
