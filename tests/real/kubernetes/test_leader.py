"""One leader: controllers with Leases in two namespaces, of two versions, and Leases that people edit and delete."""

import contextlib
import signal
import threading
from collections.abc import Iterator

import pytest
from controlled_world import World, controller
from refusals import logged_codes
from waiting import until

from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.lease import LEASE_NAME
from gesscale.kubernetes.api.resources import LEASES
from gesscale.spark.orders import OrderReader
from testbed.kubernetes.kubectl import create_namespace

pytestmark = pytest.mark.real
YEARS_AHEAD = "2040-01-01T00:00:00Z"


@pytest.fixture
def elsewhere(world) -> Iterator[str]:
    """Yield a second namespace, that of the kubeconfig of somebody else."""
    name = f"{world.namespace}-b"
    create_namespace(world.cluster.run_kubectl, name)
    yield name
    world.cluster.run_kubectl("delete", "namespace", name, "--wait=false")


def lease(world: World, namespace: str) -> dict:
    return world.admin.get(LEASES, LEASE_NAME, namespace=namespace)


def by_hand(world: World, *nodes: str) -> None:
    world.patch("op", {"override": {"nodes": sorted(nodes), "until": YEARS_AHEAD}})


@contextlib.contextmanager
def older_version(world: World, namespace: str) -> Iterator[None]:
    """Hold and renew a Lease as a controller does that looks at no other namespace."""
    spec = {"holderIdentity": "older", "leaseDurationSeconds": 15, "leaseTransitions": 0}
    world.admin.create(LEASES, {"metadata": {"name": LEASE_NAME}, "spec": spec}, namespace=namespace)
    over = threading.Event()

    def renew() -> None:
        number = 0
        while not over.wait(2.0):
            number += 1
            with contextlib.suppress(ApiError):
                stamp = f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000000Z"
                world.admin.patch(LEASES, LEASE_NAME, {"spec": {"renewTime": stamp}}, namespace=namespace)

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)


def test_a_controller_of_another_kubeconfig_follows_and_takes_over(world, elsewhere):
    near, mid, far = world.nodes
    world.add("op", offered=100, maxReplicas=3)
    with controller(world, "one") as one:
        until(lambda: one.leads, "the first leads")
        by_hand(world, near, mid)
        until(lambda: world.order("op").get("placement") == [near, mid], "an order")
        of_first = world.order("op")
        assert of_first["lease"] == f"{world.namespace}/{LEASE_NAME}/{of_first['id']}"
        assert world.status("op")["lease"] == f"{world.namespace}/{LEASE_NAME}"
        with controller(world, "two", lease=elsewhere) as two:
            until(lambda: "lease-held-elsewhere" in two.readyz()[1], "the second follows, and gives the reason")
            assert f"{world.namespace}/{LEASE_NAME}" in two.readyz()[1]
            with pytest.raises(ApiError):
                lease(world, elsewhere)  # not even created
            one.signal(signal.SIGKILL)
            until(lambda: two.leads, "the second leads when the first is silent")
            by_hand(world, near, far)
            until(lambda: world.order("op")["placement"] == [near, far], "an order of the second")
            of_second = world.order("op")
            assert of_second["term"] > of_first["term"]
            assert of_second["lease"] == f"{elsewhere}/{LEASE_NAME}/{of_second['id']}"
            assert logged_codes(two.log.read_text()).count("lease-held-elsewhere") == 1


@pytest.mark.long
def test_an_older_version_that_comes_second_is_not_obeyed(world, elsewhere):
    near, mid, far = world.nodes
    world.add("op", offered=100, maxReplicas=3)
    with controller(world, "new") as new:
        until(lambda: new.leads, "it leads")
        with older_version(world, elsewhere):
            by_hand(world, near, mid)
            until(lambda: world.order("op").get("placement") == [near, mid], "an order")
            reader = OrderReader()
            assert reader.read(world.get("op")) is None
            older = {"id": "900-1", "term": 900, "placement": [near, far], "at": YEARS_AHEAD, "strategy": "Live"}
            world.patch_status("op", {"order": older})  # a merge patch, as that version writes it
            assert reader.read(world.get("op")).code == "order-of-other-lease"
            assert reader.order.placement == (near, mid)
            by_hand(world, near, mid, far)
            until(lambda: world.order("op")["placement"] == [near, mid, far], "an order over that of the older one")
            assert reader.read(world.get("op")) is None
            assert reader.order.placement == (near, mid, far)


def test_a_live_lease_of_an_older_version_is_followed(world, elsewhere):
    world.add("op", offered=100)
    with older_version(world, elsewhere), controller(world) as new:
        until(lambda: "lease-held-elsewhere" in new.readyz()[1], "it follows")
        assert not new.leads
        assert not world.status("op")


def test_a_lease_that_is_deleted_or_edited_ends_in_one_leader(world):
    near, mid, far = world.nodes
    world.add("op", offered=100, maxReplicas=3)
    with controller(world) as process:
        until(lambda: process.leads, "it leads")
        by_hand(world, near, mid)
        until(lambda: world.order("op").get("placement") == [near, mid], "an order")
        before = world.order("op")
        world.admin.delete(LEASES, LEASE_NAME, namespace=world.namespace)
        until(
            lambda: process.leads and process.log.read_text().count("event=LeadershipAcquired") == 2, "it leads again"
        )
        by_hand(world, near, far)
        until(lambda: world.order("op")["placement"] == [near, far], "an order under the new Lease")
        again = world.order("op")
        assert again["term"] > before["term"]
        assert again["lease"].startswith(f"{world.namespace}/{LEASE_NAME}/")
        year = {
            "holderIdentity": "gone",
            "leaseDurationSeconds": 31_536_000,
            "renewTime": "2099-01-01T00:00:00.000000Z",
            "leaseTransitions": 2**31 - 1,
        }
        world.admin.patch(LEASES, LEASE_NAME, {"spec": year}, namespace=world.namespace)
        until(lambda: process.log.read_text().count("event=LeadershipAcquired") == 3, "it does not wait for a year")
        assert lease(world, world.namespace)["spec"]["leaseDurationSeconds"] == 15
        until(lambda: process.readyz() == (200, "ready: leader, steps 1 workflow\n"), "it is ready")
    assert "lease-duration-excessive" in logged_codes(process.log.read_text())


def test_a_missing_namespace_is_reported_until_it_exists(world):
    name = f"{world.namespace}-b"
    with controller(world, lease=name) as process:
        until(lambda: "lease-namespace-missing" in process.readyz()[1], "it is reported")
        create_namespace(world.cluster.run_kubectl, name)
        until(lambda: process.leads, "it leads")
    world.cluster.run_kubectl("delete", "namespace", name, "--wait=false")


def test_a_resource_has_one_controller_under_two_lease_names(world):
    near, mid, far = world.nodes
    world.add("op", offered=100, maxReplicas=3)
    with controller(world, "one") as one:
        until(lambda: one.leads, "the first leads")
        by_hand(world, near, mid)
        until(lambda: world.order("op").get("placement") == [near, mid], "an order")
        with controller(world, "two", lease=f"{world.namespace}/edge") as two:
            until(lambda: two.leads, "the second leads under its own Lease")
            until(lambda: "resource-led-elsewhere" in logged_codes(two.log.read_text()), "it leaves the resource alone")
            by_hand(world, near, far)
            until(lambda: world.order("op")["placement"] == [near, far], "an order")
            assert world.order("op")["lease"].startswith(f"{world.namespace}/{LEASE_NAME}/")
