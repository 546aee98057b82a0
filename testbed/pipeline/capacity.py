"""The capacity of an emulated edge node: the one place where it is slowed down."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.errors import InputError

WEIGHT_VARIABLE = "GESSCALE_NODE_WEIGHT"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """How long a node takes for a row.

    Attributes
    ----------
    service_s_per_row
        Time for a row on a node of weight 1; 0 does not slow down.
    weight
        The node's capacity against that node.

    Raises
    ------
    InputError
        Where the time is negative or the weight is not positive.
    """

    service_s_per_row: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.service_s_per_row) and self.service_s_per_row >= 0):
            message = f"capacity: expected service_s_per_row >= 0, got {self.service_s_per_row!r}"
            raise InputError(message)
        if not (math.isfinite(self.weight) and self.weight > 0):
            message = f"capacity: expected a node weight > 0 ({WEIGHT_VARIABLE}), got {self.weight!r}"
            raise InputError(message)

    def pause_s(self, rows: int, spent_s: float) -> float:
        """Return how long to wait so that the rows take the emulated time, or the longer real one.

        Examples
        --------
        >>> NodeCapacity(service_s_per_row=0.002, weight=2.0).pause_s(500, 0.1)
        0.4
        """
        return max(0.0, self.service_s_per_row * rows / self.weight - spent_s)


def node_capacity(service_s_per_row: float, environment: Mapping[str, str] = os.environ) -> NodeCapacity:
    """Return the capacity of the node that this process runs on; its weight comes from the environment."""
    text = environment.get(WEIGHT_VARIABLE, "1")
    try:
        weight = float(text)
    except ValueError:
        message = f"capacity: expected a number in {WEIGHT_VARIABLE}, got {text!r}"
        raise InputError(message) from None
    return NodeCapacity(service_s_per_row=service_s_per_row, weight=weight)
