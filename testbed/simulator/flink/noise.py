"""Speed that varies about its mean and remembers for a while how it was."""

import math

import numpy as np

_BLOCK = 512


class Noise:
    """Factors with mean 1; their logarithm is an autoregressive process of order 1.

    Parameters
    ----------
    deviation
        Standard deviation of the logarithm.
    memory_s
        Time after which the correlation has fallen to 1/e, seconds.
    tick_s
        Time between two factors, seconds.
    rng
        Where the draws come from; they are taken in blocks.
    """

    def __init__(self, deviation: float, memory_s: float, tick_s: float, rng: np.random.Generator) -> None:
        self._keeps = math.exp(-tick_s / memory_s)
        self._step = deviation * math.sqrt(1 - self._keeps**2)
        self._mean = -(deviation**2) / 2
        self._rng = rng
        self._draws: list[float] = []
        self._value = deviation * float(rng.standard_normal())

    def next_factor(self) -> float:
        """Return the next factor."""
        if self._step == 0.0:
            return 1.0
        if not self._draws:
            self._draws = self._rng.standard_normal(_BLOCK).tolist()
        self._value = self._keeps * self._value + self._step * self._draws.pop()
        return math.exp(self._mean + self._value)
