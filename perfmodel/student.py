"""Student's distribution: how far out a tail begins. scipy has it, and takes 25 MB of memory for it."""

import math
from functools import lru_cache
from statistics import NormalDist

_TERMS = tuple(map(float, range(1, 1000)))
"""Numbers of terms; Python multiplies floats with floats faster than with whole numbers."""


@lru_cache(maxsize=256)
def upper_quantile(freedom: float, tail: float) -> float:
    """Return the value above which a share of Student's distribution lies.

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1; they need not be whole.
    tail
        The share, above 0 and below a half.

    Notes
    -----
    Newton's method on the distribution function, from the quantile of the normal distribution and its first
    correction (Abramowitz and Stegun 26.7.5).

    Examples
    --------
    >>> round(upper_quantile(2.0, 0.05), 6), round(upper_quantile(1000.0, 0.05), 6)
    (2.919986, 1.646379)
    """
    normal = -NormalDist().inv_cdf(tail)
    at = normal * (1 + (normal**2 + 1) / (4 * freedom))
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    for _ in range(50):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(at**2 / freedom))
        step = (_tail_beyond(at, freedom) - tail) / density
        at += step
        if abs(step) <= 1e-13 * at:
            break
    return at


def _tail_beyond(at: float, freedom: float) -> float:
    """Return the share above a positive value: half the incomplete beta function I_x(freedom / 2, 1 / 2)."""
    a, b, x = freedom / 2, 0.5, freedom / (freedom + at**2)
    front = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a / 2
    return (1 - front * _continued_fraction(b, a, 1 - x) / b) / 2


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz."""
    both = a + b
    upper, lower = 1.0, 1 / (1 - both * x / (a + 1))
    found = lower
    for m in _TERMS:
        end = a + 2.0 * m
        even = m * (b - m) * x / ((end - 1.0) * end)
        lower, upper = 1.0 / (1.0 + even * lower), 1.0 + even / upper
        found *= upper * lower
        odd = -(a + m) * (both + m) * x / (end * (end + 1.0))
        lower, upper = 1.0 / (1.0 + odd * lower), 1.0 + odd / upper
        factor = upper * lower
        found *= factor
        if factor == 1.0:  # the neighbours of 1 are farther away than any further term counts
            break
    return found
