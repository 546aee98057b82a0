"""A cluster that is only looked at: the nodes of the latency map, for advice without access to anything."""

from collections.abc import Callable
from dataclasses import dataclass

from gesscale.errors import ClusterError
from gesscale.model.decision import Outcome
from gesscale.ports import ClusterState, Node


@dataclass(frozen=True, slots=True)
class AdvisedCluster:
    """Takes every node of the latency map as usable, and refuses to act."""

    #: Gives their names, those of the map in force. Placements are what the drivers themselves report.
    names: Callable[[], tuple[str, ...]]

    def state(self) -> ClusterState:
        """Return the nodes, all usable, and no placements."""
        return ClusterState(nodes={name: Node(name=name) for name in self.names()})

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Refuse.

        Raises
        ------
        ClusterError
            Always: there is nothing to act on.
        """
        raise ClusterError("no-cluster-configured", operator=operator, placement=placement)
