"""Nodes and pods as watched, arranged once for all operators: a fleet's steps ask the same of the same nodes."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple

from gesscale.kubernetes.placement.nodes import NodeRecord
from gesscale.kubernetes.placement.pods import PodRecord, Toleration
from gesscale.kubernetes.placement.quantity import Room
from gesscale.kubernetes.placement.room import ExecutorNeeds, judge_node, room_taken
from gesscale.ports import Node

_NOTHING = Room()


class _Needs(NamedTuple):
    """`ExecutorNeeds` as a key."""

    takes: Room
    pool: str
    architectures: frozenset[str]
    tolerations: tuple[Toleration, ...]


class ClusterIndex:
    """What is worked out of the nodes and pods at one instant; for any thread.

    Parameters
    ----------
    nodes, pods
        As watched; they do not change any more.
    """

    def __init__(self, nodes: Mapping[str, NodeRecord], pods: Mapping[str, PodRecord]) -> None:
        self.nodes, self.pods = nodes, pods
        self._unfit: dict[_Needs, Mapping[str, Node]] = {}

    @cached_property
    def members(self) -> Mapping[str, Node]:
        """Every node by name, sorted, as it is to all operators."""
        return {
            node.name: Node(name=node.name, address=node.address, weight=node.weight)
            for node in sorted(self.nodes.values(), key=lambda node: node.name)
        }

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of the node at each address."""
        return {address: node.name for node in self.nodes.values() for address in node.addresses}

    @cached_property
    def taken(self) -> Mapping[str, Room]:
        """By node, the room that its pods take."""
        return room_taken(self.pods.values())

    @cached_property
    def _by_namespace(self) -> Mapping[str, tuple[PodRecord, ...]]:
        found: dict[str, list[PodRecord]] = {}
        for pod in self.pods.values():
            found.setdefault(pod.namespace, []).append(pod)
        return {namespace: tuple(pods) for namespace, pods in found.items()}

    @cached_property
    def _by_label(self) -> Mapping[tuple[str, str, str], tuple[PodRecord, ...]]:
        found: dict[tuple[str, str, str], list[PodRecord]] = {}
        for pod in self.pods.values():
            for key, value in pod.labels.items():
                found.setdefault((pod.namespace, key, value), []).append(pod)
        return {label: tuple(pods) for label, pods in found.items()}

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> Collection[PodRecord]:
        """Return the pods of a namespace that have the rarest of some labels; without labels, all of them."""
        if not labels:
            return self._by_namespace.get(namespace, ())
        return min((self._by_label.get((namespace, *label), ()) for label in labels.items()), key=len)

    def unfit(
        self, needs: ExecutorNeeds, own: Collection[PodRecord], reserved: Mapping[str, Room]
    ) -> dict[str, Node]:
        """Return the nodes that cannot take one executor, each with the first thing that stands against it.

        Parameters
        ----------
        needs
            What one executor needs.
        own
            Executors of the operator: they do not stand in their own way.
        reserved
            By node, the room of executors of others that are ordered and not bound yet.
        """
        found = dict(self._unfit_to_any(needs))
        for name in {*reserved, *(pod.node for pod in own)} & self.nodes.keys():
            judged = self.judged(name, needs, own, reserved)
            if judged.problem:
                found[name] = judged
            else:
                found.pop(name, None)
        return found

    def judged(
        self, name: str, needs: ExecutorNeeds, own: Collection[PodRecord], reserved: Mapping[str, Room]
    ) -> Node:
        """Judge one node; as for `unfit`."""
        taken = self.taken.get(name, _NOTHING) + reserved.get(name, _NOTHING)
        for pod in own:
            if pod.node == name and not pod.over:
                taken = taken.without(pod.takes)
        return judge_node(self.nodes[name], taken, needs)

    def _unfit_to_any(self, needs: ExecutorNeeds) -> Mapping[str, Node]:
        """Return the nodes that are unfit for executors with these needs, whosever they are."""
        key = _Needs(needs.takes, needs.pool.model_dump_json(), needs.architectures, needs.tolerations)
        known = self._unfit.get(key)
        if known is None:
            judged = (
                judge_node(node, self.taken.get(name, _NOTHING), needs) for name, node in self.nodes.items()
            )
            known = self._unfit[key] = {node.name: node for node in judged if node.problem}
        return known
