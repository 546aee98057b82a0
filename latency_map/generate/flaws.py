"""Flaws that measured maps have: directions that differ, and pairs without a measurement."""

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError


def lean(rng: np.random.Generator, rtt_ms: Delays, ratio: float) -> Delays:
    """Make the two directions of every pair differ.

    Parameters
    ----------
    rng
        Randomness.
    rtt_ms
        Shape ``(n, n)``, symmetric.
    ratio
        By how much of its round trip each direction departs from it at most, 0 up to but not 1: one goes up
        by an evenly drawn share of that, the other down by the same, so that their mean stays.

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``.

    Raises
    ------
    LatencyMapError
        The ratio is out of range.
    """
    if not 0 <= ratio < 1:
        message = f"asymmetry: expected a ratio of at least 0 and less than 1, got {ratio:g}"
        raise LatencyMapError(message)
    shares = np.triu(rng.uniform(-ratio, ratio, rtt_ms.shape), 1)
    leaning: Delays = rtt_ms * (1 + shares - shares.T)
    return leaning


def drop_pairs(rng: np.random.Generator, rtt_ms: Delays, ratio: float) -> Delays:
    """Forget pairs, both directions of each.

    Parameters
    ----------
    rng
        Randomness.
    rtt_ms
        Shape ``(n, n)``.
    ratio
        Share of the pairs, 0 to 1; rounded to whole pairs.

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``, NaN where forgotten.

    Raises
    ------
    LatencyMapError
        The ratio is out of range.
    """
    if not 0 <= ratio <= 1:
        message = f"missing pairs: expected a share of 0 to 1, got {ratio:g}"
        raise LatencyMapError(message)
    rows, columns = np.triu_indices(len(rtt_ms), 1)
    forgotten = rng.choice(len(rows), size=round(ratio * len(rows)), replace=False)
    result = rtt_ms.copy()
    result[rows[forgotten], columns[forgotten]] = np.nan
    result[columns[forgotten], rows[forgotten]] = np.nan
    return result
