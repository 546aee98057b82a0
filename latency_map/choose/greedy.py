"""The nearest node added again and again: the first answer, and the only one where no search ends."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from latency_map.choose.pool import Pool

STARTS = 64
"""From how many nodes it is tried: from each of a pool of some tens."""


def grow(pool: Pool) -> tuple[int, ...]:
    """Add the nearest node again and again, from several starts.

    Starts from the nodes kept, or from each of the nodes with the closest neighbours.

    Parameters
    ----------
    pool
        What is chosen from.

    Returns
    -------
    tuple of int
        The rows of the best set, sorted, without a node that it could do without; empty where every start
        ends without enough nodes.
    """
    central = np.argsort(pool.reach_ms, kind="stable")[:STARTS]
    starts = np.array([pool.kept]) if pool.kept else central[:, np.newaxis]
    grown = [_spared(pool, np.flatnonzero(chosen)) for chosen in _grown(pool, starts)]
    return min(grown, key=pool.nd_max_ms, default=())


def _grown(pool: Pool, starts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Grow all sets at a time, each a row of flags; those that end without enough nodes are left out."""
    weights = np.array(pool.weights)
    lines = np.arange(len(starts))
    chosen = np.zeros((len(starts), len(weights)), dtype=bool)
    np.put_along_axis(chosen, starts, values=True, axis=1)
    distance_ms = pool.delays_ms[starts].max(axis=1)
    distance_ms[chosen] = np.inf
    held = weights[starts].sum(axis=1)
    while (growing := lines[held < pool.wanted]).size:
        nearest = distance_ms[growing].argmin(axis=1)
        reached = np.isfinite(distance_ms[growing, nearest])
        held[growing[~reached]] = pool.wanted
        chosen[growing[~reached]] = False
        growing, nearest = growing[reached], nearest[reached]
        chosen[growing, nearest] = True
        held[growing] += weights[nearest]
        distance_ms[growing] = np.maximum(distance_ms[growing], pool.delays_ms[nearest])
        distance_ms[growing, nearest] = np.inf
    return chosen[chosen.any(axis=1)]


def _spared(pool: Pool, rows: Sequence[int] | NDArray[np.intp]) -> tuple[int, ...]:
    """Drop the nodes that are not needed, the farthest from the others first; nodes that are kept stay."""
    members = [int(row) for row in rows]
    spare = pool.weight(members) - pool.wanted
    if spare < min(pool.weights):
        return tuple(members)
    distance_ms = pool.delays_ms[np.ix_(members, members)].max(axis=1)
    for place in np.argsort(-distance_ms, kind="stable"):
        row = int(rows[place])
        if row not in pool.kept and pool.weights[row] <= spare:
            members.remove(row)
            spare -= pool.weights[row]
    return tuple(members)
