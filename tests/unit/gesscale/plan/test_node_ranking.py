"""Eligible nodes, and the reasons of ineligible ones."""

from dataclasses import replace

import pytest
from edge import FakeCluster, FakeMetrics, control_loop, delays, observe, reading

from gesscale.model.decision import Change, Reason
from gesscale.plan.node_ranking import ineligible_nodes, rank_additions
from gesscale.ports import ClusterState, Node

INELIGIBLE = (Reason.NOT_READY, Reason.CORDONED, Reason.NO_ROOM, Reason.EXCLUDED, Reason.NOT_IN_POOL)
OVERLOADED = reading(("hub",), throughput=100, offered=150, saturated=1.0, backlog=9e4)


@pytest.mark.parametrize("reason", INELIGIBLE)
def test_each_hindrance_of_a_node_is_a_rejection_with_its_reason(reason):
    near = Node(name="near", problem="so it is", reason=reason)
    state = ClusterState(nodes={"hub": Node(name="hub"), "near": near, "mid": Node(name="mid")})
    ranked = rank_additions(delays(), state, ("hub",), "hub")
    assert ranked.nodes == ("mid",)
    assert [(item.node, item.reason, item.detail) for item in ranked.rejections] == [("near", reason, "so it is")]


def test_an_operator_avoids_nodes_that_are_ineligible_for_it():
    class Pooled(FakeCluster):
        def state(self) -> ClusterState:
            outside = {"near": Node(name="near", problem="not in its pool", reason=Reason.NOT_IN_POOL)}
            return replace(super().state(), ineligible={"op": outside})

    (everywhere,) = loop(FakeCluster({"op": ("hub",)}), OVERLOADED).step(1000.0)
    (pooled,) = loop(Pooled({"op": ("hub",)}), OVERLOADED).step(1000.0)
    # Round trips from hub: near 10 ms, mid 50 ms.
    assert (everywhere.plan.change, pooled.plan.change) == (Change(add=("near",)), Change(add=("mid",)))


def loop(cluster, seen, *excluded):
    return control_loop(cluster, observe(seen), excluded_nodes=frozenset(excluded))


def test_replicas_on_an_excluded_node_stay_but_are_restarted_elsewhere():
    cluster = FakeCluster({"op": ("hub",)})
    running = loop(cluster, OVERLOADED)
    running.step(1000.0)
    assert cluster.placements["op"] == ("hub", "near")
    calm = reading(("hub", "near"), throughput=150, at_s=1010.0)
    excluding = replace(running, metrics=FakeMetrics([observe(calm)]), excluded_nodes=frozenset({"near"}))
    (staying,) = excluding.step(1010.0)
    assert staying.plan.change is None
    cluster.placements["op"] = ("hub",)
    (gone,) = excluding.step(1020.0)
    assert gone.plan.reason is Reason.REPLICA_LOST
    assert cluster.placements["op"] == ("hub", "mid")


def test_ineligible_nodes_beyond_ten_per_reason_are_counted():
    silent = {
        f"n{rank:04d}": Node(name=f"n{rank:04d}", problem="silent", reason=Reason.NOT_READY) for rank in range(1000)
    }
    full = {"a": Node(name="a", problem="no memory", reason=Reason.NO_ROOM), "b": Node(name="b")}
    found = ineligible_nodes(ClusterState(nodes={**silent, **full}))
    assert [each.node for each in found] == ["a", *(f"n{rank:04d}" for rank in range(10))]
    assert (found[0].reason, found[0].detail, found[0].others) == (Reason.NO_ROOM, "no memory", 0)
    assert (found[-1].detail, found[-1].others, found[-1].other_nodes) == ("silent", 990, ())
