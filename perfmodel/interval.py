"""Widths of 90 % intervals."""

from functools import lru_cache

#: Confidence that an interval contains the true value.
CONFIDENCE = 0.9


@lru_cache(maxsize=256)
def quantile(freedom: float) -> float:
    """Return the half width of a 90 % interval in standard deviations, by Student's distribution.

    Examples
    --------
    >>> round(quantile(2.0), 6), round(quantile(1000.0), 6)
    (2.919986, 1.646379)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
