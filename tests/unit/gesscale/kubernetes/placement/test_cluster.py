"""The loop's cluster port: nodes, pods and orders."""

import re

import pytest
from kube import EPOCH_S, MIB, SPACE, FakeApi, FakeCluster, driver, node, order, order_writer_of, pod
from refusals import refused

from gesscale.errors import ClusterError
from gesscale.kubernetes.placement.cluster import KubernetesCluster
from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.model.decision import OutcomeStatus, Reason

RESOURCES = {"resources": "streamautoscalers"}


class Scene:
    """One operator with min 1 and max 3 replicas on nodes a to d, its driver on a."""

    def __init__(self, *executors, current=(), **spec):
        self.api = FakeApi()
        status = {"order": order(1, *current)} if current else {}
        settling = {"rescaleTimeout": "60s"}
        self.api.put(status=status, **{"mode": "Act", "maxReplicas": 3, "reconfiguration": settling, **spec})
        self.world = FakeCluster(pods=[driver("a"), *executors])
        self.reservations, self.leads = Reservations(), 1
        self.cluster = KubernetesCluster(
            workflow=self.api.workflow(),
            snapshot=self.world.snapshot,
            order_writer=order_writer_of(self.api, lambda: self.leads),
            reservations=self.reservations,
            term=1,
            at_s=EPOCH_S,
        )

    def apply(self, *, add=(), remove=()):
        present = self.cluster.last_state.placements.get("op", ())
        return self.cluster.apply("op", tuple(sorted({*present, *add} - set(remove))))

    def state_after(self, seconds):
        self.cluster.state()
        self.world.at_s = seconds
        return self.cluster.state()

    @property
    def ordered(self):
        return tuple(self.api.status().get("order", {}).get("placement", ()))


def test_an_operator_without_a_driver_does_not_run_and_gets_no_order():
    scene = Scene(pod("e1", "b"))
    scene.world.pods = [pod("e1", "b")]
    assert scene.cluster.state().placements == {}
    with refused("order-without-driver", ClusterError, operator="op"):
        scene.apply(add=("c",))


def test_only_an_operator_without_order_and_executors_is_unplaced():
    assert Scene().cluster.state().unplaced == {"op"}
    assert Scene(pod("e1")).cluster.state().unplaced == {"op"}
    assert Scene(pod("e1", "b")).cluster.state().unplaced == frozenset()
    assert Scene(current=("b",)).cluster.state().unplaced == frozenset()


def test_ineligible_nodes_have_their_reason():
    scene = Scene(pod("e1", "a"), executor={"excludeNodes": ["d"]})
    full = node("b", room=Room(cpu_m=900, memory_bytes=4096 * MIB, pods=110))
    scene.world.nodes = [node("a"), full, node("c", architecture="amd64"), node("d")]
    ineligible = scene.cluster.state().ineligible["op"]
    # Its executor requests 1 CPU, b has 0.9; the only known architecture of its image is arm64.
    assert {name: each.reason for name, each in ineligible.items()} == {
        "b": Reason.NO_ROOM,
        "c": Reason.WRONG_ARCHITECTURE,
        "d": Reason.EXCLUDED,
    }


def test_room_reserved_for_others_is_taken():
    scene = Scene(pod("e1", "a"))
    scene.world.nodes = [node(name, room=Room(cpu_m=1500, memory_bytes=4096 * MIB, pods=9)) for name in "ab"]
    scene.reservations.reserve((SPACE, "other"), ["b"], Room(cpu_m=1000, pods=1))
    # 1.5 - 1.0 reserved = 0.5 CPU free, 1 is requested.
    assert scene.cluster.state().ineligible["op"]["b"].reason is Reason.NO_ROOM


