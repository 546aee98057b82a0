"""How long rows are late in a step, and how fast what waits in the end can go."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = TypeVar("Floats", NDArray[np.float32], NDArray[np.float64])

_LEAST_SPARE_SHARE = 0.25


def share_above_0(begin: Floats, end: Floats) -> Floats:
    """Return the share of a time in which what goes straight from one value to another is above 0.

    Examples
    --------
    >>> share_above_0(np.array([-1.0, 2.0, 1.0, -1.0]), np.array([3.0, 1.0, -1.0, -2.0])).tolist()
    [0.75, 1.0, 0.5, 0.0]
    """
    high = np.maximum(np.maximum(begin, 0.0), end)
    low = np.minimum(np.minimum(begin, -1e-30), end)  # so that there is something to divide by
    np.subtract(high, low, out=low)
    high /= low
    return high


def spare_rows_per_s(most_rows_per_s: Floats, load_rows_per_s: Floats) -> Floats:
    """Return what all replicas have left above the load, rows/s; a quarter of what they carry where that is more.

    A load that no number of replicas carries goes down again some day: the less waits until then, the better.
    """
    spare: Floats = np.maximum(most_rows_per_s - load_rows_per_s, _LEAST_SPARE_SHARE * most_rows_per_s)
    return spare
