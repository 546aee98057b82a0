"""The executors of a query: from the order to their end, how warm they are, and who can work when."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from testbed.simulator.fog import Fog
from testbed.simulator.spark.batch import ExecutorSet, first_slot_matters
from testbed.simulator.spark.constants import SparkPhysics

_WARM_S = 1e-3


@dataclass(slots=True, eq=False)
class Replica:
    """An executor that is kept."""

    #: Where.
    node: str
    #: When it can work; infinity while the driver is gone.
    ready_at_s: float
    #: What its first task of the next batch takes longer, on a node of weight 1.
    cold_s: float = 0.0
    #: How many it has worked on since it was started.
    batches: int = 0


@dataclass(slots=True, eq=False)
class MembershipPeriod:
    """Who can work from one instant until another."""

    #: From when until right before when, unless replicas or links change (from_s, until_s).
    from_s: float
    until_s: float
    #: The executors, by the name of their node.
    members: tuple[Replica, ...]
    #: Where they are.
    nodes: tuple[str, ...]
    #: What a batch needs to know of them.
    executor_set: ExecutorSet
    #: Whether it counts which slot is asked first.
    random_first_slot: bool
    #: Whether all of them are known to be warm; once they are, they stay so.
    are_warm: bool = False

    def cold_s(self) -> Sequence[float]:
        """Return what the first task of each takes longer; nothing where all are warm."""
        cold_s = [replica.cold_s for replica in self.members]
        self.are_warm = not any(cold_s)
        return () if self.are_warm else cold_s


class ReplicaPool:
    """The executors that are kept."""

    def __init__(
        self, physics: SparkPhysics, *, driver_node: str, fog: Fog, placement: Sequence[str], rng: np.random.Generator
    ) -> None:
        self._physics = physics
        self._driver_node = driver_node
        self._fog = fog
        self._rng = rng
        self._replicas = {node: Replica(node=node, ready_at_s=0.0) for node in placement}
        self._period: MembershipPeriod | None = None

    def __len__(self) -> int:
        return len(self._replicas)

    def __contains__(self, replica: Replica) -> bool:
        return self._replicas.get(replica.node) is replica

    @property
    def placement(self) -> tuple[str, ...]:
        """The nodes of the executors, sorted; starting ones count."""
        return tuple(sorted(self._replicas))

    def start(self, node: str, at_s: float) -> None:
        """Order an executor; one on a node of half the weight takes twice as long to start.

        It and those that are starting already make each other slower.
        """
        physics, weight = self._physics, self._fog.nodes[node].weight
        start_s = physics.start_s / weight * math.exp(physics.start_spread * self._rng.standard_normal())
        for other in self._replicas.values() if physics.start_together_s else ():
            if other.node != node and at_s < other.ready_at_s < math.inf:
                other.ready_at_s += physics.start_together_s
                start_s += physics.start_together_s
        cold_s = self._rng.uniform(physics.cold_least_s, physics.cold_most_s)
        self._replicas[node] = Replica(node=node, ready_at_s=at_s + start_s, cold_s=cold_s)
        self._period = None

    def drop(self, node: str) -> None:
        """Keep the executor on a node no longer, if there is one."""
        self._replicas.pop(node, None)
        self._period = None

    def pause(self) -> None:
        """Let none of them work until they are started again: the driver is gone."""
        for replica in self._replicas.values():
            replica.ready_at_s = math.inf
        self._period = None

    def restart(self, at_s: float) -> None:
        """Start all of them again."""
        for node in self._replicas:
            self.start(node, at_s)

    def links_changed(self) -> None:
        """Ask the fog again how far apart they are."""
        self._period = None

    def period_at(self, at_s: float) -> MembershipPeriod:
        """Return the replicas that can work at an instant; there may be none."""
        period = self._period
        if period is None or not period.from_s <= at_s < period.until_s:
            period = self._period = self._find_period(at_s)
        return period

    def worked(self, period: MembershipPeriod) -> None:
        """Note that executors have done their part of a batch."""
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
