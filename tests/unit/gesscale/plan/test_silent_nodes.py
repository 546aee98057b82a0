"""Silent nodes: the driver's batches decide whether their replicas are lost."""

from dataclasses import replace

import pytest
from edge import batches, observe, reading

from gesscale.plan.silent_nodes import follow_batches
from gesscale.ports import ClusterState, Node

SINCE_S = 1000.0
NODES = {name: Node(name=name) for name in ("hub", "near")}
LOST = ClusterState(
    nodes=NODES, placements={"op": ("hub",)}, left={"op": {"near": "Ready is Unknown"}}, silent={"near": SINCE_S}
)
KEPT = ClusterState(nodes=NODES, placements={"op": ("hub", "near")}, left={"op": {}}, silent={"near": SINCE_S})


def seen(ended_at_s, *, now_s=None, workers=("hub", "near"), nodes=("hub", "near")):
    # Batches of 2 s, so that the newest began 2 s before its end.
    done = tuple(replace(each, workers=workers) for each in batches(nodes, at_s=ended_at_s, rows=10, seconds=2.0))
    return observe(reading(nodes, at_s=ended_at_s if now_s is None else now_s, batches=done))


@pytest.mark.parametrize(
    ("observation", "works"),
    [
        (seen(SINCE_S + 60.0), True),
        (seen(SINCE_S - 1.0, now_s=SINCE_S + 8.0), True),  # within two cycles of 2 s and 5 s
        (seen(SINCE_S - 1.0, now_s=SINCE_S + 8.1), False),  # its tasks hang
        (seen(SINCE_S + 60.0, workers=("hub",)), False),
        (seen(SINCE_S + 60.0, workers=None), False),
        (observe(), False),
    ],
)
def test_a_replica_on_a_silent_node_counts_while_it_works(observation, works):
    state = follow_batches(LOST, observation)
    assert state.placements["op"] == (("hub", "near") if works else ("hub",))
    assert ("near" in state.left["op"]) is not works


def test_a_deleted_node_has_left_even_if_its_replica_worked():
    state = replace(LOST, nodes={"hub": Node(name="hub")}, silent={})
    assert follow_batches(state, seen(SINCE_S + 60.0)) == state


@pytest.mark.parametrize(
    ("observation", "is_lost"),
    [
        (seen(SINCE_S + 60.0, workers=("hub",)), False),  # registered, without a task
        (seen(SINCE_S + 60.0, workers=("hub",), nodes=("hub",)), True),
        (seen(SINCE_S + 1.0, workers=("hub",), nodes=("hub",)), False),  # began before
        (observe(), False),
    ],
)
def test_while_all_nodes_are_silent_only_the_driver_can_lose_a_replica(observation, is_lost):
    state = follow_batches(KEPT, observation)
    assert ("near" in state.left["op"]) is is_lost
    assert ("near" in state.placements["op"]) is not is_lost
