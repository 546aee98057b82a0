"""Cluster for advice only: the nodes of the latency map, without access to a real cluster."""

from collections.abc import Callable
from dataclasses import dataclass

from gesscale.errors import ClusterError
from gesscale.model.decision import Outcome
from gesscale.ports import ClusterState, Node


@dataclass(frozen=True, slots=True)
class AdvisedCluster:
    """Treats every node of the latency map as usable and refuses changes."""

    #: Returns the names of the nodes of the current map. Drivers report the placements.
    names: Callable[[], tuple[str, ...]]

    def state(self) -> ClusterState:
        """Return the nodes, all usable, and no placements."""
        return ClusterState(nodes={name: Node(name=name) for name in self.names()})

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Refuse a change.

        Raises
        ------
        ClusterError
            Always.
        """
        raise ClusterError("no-cluster-configured", operator=operator, placement=placement)
