"""The state of ordered replicas, from nodes and pods: running, starting, or on a node that has left. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.nodes import NodeRecord, is_view_broken, why_left
from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.model.decision import Reason
from gesscale.ports import Node

#: Reasons of nodes that start no executor; one that runs there stays.
_CLOSED = frozenset({Reason.CORDONED, Reason.NOT_IN_POOL, Reason.EXCLUDED})


class Replicas(NamedTuple):
    """Nodes of the replicas of one operator, sorted; ``left`` has the cause by node."""

    running: tuple[str, ...]
    starting: tuple[str, ...]
    left: Mapping[str, str]


def replicas_of(
    executors: Iterable[PodRecord],
    ordered: Collection[str],
    nodes: Mapping[str, NodeRecord],
    ineligible: Mapping[str, Node],
    misplaced: Mapping[str, str],
) -> Replicas:
    """Return where the replicas of an operator are.

    Parameters
    ----------
    ineligible
        Nodes that can take no further executor of the operator.
    misplaced
        See `SeenExecutors.misplaced`.
    """
    is_broken = is_view_broken(nodes)
    bound = [pod for pod in executors if pod.node and not pod.terminating]
    left = {
        name: cause
        for name in ordered
        if (cause := misplaced.get(name) or why_left(nodes.get(name), is_view_broken=is_broken))
    }
    running = {pod.node for pod in bound if _runs(pod, nodes.get(pod.node), is_broken)} - left.keys()
    held = running | {pod.node for pod in bound}
    left |= {name: cause for name, cause in closed_nodes(ineligible).items() if name in ordered and name not in held}
    return Replicas(
        running=tuple(sorted(running)),
        starting=tuple(sorted({*ordered} - running - left.keys())),
        left=dict(sorted(left.items())),
    )


def _runs(pod: PodRecord, node: NodeRecord | None, is_broken: bool) -> bool:
    if node is None:
        return False
    if node.unready:  # then the API server has its pods as not ready too
        return is_broken and pod.phase == "Running"
    return pod.ready


@dataclass(slots=True)
class SeenExecutors:
    """Executors of one operator by node, each with the address that its node had when it was first seen."""

    _seen: dict[str, tuple[str, str]] = field(default_factory=dict, init=False)

    def misplaced(
        self, executors: Iterable[PodRecord], nodes: Mapping[str, NodeRecord], ineligible: Mapping[str, Node]
    ) -> dict[str, str]:
        """Return the nodes that cannot keep their executor, with the cause.

        Either the address of the node has changed, or the executor started after the node was closed to new ones.
        """
        now = {
            pod.node: (pod.name, node.address)
            for pod in executors
            if not pod.terminating and (node := nodes.get(pod.node)) is not None and node.address
        }
        closed = closed_nodes(ineligible)
        late = {name: closed[name] for name, (pod, _) in now.items() if name in closed and self._is_other(name, pod)}
        self._seen = {
            name: self._seen[name] if name in late or not self._is_other(name, entry[0], unseen=True) else entry
            for name, entry in now.items()
        }
        return late | {
            name: f"its address changed from {before} to {now[name][1]}"
            for name, (_, before) in self._seen.items()
            if name not in late and before != now[name][1]
        }

    def _is_other(self, node: str, pod: str, *, unseen: bool = False) -> bool:
        """Return whether a node had another executor before; ``unseen`` if none was seen there."""
        return self._seen[node][0] != pod if node in self._seen else unseen


def closed_nodes(ineligible: Mapping[str, Node]) -> dict[str, str]:
    """Return the nodes that start no further executor, with the cause; one that runs there stays."""
    return {name: node.problem for name, node in ineligible.items() if node.reason in _CLOSED}


def changed_nodes(before: ClusterIndex, after: ClusterIndex) -> frozenset[str]:
    """Return the nodes that may have lost an executor between two instants."""
    changed = {
        name
        for name, node in before.nodes.items()
        if (new := after.nodes.get(name)) is not node and (new is None or _state(node) != _state(new))
    }
    stopped = {
        pod.node
        for key, pod in before.pods.items()
        if (new_pod := after.pods.get(key)) is not pod and _stays(pod) and not _stays(new_pod)
    }
    return frozenset(changed | stopped)


def _stays(pod: PodRecord | None) -> bool:
    return pod is not None and pod.ready and not pod.terminating and not pod.ended


def _state(node: NodeRecord) -> tuple[object, ...]:
    return not node.unready, node.cordoned, node.taints, node.labels, node.addresses
