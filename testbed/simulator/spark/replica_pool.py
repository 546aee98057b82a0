"""Simulates the executors of a query: start, warm-up, removal, and which of them can work."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from testbed.simulator.fog import Fog
from testbed.simulator.spark.batch import ExecutorSet, first_slot_matters
from testbed.simulator.spark.constants import SparkPhysics

_WARM_S = 1e-3
#: Time until the driver has removed an executor that returned and is not ordered.
_REMOVAL_S = 20.0


@dataclass(slots=True, eq=False)
class Replica:
    """An executor."""

    #: Node of the executor.
    node: str
    #: When it can work; infinity while the driver is down.
    ready_at_s: float
    #: Extra time of its first task of the next batch, on a node of weight 1.
    cold_s: float = 0.0
    #: Batches since it was started.
    batches: int = 0


@dataclass(slots=True, eq=False)
class MembershipPeriod:
    """Executors that can work from one instant until another."""

    #: Start, and end unless replicas or links change earlier (from_s, until_s).
    from_s: float
    until_s: float
    #: Executors in the order of their node names.
    members: tuple[Replica, ...]
    #: Their nodes.
    nodes: tuple[str, ...]
    #: Their properties for a batch.
    executor_set: ExecutorSet
    #: Whether the first slot matters and is drawn at random.
    random_first_slot: bool
    #: Whether all of them are known to be warm, which they stay.
    are_warm: bool = False

    def cold_s(self) -> Sequence[float]:
        """Return the extra time of the first task of each; empty if all are warm."""
        cold_s = [replica.cold_s for replica in self.members]
        self.are_warm = not any(cold_s)
        return () if self.are_warm else cold_s


class ReplicaPool:
    """Executors of a query."""

    def __init__(
        self, physics: SparkPhysics, *, driver_node: str, fog: Fog, placement: Sequence[str], rng: np.random.Generator
    ) -> None:
        self._physics = physics
        self._driver_node = driver_node
        self._fog = fog
        self._rng = rng
        self._replicas = {node: Replica(node=node, ready_at_s=0.0) for node in placement}
        self._cut_off: dict[str, Replica] = {}
        self._surplus: dict[str, float] = {}
        self._period: MembershipPeriod | None = None

    def __len__(self) -> int:
        return len(self._replicas)

    def __contains__(self, replica: Replica) -> bool:
        return self._replicas.get(replica.node) is replica

    @property
    def placement(self) -> tuple[str, ...]:
        """Nodes of the executors, sorted, including starting ones."""
        return tuple(sorted(self._replicas))

    @property
    def price(self) -> float | None:
        """Sum of the prices of their nodes; None if all prices are 1."""
        return self._fog.price_of(self._replicas)

    def start(self, node: str, at_s: float) -> None:
        """Order an executor; one on a node of half the weight takes twice as long to start.

        Executors that start at the same time slow each other down.
        """
        physics, weight = self._physics, self._fog.nodes[node].weight
        start_s = physics.start_s / weight * math.exp(physics.start_spread * self._rng.standard_normal())
        for other in self._replicas.values() if physics.start_together_s else ():
            if other.node != node and at_s < other.ready_at_s < math.inf:
                other.ready_at_s += physics.start_together_s
                start_s += physics.start_together_s
        cold_s = self._rng.uniform(physics.cold_min_s, physics.cold_max_s)
        self._replicas[node] = Replica(node=node, ready_at_s=at_s + start_s, cold_s=cold_s)
        self._period = None

    def drop(self, node: str, *, keep: bool = False) -> None:
        """Remove the executor on a node, if there is one; it may be kept for `reconnect`."""
        replica = self._replicas.pop(node, None)
        if replica is not None and keep:
            self._cut_off[node] = replica
        self._period = None

    def reconnect(self, node: str, at_s: float, *, stays: bool) -> None:
        """Take the kept executor of a node back; one that is no longer ordered is removed after a while."""
        replica = self._cut_off.pop(node, None)
        if replica is not None and not stays:
            self._surplus[node] = at_s + _REMOVAL_S
        elif replica is not None and node not in self._replicas:
            replica.ready_at_s = max(at_s, replica.ready_at_s)
            self._replicas[node] = replica
        self._period = None

    def surplus(self, at_s: float) -> tuple[str, ...]:
        """Return the nodes with an executor that is about to be removed and gets no task."""
        return tuple(node for node, until_s in self._surplus.items() if at_s < until_s)

    def pause(self) -> None:
        """Stop all of them until they are started again, as the driver is down."""
        for replica in self._replicas.values():
            replica.ready_at_s = math.inf
        self._period = None

    def restart(self, at_s: float) -> None:
        """Start all of them again."""
        for node in self._replicas:
            self.start(node, at_s)

    def links_changed(self) -> None:
        """Read the delays between nodes again."""
        self._period = None

    def period_at(self, at_s: float) -> MembershipPeriod:
        """Return the replicas that can work at an instant, possibly none."""
        period = self._period
        if period is None or not period.from_s <= at_s < period.until_s:
            period = self._period = self._find_period(at_s)
        return period

    def worked(self, period: MembershipPeriod) -> None:
        """Note that executors have finished a batch."""
        for replica in period.members:
            if replica.cold_s:
                physics = self._physics
                replica.cold_s *= physics.warm_up_fade if replica.batches else physics.warm_up_share
                replica.batches += 1
                if replica.cold_s < _WARM_S:
                    replica.cold_s = 0.0

    def _find_period(self, at_s: float) -> MembershipPeriod:
        replicas = self._replicas.values()
        ready = (replica for replica in replicas if replica.ready_at_s <= at_s)
        members = tuple(sorted(ready, key=lambda replica: replica.node))
        nodes = tuple(replica.node for replica in members)
        executor_set = ExecutorSet.of(
            nodes, self._driver_node, self._fog, at_s, slots_each=self._physics.slots_per_replica
        )
        return MembershipPeriod(
            from_s=at_s,
            until_s=min((each.ready_at_s for each in replicas if each.ready_at_s > at_s), default=math.inf),
            members=members,
            nodes=nodes,
            executor_set=executor_set,
            random_first_slot=first_slot_matters(self._physics, len(executor_set.paces)),
        )
