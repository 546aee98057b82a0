"""The set of nodes with the least NDmax.

Threshold and clique search: NDmax of a set is one of the delays in the map, so the least NDmax is the
smallest delay within which enough nodes lie of each other. Bisection over the sorted distinct delays leaves a
handful of yes-or-no questions (ten for 40 nodes), each answered by a search for a clique. It is preferred to
branch and bound on NDmax itself because the many subsets with the same NDmax are then never compared, and
because a search that is stopped early still leaves a certified bound: every delay answered "no" is too small.

Adding the nearest node again and again gives the first upper bound, and the answer where no search ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from latency_map.choose.pool import Pool
from latency_map.errors import LatencyMapError
from latency_map.matrix import LatencyMap

MAX_STEPS = 50_000
"""Branches of one clique search: more than 60 candidates with random delays need, a second or so at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A set of nodes chosen for its NDmax.

    Attributes
    ----------
    nodes
        Sorted by name.
    nd_max_ms
        The largest round trip within the set.
    gap_ms
        By how much, at most, some other set could be better; 0 for an optimal one.
    """

    nodes: tuple[str, ...]
    nd_max_ms: float
    gap_ms: float

    def __post_init__(self) -> None:
        if not self.nodes or not 0 <= self.gap_ms <= self.nd_max_ms:
            message = f"expected nodes and 0 <= gap_ms <= nd_max_ms, got {self}"
            raise LatencyMapError(message)

    @property
    def optimal(self) -> bool:
        """Whether it is certain that no set has a smaller NDmax."""
        return self.gap_ms == 0


def least_nd_max_subset(
    latencies: LatencyMap,
    size: int,
    *,
    keep: Iterable[str] = (),
    exclude: Iterable[str] = (),
    candidates: Iterable[str] | None = None,
    max_steps: int = MAX_STEPS,
) -> Choice:
    """Choose the nodes with the least NDmax.

    Parameters
    ----------
    latencies
        The delays.
    size
        How many nodes, those kept included.
    keep
        Nodes that must be in the set, such as the driver's.
    exclude
        Nodes that must not.
    candidates
        The nodes to choose from beside those kept; the whole map by default.
    max_steps
        The work that one question of the bisection may take, in branches of the clique search.

    Returns
    -------
    Choice
        Exact, and of equal sets the first in name order, unless a clique search stopped early, which the
        default allows for beyond some tens of candidates only: then greedy or better, with its gap.

    Raises
    ------
    NoChoiceError
        There are too few nodes that know their delays to each other.
    LatencyMapError
        The size is below 1 or below the number of nodes kept, or a node is both kept and excluded.
    UnknownNodeError
        A node is not in the map.
    """
    pool = Pool.of(latencies, size, keep, exclude, candidates)
    best = pool.greedy()
    upper_ms = pool.nd_max_ms(best) if best else np.inf
    delays = np.unique(pool.delays_ms[np.isfinite(pool.delays_ms)])
    levels = delays[(delays >= pool.lower_bound_ms()) & (delays <= upper_ms)]
    low, high, certified = 0, len(levels), 0
    while low < high:
        middle = (low + high) // 2
        search = pool.search(float(levels[middle]), max_steps)
        if search.members is not None:
            high, best = middle, pool.joined(search.members)
        else:
            low = middle + 1
            certified = low if search.complete else certified
    if not best:
        raise pool.nothing_found(certain=certified == len(levels))
    return _choice(pool, best, float(levels[certified]))


def greedy_nd_max_subset(
    latencies: LatencyMap,
    size: int,
    *,
    keep: Iterable[str] = (),
    exclude: Iterable[str] = (),
    candidates: Iterable[str] | None = None,
) -> Choice:
    """Choose nodes by adding the nearest one again and again.

    Starts from the nodes kept, or from each of the 64 nodes with the closest neighbours, and takes the best.
    The gap is certified: every member of a set of m nodes has m - 1 others within NDmax.

    Parameters
    ----------
    latencies, size, keep, exclude, candidates
        As in `least_nd_max_subset`.

    Returns
    -------
    Choice
        With NDmax no smaller than that of `least_nd_max_subset`.

    Raises
    ------
    NoChoiceError
        No start leads to a set that knows its delays to each other.
    LatencyMapError, UnknownNodeError
        As in `least_nd_max_subset`.
    """
    pool = Pool.of(latencies, size, keep, exclude, candidates)
    greedy = pool.greedy()
    if not greedy:
        raise pool.nothing_found(certain=False)
    return _choice(pool, greedy, pool.lower_bound_ms())


def _choice(pool: Pool, rows: tuple[int, ...], bound_ms: float) -> Choice:
    nd_max_ms = pool.nd_max_ms(rows)
    return Choice(nodes=pool.named(rows), nd_max_ms=nd_max_ms, gap_ms=nd_max_ms - bound_ms)
