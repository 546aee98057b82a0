"""The plant as the loop's port `gesscale.ports.Cluster`."""

from collections import Counter

from gesscale.decision import Outcome, OutcomeStatus
from gesscale.ports import ClusterState
from testbed.simulator.plant import Plant


class SimulatedCluster:
    """Passes orders on to a plant, and counts them.

    Parameters
    ----------
    plant
        What is scaled.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._orders: Counter[str] = Counter()

    def state(self) -> ClusterState:
        """Return nodes and kept replicas."""
        return self._plant.state()

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order a placement; see `testbed.simulator.plant.Plant.order`."""
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