def test_a_node_without_room_for_each_operator_has_a_count() -> None:
    scene = Scene(pod("e1", "a"))
    assert scene.cluster.state().room == {}
    scene.api.put(workflow="flow")
    settling = {"rescaleTimeout": "60s"}
    scene.api.put("next", mode="Act", maxReplicas=3, workflow="flow", upstream=["op"], reconfiguration=settling)
    scene.world.pods += [driver("a", "next"), pod("n1", "a", of="next")]
    scene.world.nodes = [
        node(name, room=Room(cpu_m=cpu_m, memory_bytes=4096 * MIB, pods=9))
        for name, cpu_m in (("a", 9000), ("b", 2500), ("c", 1500))
    ]
    scene.cluster.workflow = scene.api.workflow()
    # An executor of each requests 1 CPU: two of them fit on b, one on c.
    assert scene.cluster.state().room == {"c": 1}


@pytest.mark.parametrize("kind", ["nodes", "pods", "resources"])
def test_on_a_stale_view_nothing_is_decided(kind):
    scene = Scene(pod("e1", "b"), pod("e2", "c"))
    scene.cluster.state()
    scene.world.stale_since_s = {kind: -30.5}
    with refused("cache-stale", ClusterError, resource=RESOURCES.get(kind, kind), age_s=30.5):
        scene.cluster.state()
    scene.world.stale_since_s = {kind: -29.5}
    assert scene.cluster.state().placements


def test_a_view_that_goes_stale_between_plan_and_order_removes_nothing():
    scene = Scene(pod("e1", "b"), pod("e2", "c"))
    scene.cluster.state()
    scene.world.stale_since_s = {"pods": -60.0}
    with refused("cache-stale", ClusterError, resource="pods", age_s=60.0):
        scene.apply(remove=("c",))
    assert scene.ordered == ()


def test_an_order_is_the_live_placement_with_the_change():
    scene = Scene(pod("e1", "b"), pod("e2", "c"))
    scene.cluster.state()
    outcome = scene.apply(add=("d",), remove=("b",))
    assert scene.ordered == ("c", "d")
    assert (outcome.status, outcome.added, outcome.removed) == (OutcomeStatus.ORDERED, ("d",), ("b",))
    assert outcome.detail == "order 1-1"
    assert scene.reservations.of_others(("x", "y"))["d"].cpu_m == 1000


def test_an_executor_that_never_becomes_ready_is_no_replica_and_leaves_the_order():
    scene = Scene(pod("e1", "b"), pod("e2", "c", ready=False), current=("b", "c"))
    state = scene.state_after(60.0)
    assert state.placements == {"op": ("b",)}
    assert state.starting == {"op": ()}
    assert state.ineligible["op"]["c"].reason is Reason.NOT_READY
    scene.apply(add=("d",))
    assert scene.ordered == ("b", "d")


def test_replica_limits_apply_to_every_order():
    scene = Scene(pod("e1", "a"), pod("e2", "b"), pod("e3", "c"), minReplicas=2)
    scene.cluster.state()
    with refused("order-outside-limits", ClusterError, low=2, high=3, count=4):
        scene.apply(add=("d",))
    with refused("order-outside-limits", ClusterError, low=2, high=3, count=1):
        scene.apply(remove=("b", "c"))
    with refused("order-outside-limits", ClusterError, count=0):
        scene.apply(remove=("a", "b", "c"))
    assert scene.ordered == ()


def test_a_node_that_was_filled_since_the_plan_is_not_ordered():
    scene = Scene(pod("e1", "a"))
    scene.cluster.state()
    scene.world.pods += [pod("big", "b", of="other", requests=Room(cpu_m=3500, pods=1))]
    with refused("node-not-eligible", ClusterError, operator="op", node="b") as caught:
        scene.apply(add=("b",))
    assert re.findall(r"[\d.]+", caught.value.fields["cause"]) == ["1", "0.5", "4"]  # CPU: requested, free, total
    scene.world.nodes = [each for each in scene.world.nodes if each.name != "c"]
    with refused("node-not-eligible", ClusterError, node="c"):
        scene.apply(add=("c",))
    assert (scene.ordered, scene.reservations.of_others(("x", "y"))) == ((), {})


