"""Normal draws that cover the distribution evenly: an antithetic Latin hypercube."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEED = 2021


@lru_cache(maxsize=16)
def normal_draws(count: int, steps: int) -> Array:
    """Return antithetic pairs of draws.

    In each step the probability range is divided into one equal part per pair, and each pair gets the middle of one.
    """
    pairs = count // 2
    parts = np.tile(np.arange(pairs), (steps, 1))
    order = np.random.default_rng(SEED).permuted(parts, axis=1).T
    middles = np.array([NormalDist().inv_cdf((part + 0.5) / pairs) for part in range(pairs)])
    half = middles[order]
    return np.concatenate([half, -half])
