"""Output rates of operators, from which the load of the next operators follows."""

from collections.abc import Sequence
from typing import NamedTuple


class Flow(NamedTuple):
    """Present output rate of an operator and the rate after its plan, rows/s."""

    now: float
    planned: float


def growth_factor(feeding: Sequence[Flow]) -> float:
    """Return the factor by which the output of the upstream operators grows, at least 1."""
    now = sum(flow.now for flow in feeding)
    return max(1.0, sum(flow.planned for flow in feeding) / now) if now > 0 else 1.0
