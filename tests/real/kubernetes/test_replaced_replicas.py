"""Nodes that leave a real cluster and come back: the order follows, and no stream ends with fewer replicas."""

import json
from collections.abc import Callable

import pytest
from controlled_world import World, controller
from waiting import until

pytestmark = pytest.mark.real


def drain(world: World, node: str) -> Callable[[], object]:
    world.cluster.run_kubectl("cordon", node)
    world.cluster.run_kubectl("-n", world.namespace, "delete", "pod", "--field-selector", f"spec.nodeName={node}")
    return lambda: world.cluster.run_kubectl("uncordon", node)


def taint(world: World, node: str) -> Callable[[], object]:
    world.cluster.run_kubectl("taint", "node", node, "broken=yes:NoExecute")
    return lambda: world.cluster.run_kubectl("taint", "node", node, "broken-")


def delete(world: World, node: str) -> Callable[[], object]:
    kept = json.loads(world.cluster.run_kubectl("get", "node", node, "-o", "json"))
    for name in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
        kept["metadata"].pop(name, None)
    world.cluster.run_kubectl("delete", "node", node)
    return lambda: world.cluster.run_kubectl("create", "-f", "-", stdin=json.dumps(kept))


def cut_off(world: World, node: str) -> Callable[[], object]:
    world.cluster.cut_off(node)
    return lambda: world.cluster.reconnect(node)


_LONG = [pytest.param(lose, marks=pytest.mark.long) for lose in (drain, taint)]


@pytest.mark.parametrize("lose", [delete, cut_off, *_LONG])
def test_a_lost_replica_is_replaced_and_its_node_can_come_back(world, lose):
    near, mid, far = world.nodes
    world.add("acts")
    with controller(world):
        # edge-b is 5 ms from edge-a, edge-c 40 ms.
        until(lambda: world.order("acts").get("placement") == [near, mid], "an order")
        until(lambda: world.status("acts").get("workingReplicas") == 2, "two working replicas")
        come_back = lose(world, mid)
        try:
            until(lambda: world.order("acts")["placement"] == [near, far], "an order without the lost node")
            until(lambda: far in world.pods_of("acts"), "an executor on the next node")
            until(lambda: world.status("acts").get("workingReplicas") == 2, "two working replicas again")
        finally:
            come_back()
        until(lambda: mid not in world.cluster.not_ready(), "the node is back")
        until(lambda: {"NodeLeft", "ReplicaLost", "ReplicaReplaced"} <= world.event_reasons("acts"), "its events")
        until(lambda: world.condition("acts", "Ready").get("status") == "True", "nothing is missing")
        status = world.status("acts")
        assert status["orderedReplicas"] == status["replicas"] == 2
        assert mid not in world.order("acts").get("lost", ()) or mid not in world.order("acts")["placement"]
