"""Triangles broken on purpose: pairs that are nearer by way of a third node than directly.

A share is one of *detours*, two nodes and a third in between, as in `latency_map.quality.triangles`: the share of
triangles is three times that.

After the generator of iotaledger/iota (pull request 9325), which sets one side of some triangles above the sum of the
other two. Here the share is what is asked for: no triangle is broken to begin with (every delay is lowered to its
shortest way round); then pairs are taken in random order, and each is raised above a random number of its detours, as
many as are still wanted at most. Each step is counted, since a raised side of a broken triangle may repair it. It is
taken back where it leads away from what is wanted.
"""

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError

_CORNERS = 3
_TOLERANCE_RATIO = 1e-9
_DECIMALS = 3
_ABOVE_ALL = 1.1


def break_triangles(rng: np.random.Generator, rtt_ms: Delays, ratio: float) -> Delays:
    """Raise delays until a share of the triangles is broken.

    Parameters
    ----------
    rng
        Randomness.
    rtt_ms
        Shape ``(n, n)``, symmetric, zero diagonal, none missing.
    ratio
        Share of the ``n (n-1) (n-2) / 2`` detours that are to be shorter than the direct way, to the nearest
        one; 0 repairs them all. Up to about 0.2 can be had (tried on stars, clusters and places of 8, 40 and
        100 nodes); PlanetLab's map has 0.06.

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``, symmetric; delays that were raised are in whole microseconds.

    Raises
    ------
    LatencyMapError
        The share is out of range, or this way does not lead there.
    """
    if not 0 <= ratio <= 1:
        message = f"broken triangles: expected a share of 0 to 1, got {ratio:g}"
        raise LatencyMapError(message)
    detours = _CORNERS * math.comb(len(rtt_ms), _CORNERS)
    wanted = round(ratio * detours)
    if ratio and not detours:
        message = f"broken triangles: expected at least {_CORNERS} nodes, got {len(rtt_ms)}"
        raise LatencyMapError(message)
    result: Delays = scipy.sparse.csgraph.shortest_path(np.where(rtt_ms > 0, rtt_ms, 1e-12), directed=False)
    np.fill_diagonal(result, 0.0)
    broken = 0
    pairs = np.column_stack(np.triu_indices(len(result), 1))
    for a, b in rng.permutation(pairs):
        if broken >= wanted:
            break
        broken += _raise_pair(rng, result, (int(a), int(b)), wanted - broken)
    if broken != wanted:
        message = (
            f"broken triangles: expected {ratio:.1%} of the detours to be shorter, came to"
            f" {broken / detours:.1%} of {detours}; ask for less, or for more nodes"
        )
        raise LatencyMapError(message)
    return result


def _raise_pair(rng: np.random.Generator, rtt_ms: Delays, pair: tuple[int, int], wanted: int) -> int:
    a, b = pair
    others = np.delete(np.arange(len(rtt_ms)), pair)
    to_a, to_b = rtt_ms[a, others], rtt_ms[b, others]
    before_ms, before = rtt_ms[a, b], _broken(rtt_ms[a, b], to_a, to_b)
    detours_ms = np.sort(to_a + to_b)
    above = min(int(rng.integers(1, len(detours_ms) + 1)), wanted)
    ceiling_ms = detours_ms[above] if above < len(detours_ms) else _ABOVE_ALL * detours_ms[-1]
    raised_ms = round(float(detours_ms[above - 1] + ceiling_ms) / 2, _DECIMALS)
    gained = _broken(raised_ms, to_a, to_b) - before
    if raised_ms <= before_ms or not 0 < gained <= wanted:
        return 0
    rtt_ms[a, b] = rtt_ms[b, a] = raised_ms
    return gained


def _broken(side: float, left: NDArray[np.float64], right: NDArray[np.float64]) -> int:
    longest = np.maximum(np.maximum(left, right), side)
    return int((longest * (1 - _TOLERANCE_RATIO) > left + right + side - longest).sum())
