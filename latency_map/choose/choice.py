"""The set of nodes with the least NDmax.

NDmax of a set is one of the delays in the map, so the least NDmax is the smallest delay within which enough nodes lie
of each other. Bisection over the sorted distinct delays needs few steps (ten for 40 nodes), each a search for a clique.
This has two advantages over branch and bound on NDmax: the many subsets with the same NDmax are never compared, and a
search that stops early still leaves a certified bound, since every delay without a clique is too small.

Repeatedly adding the nearest node gives the first upper bound, and the result if no search completes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map.choose.clique import CliqueResult, bit_positions
from latency_map.choose.pool import Pool
from latency_map.delays import Delays
from latency_map.kinds import Method, member
from latency_map.matrix import LatencyMap

#: Largest number of candidates for which `Method.AUTO` searches exactly.
EXACT_UP_TO = 60

#: Number of start nodes of the greedy search: all of a pool of some tens.
STARTS = 64

_SHARE = 4  # one step of the bisection uses at most this part of the remaining work


#: Limit of the work of a choice, in nodes visited by clique searches. Exact: enough for 60 candidates of random
#: delays (2 s), some 10 s at most. Greedy: some 50 ms among 490 nodes of random delays, 10 ms on a real map.
_MAX_STEPS = {Method.EXACT: 5_000_000, Method.GREEDY: 10_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChoice:
    """A set of nodes with a small NDmax."""

    #: Sorted by name.
    nodes: tuple[str, ...]
    #: The largest round trip within the set.
    nd_max_ms: float
    #: Upper bound of the distance to the optimum; 0 for an optimal set.
    gap_ms: float
    #: Extent of the search; an exact one without an optimal result stopped early.
    method: Method = Method.EXACT

    @property
    def optimal(self) -> bool:
        """True if certainly no set has a smaller NDmax."""
        return self.gap_ms == 0


def min_nd_max_subset(
    latencies: LatencyMap,
    size: int,
    *,
    keep: Iterable[str] = (),
    candidates: Iterable[str] | None = None,
    method: Method = Method.AUTO,
    max_steps: int | None = None,
) -> NodeChoice:
    """Choose the nodes with the least NDmax.

    Parameters
    ----------
    latencies
        The delays.
    size
        Number of nodes, the kept ones included.
    keep
        Nodes that must be in the set, such as that of the driver and those of present replicas.
    candidates
        The nodes to choose from, in addition to the kept ones; the whole map by default.
    method
        Exact: search until the optimum is certain. Greedy: short searches only, which narrow the gap and may improve
        the set. Auto: exact up to 60 candidates, greedy beyond.
    max_steps
        Limit of the work in visited nodes; by default that of the method.

    Returns
    -------
    NodeChoice
        The optimum, and of equal sets the first by name; if the search stopped early, a greedy or better set with its
        gap.

    Raises
    ------
    NoChoiceError
        There are too few nodes with known delays to each other.
    LatencyMapError
        The size is not positive, or below the number of kept nodes.
    UnknownNodeError
        A node is not in the map.
    """
    pool = Pool.of(latencies, size, keep=keep, candidates=candidates)
    if (method := member(Method, method)) is Method.AUTO:
        method = Method.EXACT if len(pool.others) <= EXACT_UP_TO else Method.GREEDY
    bisection = _Bisection(pool, _grow(pool), _MAX_STEPS[method] if max_steps is None else max_steps)
    bisection.improve()
    bisection.certify()
    if not bisection.best:
        raise pool.no_choice_error(certain=bisection.certified == len(bisection.levels_ms))
    nd_max_ms = pool.nd_max_ms(bisection.best)
    return NodeChoice(
        nodes=pool.named(bisection.best),
        nd_max_ms=nd_max_ms,
        gap_ms=nd_max_ms - float(bisection.levels_ms[bisection.certified]),
        method=method,
    )


class _Bisection:
    """Search for the least delay within which there are enough nodes.

    Attributes
    ----------
    levels_ms
        The candidate delays, ascending; the last is that of the first set.
    best
        The best set so far; empty if there is none.
    certified
        All levels before this one are certainly too small.
    doubtful
        The first level at which a search stopped early; ``len(levels_ms)`` if none did.
    solved
        The first level at which a search found a set; ``len(levels_ms)`` if none did.
    """

    def __init__(self, pool: Pool, first: tuple[int, ...], max_steps: int) -> None:
        self._pool, self._steps_left = pool, max_steps
        self.best, self.certified = first, 0
        at_most_ms = pool.nd_max_ms(first) if first else np.finfo(float).max
        self.levels_ms = _delays_between(pool.delays_ms, pool.lower_bound_ms(), at_most_ms)
        self.doubtful = self.solved = len(self.levels_ms)

    def improve(self) -> None:
        """Find the least level at which a search finds a set; after one that stopped early, continue above it."""
        low, high = 0, len(self.levels_ms)
        while low < high:
            middle = (low + high) // 2
            search = self._search_level(middle)
            low, high = (low, middle) if search.members is not None else (middle + 1, high)

    def certify(self) -> None:
        """Find the greatest level that a search proves too small, below the first that it could not."""
        low, high = self.certified, min(self.doubtful, self.solved)
        while low < high:
            middle = (low + high) // 2
            search = self._search_level(middle)
            low, high = (middle + 1, high) if search.complete and search.members is None else (low, middle)

    def _search_level(self, level: int) -> CliqueResult:
        search = self._pool.search(float(self.levels_ms[level]), self._steps_left // _SHARE)
        self._steps_left -= search.steps
        if search.members is not None:
            self.best = tuple(sorted((*self._pool.kept, *bit_positions(search.members))))
            self.solved = min(self.solved, level)
        elif search.complete:
            self.certified = max(self.certified, level + 1)
        else:
            self.doubtful = min(self.doubtful, level)
        return search


def _delays_between(delays_ms: Delays, low_ms: float, high_ms: float) -> Delays:
    inside = np.triu((delays_ms >= low_ms) & (delays_ms <= high_ms))
    return np.unique(delays_ms[inside])


def _grow(pool: Pool) -> tuple[int, ...]:
    """Grow sets greedily from the kept nodes, or from each of the nodes with the closest neighbours.

    Returns the rows of the best set; none if no start leads to enough nodes.
    """
    central = np.argsort(pool.reach_ms, kind="stable")[:STARTS]
    starts = np.array([pool.kept]) if pool.kept else central[:, np.newaxis]
    grown = [tuple(np.flatnonzero(chosen).tolist()) for chosen in _grown(pool, starts)]
    return min(grown, key=pool.nd_max_ms, default=())


def _grown(pool: Pool, starts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Grow all sets in parallel, each a row of flags; omit those that end without enough nodes."""
    growing = np.arange(len(starts))
    chosen = np.zeros((len(starts), len(pool.names)), dtype=bool)
    np.put_along_axis(chosen, starts, values=True, axis=1)
    distance_ms = pool.delays_ms[starts].max(axis=1)
    distance_ms[chosen] = np.inf
    for _ in range(pool.size - starts.shape[1]):
        nearest = distance_ms[growing].argmin(axis=1)
        reached = np.isfinite(distance_ms[growing, nearest])
        chosen[growing[~reached]] = False
        growing, nearest = growing[reached], nearest[reached]
        chosen[growing, nearest] = True
        distance_ms[growing] = np.maximum(distance_ms[growing], pool.delays_ms[nearest])
        distance_ms[growing, nearest] = np.inf
    return chosen[growing]
