"""Made-up delays in clusters, for simulated nodes.

Every function is pure: its randomness is the ``numpy.random.Generator`` that it is given.
"""

import math
from dataclasses import dataclass

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From how much to how much, in milliseconds; drawn evenly."""

    low_ms: float
    high_ms: float

    def __post_init__(self) -> None:
        if not 0 <= self.low_ms <= self.high_ms < math.inf:
            raise LatencyMapError(
                "range of delays: expected two numbers of ms, at least 0, the lesser first,"
                f" got {self.low_ms:g} and {self.high_ms:g}"
            )

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, int]) -> Delays:
        """Draw that many delays."""
        return rng.uniform(self.low_ms, self.high_ms, shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """What a clustered map is made of."""

    #: How many clusters, as equal in size as can be, in the order of the nodes.
    count: int
    #: Round trips inside each cluster, and from each cluster to each other one (within, between).
    within: Span
    between: Span


def node_names(nodes: int) -> tuple[str, ...]:
    """Return names for so many nodes: ``node-01`` and on, with as many digits as the last one needs."""
    digits = max(2, len(str(nodes)))
    return tuple(f"node-{number:0{digits}d}" for number in range(1, nodes + 1))


def clustered(rng: np.random.Generator, nodes: int, parameters: Clusters) -> Delays:
    """Generate clusters.

    Raises
    ------
    LatencyMapError
        There are more clusters than nodes, or none.
    """
    count = parameters.count
    if not 1 <= count <= nodes:
        raise LatencyMapError(f"clusters: expected 1 to {nodes} of them for {nodes} nodes, got {count}")
    base_ms = _symmetric(parameters.between.draw(rng, (count, count)))
    np.fill_diagonal(base_ms, parameters.within.draw(rng, count))
    cluster = np.arange(nodes) * count // nodes
    rtt_ms = base_ms[np.ix_(cluster, cluster)]
    np.fill_diagonal(rtt_ms, 0.0)
    return rtt_ms


def _symmetric(matrix: Delays) -> Delays:
    upper = np.triu(matrix, 1)
    return upper + upper.T
