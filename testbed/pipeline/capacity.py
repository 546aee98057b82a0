"""The capacity of an emulated edge node: the one place where it is slowed down."""

import os
from collections.abc import Mapping

from pydantic import ConfigDict, NonNegativeFloat, PositiveFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from gesscale.errors import InputError
from gesscale.words import first_fault

WEIGHT_VARIABLE = "GESSCALE_NODE_WEIGHT"


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(allow_inf_nan=False))
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
    pydantic.ValidationError
        Where the time is negative or the weight is not positive.
    """

    service_s_per_row: NonNegativeFloat
    weight: PositiveFloat = 1.0

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
    values = {"service_s_per_row": service_s_per_row, "weight": environment.get(WEIGHT_VARIABLE, "1")}
    try:
        return TypeAdapter(NodeCapacity).validate_python(values)
    except ValidationError as error:
        message = f"capacity ({WEIGHT_VARIABLE}): {first_fault(error)}"
        raise InputError(message) from None
