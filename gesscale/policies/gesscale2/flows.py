"""What the operators of a workflow hand on to each other."""

from collections.abc import Sequence
from typing import NamedTuple


class Flow(NamedTuple):
    """Rows/s that an operator hands on now, and will by its plan."""

    now: float
    planned: float


def growth_of(feeding: Sequence[Flow]) -> float:
    """Return how many times as much as now the operators that feed one will hand on; never less."""
    now = sum(flow.now for flow in feeding)
    return max(1.0, sum(flow.planned for flow in feeding) / now) if now > 0 else 1.0
