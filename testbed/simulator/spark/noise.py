"""What varies from batch to batch and from task to task."""

from collections.abc import Iterator

import numpy as np

_BLOCK = 4096


def factors(rng: np.random.Generator, spread: float) -> Iterator[float]:
    """Yield log-normal factors of mean 1 without end, drawn in blocks; ``spread`` is that of their logarithm."""
    while True:
        yield from np.exp(spread * (rng.standard_normal(_BLOCK) - spread / 2)).tolist()
