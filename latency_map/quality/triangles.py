"""Violations of the triangle inequality: pairs whose direct delay exceeds that of a path through a third node.

The unit of counting is a *detour*: two nodes in one direction and a third one in between. In a symmetric matrix each
detour occurs twice and is counted once. At most one side of a triangle can exceed the sum of the other two, so the
share of detours is a third of the share of triangles.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import Delays
from latency_map.quality.pairs import first_pair

#: Largest number of detours, beyond which they are sampled: all of those in a map of 530 nodes, in both directions.
MAX_DETOURS = 150_000_000

_TOLERANCE_RATIO = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTriangles:
    """Number of shorter detours, and the worst of them."""

    #: Detours with three known delays; of the sample if there are too many.
    judged: int
    #: Detours that are shorter than the direct delay by more than rounding.
    broken: int
    #: Number of nodes tried as the one in between; 0 for all of them.
    sampled_nodes: int = 0
    #: Positions of the two nodes and the one in between; None without a violation.
    worst: tuple[int, int, int] | None = None
    #: Round trip of the worst pair, and the saving of its detour; 0 without a violation (worst_ms, saving_ms).
    worst_ms: float = 0.0
    saving_ms: float = 0.0


def find_broken_triangles(rtt_ms: Delays, names: tuple[str, ...], *, seed: int = 0) -> BrokenTriangles:
    """Compare every pair with its detours.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``, ms; NaN where missing. The diagonal is ignored.
    """
    n = len(rtt_ms)
    known = ~np.isnan(rtt_ms)
    np.fill_diagonal(known, val=False)
    symmetric = bool((known == known.T).all() and (rtt_ms == rtt_ms.T)[known].all())
    between = _nodes_between(names, 2 * MAX_DETOURS if symmetric else MAX_DETOURS, seed)
    legs = np.where(known, rtt_ms, np.inf)
    np.fill_diagonal(legs, 0.0)
    direct = np.where(known, rtt_ms, -np.inf)
    if symmetric:
        direct[np.tri(n, dtype=bool)] = -np.inf
    broken, shortest_ms = _compare(direct, legs, between)
    open_ways = direct >= 0
    ways = known[:, between].astype(np.float32) @ known[between].astype(np.float32)
    saved_ms = np.where(open_ways & (ways > 0), direct - shortest_ms, -np.inf)
    worst = _worst(saved_ms, legs, between, names)
    if worst and symmetric and names[worst[0]] > names[worst[1]]:
        worst = worst[1], worst[0], worst[2]
    return BrokenTriangles(
        judged=int(ways[open_ways].sum(dtype=np.float64)),
        broken=broken,
        sampled_nodes=0 if len(between) == n else len(between),
        worst=worst if broken else None,
        worst_ms=float(rtt_ms[worst[:2]]) if broken and worst else 0.0,
        saving_ms=float(saved_ms.max()) if broken else 0.0,
    )


def _nodes_between(names: tuple[str, ...], detours: int, seed: int) -> NDArray[np.intp]:
    n = len(names)
    wanted = max(1, detours // n**2)
    if wanted >= n:
        return np.arange(n)
    in_order = np.array(sorted(range(n), key=names.__getitem__))
    return in_order[np.random.default_rng(seed).choice(n, wanted, replace=False)]


def _compare(direct: Delays, legs: Delays, between: NDArray[np.intp]) -> tuple[int, Delays]:
    """Count the shorter detours, and return the shortest one of each pair.

    A detour through one of the two nodes themselves is as long as the direct way and never counts.
    """
    onward = np.ascontiguousarray(legs[between].T)
    limits = direct * (1 - _TOLERANCE_RATIO)
    shortest_ms = np.full_like(direct, np.inf)
    sums = np.empty_like(onward)
    broken = 0
    for row, limit in enumerate(limits):
        (columns,) = np.nonzero(limit > 0)
        if not len(columns):
            continue
        first, last = columns[0], columns[-1] + 1
        ways = np.add(onward[first:last], legs[row, between], out=sums[: last - first])
        broken += int(np.count_nonzero(ways < limit[first:last, None]))
        shortest_ms[row, first:last] = ways.min(axis=1)
    return broken, shortest_ms


def _worst(
    saved_ms: Delays, legs: Delays, between: NDArray[np.intp], names: tuple[str, ...]
) -> tuple[int, int, int] | None:
    max_ms = saved_ms.max(initial=-np.inf)
    if not max_ms > 0:
        return None
    a, b = first_pair(names, saved_ms == max_ms)
    ways_ms = legs[a, between] + legs[between, b]
    via = min(between[ways_ms == ways_ms.min()], key=lambda node: names[node])
    return a, b, int(via)
