"""The contract of a cluster, for adapters without external programs; the others are in ``tests/real``."""

import pytest
from cluster_contract import ClusterContract, Site
from flink_scenes import alone
from flink_scenes import plant as flink_plant
from kube import EPOCH_S, FakeApi, FakeCluster, driver, order_writer_of, pod
from spark_scenes import QUIET, equal_delays, one_operator, physics_of, steady

from gesscale.kubernetes.placement.cluster import KubernetesCluster
from gesscale.kubernetes.placement.reservations import Reservations
from testbed.simulator.monitor import SimulatedCluster
from testbed.simulator.spark.plant import SparkPlant


class Simulated(Site):
    def __init__(self, plant):
        super().__init__(cluster=SimulatedCluster(plant), nodes=("n0", "n1", "n2"))
        self.plant, self.now_s = plant, 0.0

    def settle(self):
        self.now_s += 120.0  # longer than a replica or a restart takes in these scenes
        self.plant.advance(self.now_s)


class TestSimulatedSpark(ClusterContract):
    @pytest.fixture
    def site(self):
        scene = one_operator(steady(10, 1000), delays=equal_delays(4, 0.0))
        return Simulated(SparkPlant(scene, physics_of(scene, QUIET), seed=1))


class TestSimulatedFlink(ClusterContract):
    @pytest.fixture
    def site(self):
        return Simulated(flink_plant(alone([50.0] * 20)))


class Watched(Site):
    """The adapter of Kubernetes; ``settle`` is a driver that obeys."""

    def __init__(self):
        self.api = FakeApi()
        self.api.put(mode="Act", maxReplicas=3)
        self.world = FakeCluster(pods=[driver("a"), pod("e-a", "a")])
        cluster = KubernetesCluster(
            workflow=self.api.workflow(),
            snapshot=self.world.snapshot,
            order_writer=order_writer_of(self.api),
            reservations=Reservations(),
            term=1,
            at_s=EPOCH_S,
        )
        super().__init__(cluster=cluster, nodes=("a", "b", "c"))

    def settle(self):
        ordered = self.api.status()["order"]["placement"]
        self.world.pods = [driver("a"), *(pod(f"e-{node}", node) for node in ordered)]
        self.api.catch_up()


class TestKubernetes(ClusterContract):
    @pytest.fixture
    def site(self):
        return Watched()


def test_a_simulated_node_holds_no_more_executors_than_it_can():
    scene = one_operator(steady(10, 1000), delays=equal_delays(4, 0.0))
    cluster = SimulatedCluster(SparkPlant(scene, physics_of(scene, QUIET), seed=1), executors_per_node=1)
    (operator,) = scene.workflow.operators
    held = scene.initial[operator]
    state = cluster.state()
    # One executor of one operator is there: its node is full, to others only, and each other node can take one.
    assert state.room == {name: int(name not in held) for name in state.nodes}
    assert state.ineligible == {operator: {}}
