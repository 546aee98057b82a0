"""The promises of a cluster, by the adapter of Kubernetes against a real API server; executors are real pods."""

import time

import pytest
from cluster_contract import ClusterContract, Site
from controlled_world import World
from waiting import until

from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.placement.cluster import KubernetesCluster
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.placement.watches import Watches
from gesscale.kubernetes.resource.translate import group_into_workflows

pytestmark = pytest.mark.real


class Real(Site):
    def __init__(self, world: World, watches: Watches) -> None:
        workflow = group_into_workflows(watches.documents().values()).workflows[world.namespace, "op"]
        cluster = KubernetesCluster(
            workflow=workflow,
            snapshot=watches.snapshot,
            order_writer=OrderWriter(Documents(world.admin, watches.documents), lambda: 1),
            reservations=Reservations(),
            term=1,
            at_s=time.time(),
        )
        super().__init__(cluster=cluster, nodes=world.nodes)
        self.world = world

    def settle(self) -> None:
        ordered = tuple(self.world.order("op")["placement"])
        until(lambda: self.placement == ordered, f"executors on {', '.join(ordered)}")


class TestKubernetes(ClusterContract):
    @pytest.fixture
    def site(self, world):
        world.add("op", maxReplicas=3)
        watches = Watches(world.admin, world.namespace, lambda: None)
        watches.start()
        try:
            until(lambda: watches.listed and watches.snapshot().pods.listed, "the watches")
            site = Real(world, watches)
            until(lambda: site.placement == world.nodes[:1], "the first executor")
            yield site
        finally:
            watches.stop()
