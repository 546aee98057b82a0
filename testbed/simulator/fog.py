"""Simulates nodes and links over time, with failures and slow-downs."""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from gesscale.errors import InputError
from gesscale.model.decision import Reason
from gesscale.ports import ClusterState, Node
from latency_map import LatencyMap
from testbed.simulator.scene import FailureKind, LinkSlowdown, NodeFailure, SimulatedNode


class Fog:
    """Fog nodes over time.

    Raises
    ------
    InputError
        If the map lacks a node or a pair, or a fault names an unknown node.
    """

    def __init__(
        self,
        nodes: Mapping[str, SimulatedNode],
        delays: LatencyMap,
        failures: Iterable[NodeFailure] = (),
        slowdowns: Iterable[LinkSlowdown] = (),
    ) -> None:
        self.nodes = dict(nodes)
        self._has_prices = any(node.price != 1.0 for node in self.nodes.values())
        self._rtt_ms = _round_trips_ms(tuple(nodes), delays)
        self._failures = tuple(failures)
        self._slowdowns = tuple((slowdown, slowdown.ends) for slowdown in slowdowns)
        faults: tuple[NodeFailure | LinkSlowdown, ...] = (*self._failures, *(each for each, _ in self._slowdowns))
        for fault in faults:
            _check_fault(fault, self.nodes)
        self._changes_s = sorted({instant for fault in faults for instant in (fault.from_s, fault.until_s)})
        self._state = ClusterState()  # the last state, returned again while nothing changes
        self._reported_from_s = self._reported_until_s = 0.0

    @property
    def has_faults(self) -> bool:
        """Whether any failure or slow-down is scheduled."""
        return bool(self._changes_s)

    def base_rtt_ms(self, one: str, other: str) -> float:
        """Return the round trip of a pair by the latency map, ms; 0 from a node to itself."""
        return self._rtt_ms[one][other]

    def rtt_ms(self, one: str, other: str, at_s: float) -> float:
        """Return the round trip of a pair at an instant, ms; 0 from a node to itself."""
        rtt_ms = self._rtt_ms[one][other]
        if one == other:
            return rtt_ms
        for slowdown, ends in self._slowdowns:
            if slowdown.from_s <= at_s < slowdown.until_s and ends <= {one, other}:
                rtt_ms = rtt_ms * slowdown.factor + slowdown.added_ms
        return rtt_ms

    def latency_map(self, at_s: float) -> LatencyMap:
        """Return the true latency map at an instant."""
        names = tuple(self.nodes)
        rtt_ms = np.array([[self.rtt_ms(one, other, at_s) for other in names] for one in names])
        return LatencyMap(names=names, rtt_ms=rtt_ms)

    def is_up(self, node: str, at_s: float) -> bool:
        """Return whether an executor can start on a node at an instant."""
        return self.loss(node, at_s) is None

    def loss(self, node: str, at_s: float) -> FailureKind | None:
        """Return what has happened to a node at an instant; None if it can be used."""
        active = (each for each in self._failures if each.node == node and each.from_s <= at_s < each.until_s)
        return next((each.loss for each in active), None)

    def next_change_s(self, after_s: float) -> float:
        """Return when the next fault begins or ends after an instant; infinity if none does."""
        index = bisect_right(self._changes_s, after_s)
        return self._changes_s[index] if index < len(self._changes_s) else math.inf

    def price_of(self, placement: Iterable[str]) -> float | None:
        """Return the sum of the prices of nodes; None if all prices are 1."""
        return sum(self.nodes[node].price for node in placement) if self._has_prices else None

    def cluster_state(
        self,
        at_s: float,
        placements: Mapping[str, tuple[str, ...]],
        starting: Mapping[str, tuple[str, ...]] | None = None,
        ordered: Mapping[str, Collection[str]] | None = None,
    ) -> ClusterState:
        """Return the nodes as the cluster reports them at an instant, with the reported weights, and the replicas."""
        starting = starting or {}
        nodes = self._state.nodes
        if not self._reported_from_s <= at_s < self._reported_until_s:
            losses = {name: self.loss(name, at_s) for name in self.nodes}
            nodes = {
                name: self._cluster_node(node, losses[name])
                for name, node in self.nodes.items()
                if losses[name] is not FailureKind.DELETED
            }
            self._reported_from_s, self._reported_until_s = at_s, self.next_change_s(at_s)
        if nodes is not self._state.nodes or (placements, starting) != (self._state.placements, self._state.starting):
            self._state = ClusterState(
                nodes=nodes,
                placements=placements,
                starting=starting,
                left={name: self._left(listed, placements[name], at_s) for name, listed in (ordered or {}).items()},
                silent={
                    each.node: each.from_s
                    for each in self._failures
                    if each.from_s <= at_s < each.until_s and each.loss in {FailureKind.CUT_OFF, FailureKind.UNREPORTED}
                },
            )
        return self._state

    def _left(self, ordered: Collection[str], running: Collection[str], at_s: float) -> dict[str, str]:
        """Return the ordered nodes that hold no replica and can take none, with the cause."""
        lost = {node: self.loss(node, at_s) for node in ordered if node not in running}
        return {node: f"the node is {loss.value}" for node, loss in lost.items() if loss is not None}

    def _cluster_node(self, node: SimulatedNode, loss: FailureKind | None) -> Node:
        weight = node.weight if node.reported_weight is None else node.reported_weight
        found = Node(name=node.name, weight=weight, price=node.price)
        if loss is None:
            return found
        if loss is FailureKind.DRAINED:
            return replace(found, problem="cordoned", reason=Reason.CORDONED)
        return replace(found, problem="the node is down", reason=Reason.NOT_READY)


def _round_trips_ms(names: tuple[str, ...], delays: LatencyMap) -> dict[str, dict[str, float]]:
    absent = [name for name in names if name not in delays]
    if absent:
        raise InputError("simulated-nodes-not-in-map", nodes=absent)
    if missing := delays.missing(names):
        one, other = missing[0]
        raise InputError("simulated-delays-missing", pairs=len(missing), one=one, other=other)
    matrix = delays.subset(names).rtt_ms.tolist()
    return {name: dict(zip(names, row, strict=True)) for name, row in zip(names, matrix, strict=True)}


def _check_fault(fault: NodeFailure | LinkSlowdown, nodes: Mapping[str, SimulatedNode]) -> None:
    names = {fault.node} if isinstance(fault, NodeFailure) else fault.ends
    unknown = sorted(name for name in names if name not in nodes)
    if unknown:
        raise InputError("fault-node-unknown", fault=str(fault), nodes=unknown, known=sorted(nodes))
