"""Nodes and pods indexed for lookups, and the Spark application of each operator among them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gesscale.common.errors import Problem
from gesscale.kubernetes.placement.labels import missing_driver
from gesscale.kubernetes.placement.nodes import (
    ONE_POD,
    NodeRecord,
    Room,
    is_view_broken,
    parse_quantity,
    room_of,
    why_left,
)
from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.kubernetes.placement.room import ExecutorNeeds, evaluate_node, room_taken, selects
from gesscale.kubernetes.resource.autoscaler import AUTOSCALER_LABEL, StreamAutoscaler
from gesscale.kubernetes.resource.translate import DriverEndpoint, driver_selector, external_driver
from gesscale.ports import Node

_NOTHING = Room()


class ClusterIndex:
    """Index of the nodes and pods at one instant; thread-safe."""

    def __init__(self, nodes: Mapping[str, NodeRecord], pods: Mapping[str, PodRecord]) -> None:
        self.nodes, self.pods = nodes, pods
        self._ineligible: dict[Any, Mapping[str, Node]] = {}

    @cached_property
    def all_nodes(self) -> Mapping[str, Node]:
        """Every node by name, sorted, independent of operators."""
        return {
            node.name: Node(name=node.name, address=node.address, weight=node.weight, price=node.price)
            for node in sorted(self.nodes.values(), key=lambda node: node.name)
        }

    @cached_property
    def nodes_by_address(self) -> Mapping[str, str]:
        """The name of the node at each address."""
        return {address: node.name for node in self.nodes.values() for address in node.addresses}

    @cached_property
    def taken(self) -> Mapping[str, Room]:
        """Room taken by the pods of each node."""
        return room_taken(self.pods.values())

    @cached_property
    def _is_broken(self) -> bool:
        return is_view_broken(self.nodes)

    def why_left(self, node: str) -> str:
        """Return why a node can hold no pod; empty if it can."""
        return why_left(self.nodes.get(node), is_view_broken=self._is_broken)

    @cached_property
    def _by_label(self) -> Mapping[tuple[str, str, str], tuple[PodRecord, ...]]:
        found: dict[tuple[str, str, str], list[PodRecord]] = {}
        for pod in self.pods.values():
            for key, value in pod.labels.items():
                found.setdefault((pod.namespace, key, value), []).append(pod)
        return {label: tuple(pods) for label, pods in found.items()}

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> Collection[PodRecord]:
        """Return the pods of a namespace that have the rarest of the labels; without labels, all of them."""
        if not labels:
            return [pod for pod in self.pods.values() if pod.namespace == namespace]
        return min((self._by_label.get((namespace, *label), ()) for label in labels.items()), key=len)

    def ineligible_nodes(
        self, needs: ExecutorNeeds, own: Collection[PodRecord], reserved: Mapping[str, Room]
    ) -> dict[str, Node]:
        """Return the nodes that cannot take one executor, each with the first reason."""
        found = dict(self._ineligible_for_any(needs))
        for name in {*reserved, *(pod.node for pod in own)} & self.nodes.keys():
            node = self.evaluate_node(name, needs, own, reserved)
            if node.problem:
                found[name] = node
            else:
                found.pop(name, None)
        return found

    def evaluate_node(
        self, name: str, needs: ExecutorNeeds, own: Collection[PodRecord], reserved: Mapping[str, Room]
    ) -> Node:
        """Return one node as `ineligible_nodes` does; without a problem if it can take an executor."""
        taken = self.taken.get(name, _NOTHING) + reserved.get(name, _NOTHING)
        for pod in own:
            if pod.node == name and not pod.ended:
                taken = taken.without(pod.requests)
        return evaluate_node(self.nodes[name], taken, needs)

    def _ineligible_for_any(self, needs: ExecutorNeeds) -> Mapping[str, Node]:
        """Return the nodes that are ineligible for these needs, regardless of the owners of the pods on them."""
        key = needs.requests, needs.pool.model_dump_json(), needs.architectures, needs.assumed, needs.tolerations
        known = self._ineligible.get(key)
        if known is None:
            nodes = (evaluate_node(node, self.taken.get(name, _NOTHING), needs) for name, node in self.nodes.items())
            known = self._ineligible[key] = {node.name: node for node in nodes if node.problem}
        return known


#: Spark's label of a driver and its executors.
APPLICATION_LABEL = "spark-app-selector"
_EXECUTOR = {"spark-role": "executor"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The driver and the executors of one operator."""

    #: The driver's pod; None if it is outside the cluster or not found.
    driver: PodRecord | None = None
    #: Node and address of the driver; None if it does not run.
    endpoint: DriverEndpoint | None = None
    #: Its executors' pods that have not ended, by name, including unscheduled ones.
    executors: tuple[PodRecord, ...] = ()
    #: Reason why there is no endpoint; None if there is one.
    problem: Problem | None = None


