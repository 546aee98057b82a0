"""Random delays in clusters, for simulated nodes.

The only source of randomness is the ``numpy.random.Generator`` that each function receives.
"""

import math
from dataclasses import dataclass

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Range of delays in milliseconds, with a uniform distribution."""

    low_ms: float
    high_ms: float

    def __post_init__(self) -> None:
        if not 0 <= self.low_ms <= self.high_ms < math.inf:
            raise LatencyMapError("delay-range-invalid", low_ms=self.low_ms, high_ms=self.high_ms)

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, int]) -> Delays:
        """Draw delays."""
        return rng.uniform(self.low_ms, self.high_ms, shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Parameters of a clustered map."""

    #: Number of clusters, of nearly equal size, in the order of the nodes.
    count: int
    #: Round trips inside each cluster, and from each cluster to each other one (within, between).
    within: Span
    between: Span


def node_names(nodes: int) -> tuple[str, ...]:
    """Return the names ``node-01``, ``node-02``, ... with as many digits as the last one needs."""
    digits = max(2, len(str(nodes)))
    return tuple(f"node-{number:0{digits}d}" for number in range(1, nodes + 1))


def generate_clustered(rng: np.random.Generator, nodes: int, parameters: Clusters) -> Delays:
    """Draw the round trips of a clustered map.

    Raises
    ------
    LatencyMapError
        There are more clusters than nodes, or none.
    """
    count = parameters.count
    if not 1 <= count <= nodes:
        raise LatencyMapError("cluster-count-invalid", nodes=nodes, got=count)
    base_ms = _symmetric(parameters.between.draw(rng, (count, count)))
    np.fill_diagonal(base_ms, parameters.within.draw(rng, count))
    cluster = np.arange(nodes) * count // nodes
    rtt_ms = base_ms[np.ix_(cluster, cluster)]
    np.fill_diagonal(rtt_ms, 0.0)
    return rtt_ms


def _symmetric(matrix: Delays) -> Delays:
    upper = np.triu(matrix, 1)
    return upper + upper.T
