"""Expected improvement, by which the next configuration is chosen (IV-C2, Eq. 6)."""

import numpy as np
import scipy
from numpy.typing import NDArray

Values = NDArray[np.float64]


def expected_improvement(mean: Values, deviation: Values, best: float, margin: float) -> Values:
    """Return by how much each of some configurations is expected to beat the best one.

    Parameters
    ----------
    mean, deviation
        What is believed of their scores: means and standard deviations.
    best
        The best score that was measured, f(x+).
    margin
        xi: how much better one must be; the greater, the more unknown ones are preferred.

    Returns
    -------
    array
        Eq. 6, of the same length; 0 where the deviation is 0.

    Examples
    --------
    >>> expected_improvement(np.array([0.9, 0.9]), np.array([0.05, 0.0]), 0.85, 0.01).round(6)
    array([0.04601, 0.     ])
    """
    gain = mean - best - margin
    spread = np.where(deviation > 0, deviation, 1.0)
    ratio = gain / spread
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2 * np.pi)
    improvement: Values = np.where(deviation > 0, gain * scipy.special.ndtr(ratio) + spread * density, 0.0)
    return improvement
