"""Requirements of an executor: from the resource, or from a running executor."""

from kube import MIB, FakeApi, driver, index_of, node, pod

from gesscale.kubernetes.placement.applications import find_application, needs_of
from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.placement.pods import Toleration

NODES = {each.name: each for each in (node("a"), node("b", architecture="amd64"), node("c"))}


def needs(*pods, **spec):
    api = FakeApi()
    api.put(executor=spec)
    resource = api.workflow().resources["op"]
    return needs_of(resource, find_application(resource, index_of(driver("a"), *pods)), NODES)


def test_the_requests_are_those_of_a_running_executor():
    edge = (Toleration(key="edge", operator="Exists"),)
    found = needs(pod("e0"), pod("e1", "c", requests=Room(cpu_m=700, pods=1), tolerations=edge))
    assert (found.requests, found.tolerations) == (Room(cpu_m=700, pods=1), edge)


def test_requests_of_the_resource_take_precedence():
    found = needs(pod("e1", "c"), requests={"memory": "900Mi"})
    assert found.requests == Room(cpu_m=1000, memory_bytes=900 * MIB, pods=1)


def test_the_architectures_are_those_of_the_nodes_in_use():
    assert needs().architectures == {"arm64"}
    assert needs(pod("e1", "b")).architectures == {"arm64", "amd64"}
    assert needs(pod("e1", "b"), architectures=["riscv64"]).architectures == {"riscv64"}