def find_application(resource: StreamAutoscaler, index: ClusterIndex) -> Application:
    """Find an operator's application among the pods."""
    outside = external_driver(resource)
    if outside is not None:
        return Application(endpoint=outside, executors=_executors(resource, index, None))
    selector = driver_selector(resource)
    labelled = index.pods_of(resource.namespace, selector.match_labels)
    drivers = [pod for pod in labelled if not pod.ended and not pod.terminating and selects(selector, pod.labels)]
    if len(drivers) > 1:
        drivers = [pod for pod in drivers if not index.why_left(pod.node)] or drivers
    if len(drivers) != 1:
        problem = missing_driver(selector, resource.namespace, index.pods.values())
        if drivers:
            fields = {"labels": problem.fields["labels"], "pods": [pod.name for pod in drivers]}
            problem = Problem("driver-pod-ambiguous", fields)
        return Application(executors=_executors(resource, index, None), problem=problem)
    (driver,) = drivers
    executors = _executors(resource, index, driver)
    if driver.phase != "Running" or not driver.ip:
        fields = {"pod": driver.name, "phase": driver.phase, "cause": driver.problem or "no cause reported"}
        problem = Problem("driver-pod-pending", fields)
        return Application(driver=driver, executors=executors, problem=problem)
    if cause := index.why_left(driver.node):
        problem = Problem("driver-node-left", {"pod": driver.name, "node": driver.node, "cause": cause})
        return Application(driver=driver, executors=executors, problem=problem)
    address = f"[{driver.ip}]" if ":" in driver.ip else driver.ip
    endpoint = DriverEndpoint(node=driver.node, metrics_url=f"http://{address}:{resource.spec.driver.port}")
    return Application(driver=driver, endpoint=endpoint, executors=executors)


def _executors(resource: StreamAutoscaler, index: ClusterIndex, driver: PodRecord | None) -> tuple[PodRecord, ...]:
    application = driver.labels.get(APPLICATION_LABEL) if driver is not None else None
    key, value = (APPLICATION_LABEL, application) if application else (AUTOSCALER_LABEL, resource.name)
    pods = index.pods_of(resource.namespace, {key: value})
    found = (pod for pod in pods if not pod.ended and _EXECUTOR.items() <= pod.labels.items())
    return tuple(sorted(found, key=lambda pod: pod.name))


def needs_of(resource: StreamAutoscaler, application: Application, nodes: Mapping[str, NodeRecord]) -> ExecutorNeeds:
    """Return the requirements of one executor on a node."""
    spec = resource.spec.executor
    sample = min(application.executors, key=lambda pod: not pod.node, default=None)
    observed = sample.requests if sample is not None else ONE_POD
    amounts = {"cpu": spec.requests.cpu, "memory": spec.requests.memory}
    configured = room_of({name: parse_quantity(amount) for name, amount in amounts.items() if amount is not None})
    used = {pod.node for pod in application.executors}
    if application.endpoint is not None:
        used.add(application.endpoint.node)
    architectures = {nodes[name].architecture for name in used if name in nodes}
    return ExecutorNeeds(
        requests=Room(
            cpu_m=observed.cpu_m if spec.requests.cpu is None else configured.cpu_m,
            memory_bytes=observed.memory_bytes if spec.requests.memory is None else configured.memory_bytes,
            pods=1,
        ),
        pool=resource.spec.node_pool,
        architectures=frozenset(spec.architectures) or frozenset(architectures - {""}),
        assumed=not spec.architectures,
        tolerations=sample.tolerations if sample is not None else (),
    )
