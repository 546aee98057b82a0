"""How long rows are late in a step, and how fast what waits in the end can go."""

import numpy as np

from gesscale.policies.gesscale2.analysis.outlook import Array

_LEAST_SPARE_SHARE = 0.25


def share_above_0(begin: Array, end: Array) -> Array:
    """Return the share of a time in which what goes straight from one value to another is above 0.

    Examples
    --------
    >>> share_above_0(np.array([-1.0, 2.0, 1.0, -1.0]), np.array([3.0, 1.0, -1.0, -2.0])).tolist()
    [0.75, 1.0, 0.5, 0.0]
    """
    high, low = np.maximum(begin, end), np.minimum(begin, end)
    np.subtract(high, low, out=low)
    np.maximum(low, 1e-300, out=low)
    high /= low
    np.maximum(high, 0.0, out=high)
    return np.minimum(high, 1.0, out=high)


def spare_rows_per_s(most_rows_per_s: Array, load_rows_per_s: Array) -> Array:
    """Return what all replicas have left beside the load, rows/s; a quarter of what they carry where that is more.

    A load that no number of replicas carries goes down again some day: the less waits until then, the better.
    """
    found: Array = np.maximum(most_rows_per_s - load_rows_per_s, _LEAST_SPARE_SHARE * most_rows_per_s)
    return found
