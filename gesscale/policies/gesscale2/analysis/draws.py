"""Draws that cover the normal distribution evenly: scrambled Sobol points, the same ones as scipy's.

``scipy.stats`` would take 70 MB of memory for these few numbers, more than the rest of a controller.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEED = 2021
_BITS = 30
_MOST_POINTS = 8
"""Three direction numbers in each dimension give so many points."""
_DIRECTIONS = (
    "0654016223206504042771644263716742335464437427571074165040227021"
    "0323615122014462105631374043551735625434176234725346170277152675"
    "7114437211145036517151704256453305722431754154333110775017337165"
    "7600777434410743432434251022024256633322110157750264174366715300"
)
"""The second and third direction numbers m2, m3 of 256 dimensions, as 4 (m2 - 1) / 2 + (m3 - 1) / 2; m1 is 1.

From S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, SIAM J. Sci. Comput.
30, 2008 (new-joe-kuo-6, BSD licence).
"""
_OUTERMOST = 1e-3


@lru_cache(maxsize=16)
def normal_draws(count: int, steps: int) -> Array:
    """Return draws in pairs that cancel out.

    Parameters
    ----------
    count
        How many, even, at most 16.
    steps
        Numbers in each draw.

    Returns
    -------
    ndarray
        Shape ``(count, steps)``.
    """
    normal = NormalDist()
    even = np.clip(sobol(count // 2, steps), _OUTERMOST, 1 - _OUTERMOST)
    half = np.array([[normal.inv_cdf(share) for share in point] for point in even.tolist()])
    return np.concatenate([half, -half])


def sobol(points: int, dimensions: int) -> Array:
    """Return the first points of a Sobol sequence, scrambled by a matrix and a shift.

    Parameters
    ----------
    points
        At most 8.
    dimensions
        Where there are more than 256, scipy has the direction numbers.

    Returns
    -------
    ndarray
        Shape ``(points, dimensions)``, in [0, 1).

    Raises
    ------
    ValueError
        For more points.
    """
    if points > _MOST_POINTS:
        message = f"expected at most {_MOST_POINTS} points, got {points}"
        raise ValueError(message)
    if dimensions > len(_DIRECTIONS):
        from scipy.stats.qmc import Sobol  # heavy, and hardly ever needed

        many: Array = Sobol(dimensions, seed=SEED).random(points)
        return many
    rng, places = np.random.default_rng(SEED), np.arange(_BITS)
    shift = rng.integers(2, size=(dimensions, _BITS), dtype=np.uint32) @ (1 << places)
    mixing = np.tril(rng.integers(2, size=(dimensions, _BITS, _BITS), dtype=np.uint32))
    mixing[:, places, places] = 1
    codes = np.array([int(digit) for digit in _DIRECTIONS[:dimensions]])
    directions = []
    for position, number in enumerate((np.ones_like(codes), 2 * (codes // 4) + 1, 2 * (codes % 4) + 1)):
        bits = (number << (_BITS - 1 - position))[:, np.newaxis] >> places[::-1] & 1
        mixed = (mixing * bits[:, np.newaxis, :]).sum(axis=2) % 2
        directions.append((mixed << places[::-1]).sum(axis=1))
    found = [shift]
    for index in range(1, points):  # each point differs from the one before in one direction: Gray's order
        lowest_zero = (~(index - 1) & index).bit_length() - 1
        found.append(found[-1] ^ directions[lowest_zero])
    return np.array(found) / 2.0**_BITS
