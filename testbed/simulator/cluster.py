"""The plant as the loop's port `gesscale.ports.Cluster`."""

from collections import Counter
from dataclasses import replace

from gesscale.errors import ClusterError
from gesscale.model.decision import Outcome, OutcomeStatus, Reason
from gesscale.ports import ClusterState, Node
from testbed.simulator.plant import Plant


class SimulatedCluster:
    """Passes orders on to a plant, and counts them.

    Parameters
    ----------
    plant
        What is scaled.
    executors_per_node
        How many executors a node can hold, of all operators together; None: one of each.
    """

    def __init__(self, plant: Plant, *, executors_per_node: int | None = None) -> None:
        self._plant = plant
        self._executors_per_node = executors_per_node
        self._orders: Counter[str] = Counter()

    def state(self) -> ClusterState:
        """Return nodes and kept replicas, and which nodes are full."""
        seen = self._plant.state()
        if self._executors_per_node is None:
            return seen
        held = Counter(node for placement in seen.placements.values() for node in placement)
        room = {name: max(0, self._executors_per_node - held[name]) for name in seen.nodes}
        full = {
            name: node if node.problem else _full(node) for name, node in seen.nodes.items() if not room[name]
        }
        unfit = {
            operator: {name: node for name, node in full.items() if name not in placement}
            for operator, placement in seen.placements.items()
        }
        return replace(seen, room=room, unfit=unfit)

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order a placement; see `testbed.simulator.plant.Plant.order`.

        Raises
        ------
        ClusterError
            As the plant, and where a node has no room for the replica that is to be added.
        """
        no_room = sorted(self.state().unfit.get(operator, {}).keys() & set(placement))
        if no_room:
            message = f"operator {operator!r}: node {', '.join(no_room)} was chosen, but has no room now"
            raise ClusterError(message)
        outcome = self._plant.order(operator, placement)
        self._orders[operator] += outcome.status is not OutcomeStatus.FAILED
        return outcome

    @property
    def has_orders(self) -> bool:
        """Whether there are orders that `take_orders` has not returned yet."""
        return bool(self._orders)

    def take_orders(self, operator: str) -> int:
        """Return and forget how many changes of an operator were ordered since the last call."""
        return self._orders.pop(operator, 0)


def _full(node: Node) -> Node:
    return replace(node, problem="it holds as many executors as it can", reason=Reason.NO_ROOM)
