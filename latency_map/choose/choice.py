"""The set of nodes with the least NDmax.

Threshold and clique search: NDmax of a set is one of the delays in the map. So the least NDmax is the smallest delay
within which enough nodes lie of each other. Bisection over the sorted distinct delays leaves a handful of yes-or-no
questions (ten for 40 nodes), each answered by a search for a clique. It has two advantages over branch and bound on
NDmax itself. The many subsets with the same NDmax are never compared. And a search that is stopped early still leaves
a certified bound: every delay answered "no" is too small.

Adding the nearest node again and again gives the first upper bound, and the answer where no search ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map.choose.clique import CliqueSearch, bits
from latency_map.choose.pool import Pool
from latency_map.delays import Delays
from latency_map.kinds import Method
from latency_map.matrix import LatencyMap

#: Candidates up to which `Method.AUTO` searches for as long as it takes.
EXACT_UP_TO = 60

#: From how many nodes the nearest is added again and again: from each of a pool of some tens.
STARTS = 64

_SHARE = 4  # one question of the bisection takes at most this part of the work that is left


#: Work of a choice: nodes looked at in branches of clique searches. Exact: enough for 60 candidates of random
#: delays (2 s), some 10 s at most. Greedy: some 50 ms among 490 nodes of random delays, 10 ms on a real map.
_MAX_STEPS = {Method.EXACT: 5_000_000, Method.GREEDY: 10_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChoice:
    """A set of nodes chosen for its NDmax."""

    #: Sorted by name.
    nodes: tuple[str, ...]
    #: The largest round trip within the set.
    nd_max_ms: float
    #: By how much, at most, some other set could be better; 0 for an optimal one.
    gap_ms: float
    #: How far the search was to go. One that is exact and yet not optimal was stopped early.
    method: Method = Method.EXACT

    @property
    def optimal(self) -> bool:
        """Whether it is certain that no set has a smaller NDmax."""
        return self.gap_ms == 0


def least_nd_max_subset(
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
        How many nodes, those kept included.
    keep
        Nodes that must be in the set, such as the driver's and those that run already.
    candidates
        The nodes to choose from, in addition to those kept; the whole map by default.
    method
        Exact: search until it is certain. Greedy: short searches only, which narrow the gap and may improve
        the nodes. Auto: exact up to 60 candidates, greedy beyond.
    max_steps
        The work that the searches may take, in nodes looked at; by default what the method allows for.

    Returns
    -------
    NodeChoice
        Exact, and of equal sets the first in the order of the names, unless the search stopped early: then greedy
        or better, with its gap.

    Raises
    ------
    NoChoiceError
        There are too few nodes that know their delays to each other.
    LatencyMapError
        The size is not above 0, or below the number of nodes kept.
    UnknownNodeError
        A node is not in the map.
    """
    pool = Pool.of(latencies, size, keep=keep, candidates=candidates)
    if method is Method.AUTO:
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
    """The search for the least of the delays in question within which there are enough nodes.

    Attributes
    ----------
    levels_ms
        The delays in question, ascending; the last is that of the first answer.
    best
        The best set so far; empty where there is none.
    certified
        All levels before this one are certainly too small.
    doubtful
        The first level at which a search stopped early; ``len(levels_ms)`` where none did.
    answered
        The first level at which a search found a set; ``len(levels_ms)`` where none did.
    """

    def __init__(self, pool: Pool, first: tuple[int, ...], max_steps: int) -> None:
        self._pool, self._steps_left = pool, max_steps
        self.best, self.certified = first, 0
        at_most_ms = pool.nd_max_ms(first) if first else np.finfo(float).max
        self.levels_ms = _delays_between(pool.delays_ms, pool.lower_bound_ms(), at_most_ms)
        self.doubtful = self.answered = len(self.levels_ms)

    def improve(self) -> None:
        """Find the least level that a search can answer with a set; where one stops early, look above it."""
        low, high = 0, len(self.levels_ms)
        while low < high:
            middle = (low + high) // 2
            answer = self._ask(middle)
            low, high = (low, middle) if answer.members is not None else (middle + 1, high)

    def certify(self) -> None:
        """Find the greatest level that a search can prove too small, below the first that it could not."""
        low, high = self.certified, min(self.doubtful, self.answered)
        while low < high:
            middle = (low + high) // 2
            answer = self._ask(middle)
            low, high = (middle + 1, high) if answer.complete and answer.members is None else (low, middle)

    def _ask(self, level: int) -> CliqueSearch:
        answer = self._pool.search(float(self.levels_ms[level]), self._steps_left // _SHARE)
        self._steps_left -= answer.steps
        if answer.members is not None:
            self.best = tuple(sorted((*self._pool.kept, *bits(answer.members))))
            self.answered = min(self.answered, level)
        elif answer.complete:
            self.certified = max(self.certified, level + 1)
        else:
            self.doubtful = min(self.doubtful, level)
        return answer


def _delays_between(delays_ms: Delays, low_ms: float, high_ms: float) -> Delays:
    inside = np.triu((delays_ms >= low_ms) & (delays_ms <= high_ms))
    return np.unique(delays_ms[inside])


def _grow(pool: Pool) -> tuple[int, ...]:
    """Add the nearest node again and again: to the nodes kept, or to each of the nodes with the closest neighbours.

    Returns the rows of the best set; none where every start ends without enough nodes.
    """
    central = np.argsort(pool.reach_ms, kind="stable")[:STARTS]
    starts = np.array([pool.kept]) if pool.kept else central[:, np.newaxis]
    grown = [tuple(np.flatnonzero(chosen).tolist()) for chosen in _grown(pool, starts)]
    return min(grown, key=pool.nd_max_ms, default=())


def _grown(pool: Pool, starts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Grow all sets at a time, each a row of flags; those that end without enough nodes are left out."""
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