def test_a_node_reserved_since_the_plan_is_not_ordered():
    scene = Scene(pod("e1", "a"))
    scene.cluster.state()
    scene.reservations.reserve((SPACE, "other"), ["b"], Room(cpu_m=3500, pods=1))
    with refused("node-not-eligible", ClusterError, node="b"):
        scene.apply(add=("b",))


def test_a_dry_run_changes_and_reserves_nothing():
    scene = Scene(pod("e1", "b"), mode="DryRun")
    scene.cluster.state()
    outcome = scene.apply(add=("c",))
    assert outcome.status is OutcomeStatus.REHEARSED
    assert (scene.ordered, scene.reservations.of_others(("x", "y"))) == ((), {})


UNREADY = {"unready": "Ready is Unknown: NodeStatusUnknown", "unready_since_s": 100.0}


def test_the_state_has_what_was_lost_and_since_when_nodes_are_silent():
    scene = Scene(pod("e1", "b"), pod("e2", "c"), pod("e3", "d"), current=("b", "c", "d"))
    scene.world.nodes = [node("a"), node("b"), node("d", **UNREADY)]
    state = scene.cluster.state()
    assert (state.placements, state.starting, set(state.left["op"])) == ({"op": ("b",)}, {"op": ()}, {"c", "d"})
    assert state.silent == {"d": 100.0}


def test_a_node_that_returns_after_hours_is_not_in_backoff():
    scene = Scene(pod("e1", "b"), pod("e2", "c"), current=("b", "c"))
    scene.world.nodes = [node("a"), node("b"), node("c", **UNREADY)]
    assert scene.state_after(7200.0).left["op"].keys() == {"c"}
    scene.world.nodes, scene.world.pods = FakeCluster().nodes, [each for each in scene.world.pods if each.node != "c"]
    state = scene.state_after(7201.0)
    assert (state.starting["op"], state.ineligible["op"]) == (("c",), {})


def lost_of(scene):
    return tuple(scene.api.status()["order"].get("lost", ()))


def test_a_new_order_names_the_lost_nodes():
    scene = Scene(pod("e1", "b"), pod("e2", "c"), current=("b", "c"))
    scene.world.nodes = [node(name) for name in "abd"]
    scene.cluster.state()
    scene.apply(add=("d",))
    assert (scene.ordered, lost_of(scene)) == (("b", "d"), ("c",))
    scene.cluster.state()
    scene.cluster.announce_lost()
    assert lost_of(scene) == ("c",)  # its executor is removed in any case


def test_an_order_that_stays_names_the_lost_nodes_until_they_are_back():
    scene = Scene(pod("e1", "b"), pod("e2", "c"), current=("b", "c"))
    for nodes, lost in (("ab", ("c",)), ("abc", ()), ("abc", ())):
        scene.world.nodes = [node(name) for name in nodes]
        scene.cluster.state()
        scene.cluster.announce_lost()
        assert (scene.ordered, lost_of(scene)) == (("b", "c"), lost)
    assert len(scene.api.patches) == 2


def test_a_lost_node_stays_ordered_beside_a_new_one():
    scene = Scene(pod("e1", "b"), current=("b", "c"))
    scene.world.nodes = [node(name) for name in "abd"]
    scene.cluster.state()
    scene.cluster.apply("op", ("b", "c", "d"))
    assert (scene.ordered, lost_of(scene)) == (("b", "c", "d"), ("c",))


def test_an_operator_that_does_not_act_loses_nothing():
    scene = Scene(pod("e1", "b"), current=("b", "c"), mode="Recommend")
    scene.world.nodes = [node(name) for name in "ab"]
    assert scene.cluster.state().left == {"op": {}}
    scene.cluster.announce_lost()
    assert scene.api.patches == []
