"""What ``kubectl get nodes -o json`` and ``kubectl get pods -A -o json`` write, as nodes to choose from."""

from collections.abc import Mapping
from typing import Any

from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import ApiPart, NodeObject, NodeRecord, Room, read_node
from gesscale.kubernetes.placement.nodes import record_of as node_record
from gesscale.kubernetes.placement.pods import PodObject
from gesscale.kubernetes.placement.pods import record_of as pod_record
from latency_map.choose.candidates import Candidate
from latency_map.emulate.hosts import Host

_ZONE = "topology.kubernetes.io/zone"


class KubectlNodes(ApiPart):
    """The output of ``kubectl get nodes -o json``."""

    items: list[NodeObject]


class KubectlPods(ApiPart):
    """The output of ``kubectl get pods -A -o json``."""

    items: list[PodObject]


def to_candidates(nodes: KubectlNodes, pods: KubectlPods | None) -> list[Candidate]:
    """Judge nodes by what the cluster says of them.

    Parameters
    ----------
    nodes
        The nodes.
    pods
        What takes room on them; None to take them as empty.

    Returns
    -------
    list of Candidate
        A node weighs as much as it has free CPUs. One with a taint NoSchedule or NoExecute takes no new work.
    """
    taken: dict[str, Room] = {}
    for pod in map(pod_record, pods.items if pods else ()):
        if not pod.over:
            taken[pod.node] = taken.get(pod.node, Room()) + pod.takes
    return [_candidate(node, taken.get(node.name, Room())) for node in map(node_record, nodes.items)]


def to_host(item: Mapping[str, Any], source: str, device: str, *, pod_networks: bool) -> Host:
    """Return a node of ``kubectl get nodes -o json`` as a machine in a network, at its internal address.

    Raises
    ------
    InputError
        It is no Node, or has no such address.
    LatencyMapError
        Its name or address will not do.
    """
    try:
        node = read_node(item)
    except InputError as error:
        message = f"{source}: expected what kubectl get nodes -o json prints: {error}"
        raise InputError(message) from None
    if not node.address:
        message = f"{source}: expected an address of type InternalIP for node {node.name!r}, got none"
        raise InputError(message)
    networks = node.pod_networks if pod_networks else ()
    return Host(name=node.name, address=node.address, device=device, networks=networks)


def _candidate(node: NodeRecord, taken: Room) -> Candidate:
    zone = {"zone": node.labels[_ZONE]} if _ZONE in node.labels else {}
    free = None if node.room is None else node.room.without(taken)
    return Candidate(
        name=node.name,
        weight=free.cpu_m / 1000 if free else 0.0,
        ready=not node.unready,
        schedulable=not node.closed,
        free_cpus=free.cpu_m / 1000 if free else None,
        free_memory_bytes=float(free.memory_bytes) if free else None,
        arch=node.architecture or None,
        labels={**zone, **node.labels},
        remark=node.unready or node.closed,
    )
