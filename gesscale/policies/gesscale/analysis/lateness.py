"""Lateness of rows within a step, and the rate at which a final backlog drains."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = TypeVar("Floats", NDArray[np.float32], NDArray[np.float64])

_MIN_SPARE_SHARE = 0.25


def share_above_0(begin: Floats, end: Floats) -> Floats:
    """Return the share of a step in which a linear function from one value to another is above 0.

    Examples
    --------
    >>> share_above_0(np.array([-1.0, 2.0, 1.0, -1.0]), np.array([3.0, 1.0, -1.0, -2.0])).tolist()
    [0.75, 1.0, 0.5, 0.0]
    """
    high = np.maximum(np.maximum(begin, 0.0), end)
    low = np.minimum(np.minimum(begin, -1e-30), end)  # avoids a division by zero
    np.subtract(high, low, out=low)
    high /= low
    return high


def spare_rows_per_s(max_rows_per_s: Floats, load_rows_per_s: Floats) -> Floats:
    """Return the spare capacity of all replicas, rows/s, at least a quarter of their capacity.

    A load above the capacity of all replicas will fall again at some time; a smaller backlog is better until then.
    """
    spare: Floats = np.maximum(max_rows_per_s - load_rows_per_s, _MIN_SPARE_SHARE * max_rows_per_s)
    return spare
