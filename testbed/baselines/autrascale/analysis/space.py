"""The configurations that the search chooses from: replicas of each operator, from the least to the most."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Replicas = tuple[int, ...]
"""Of each operator, in the order of the workflow."""


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Omega of IV-C: every vector between two.

    Attributes
    ----------
    least
        pi^t: what the throughput needs of each operator, at least 1.
    most
        The most that each may have, at least its least.
    """

    least: Replicas
    most: Replicas

    @property
    def size(self) -> int:
        """Number of configurations."""
        return math.prod(high - low + 1 for low, high in zip(self.least, self.most, strict=True))

    def __contains__(self, replicas: Replicas) -> bool:
        """Whether a configuration is one of them."""
        limits = zip(self.least, replicas, self.most, strict=True)
        return all(low <= count <= high for low, count, high in limits)

    def scaled(self, configurations: Iterable[Sequence[int]]) -> NDArray[np.float64]:
        """Return configurations as a Gaussian process takes them, one to a row.

        0 is the least of each operator, 1 the most, and steps between are ratios: twice the replicas change a score
        as much from 2 to 4 as from 20 to 40.
        """
        low, high = np.log(self.least), np.log(self.most)
        reach = np.where(high > low, high - low, 1.0)
        logs = np.log(np.array(list(configurations), float).reshape(-1, len(low)))
        scaled: NDArray[np.float64] = (logs - low) / reach
        return scaled

    def all(self) -> list[Replicas]:
        """Return every configuration, the least first."""
        ranges = (range(low, high + 1) for low, high in zip(self.least, self.most, strict=True))
        return list(product(*ranges))

    def sampled(self, count: int, rng: np.random.Generator) -> list[Replicas]:
        """Return so many configurations, each drawn evenly."""
        points = rng.integers(self.least, np.array(self.most) + 1, size=(count, len(self.least)))
        return [tuple(point) for point in points.tolist()]

    def neighbours(self, configuration: Replicas) -> list[Replicas]:
        """Return the configurations with one replica more or fewer of one operator."""
        return [
            (*configuration[:index], replicas, *configuration[index + 1 :])
            for index, (low, high) in enumerate(zip(self.least, self.most, strict=True))
            for replicas in (configuration[index] - 1, configuration[index] + 1)
            if low <= replicas <= high
        ]

    def bootstrap(self, uniform: int) -> tuple[Replicas, ...]:
        """Return the configurations for the first model of the scores.

        Parameters
        ----------
        uniform
            M: how many give all operators the same number, from the greatest of the least to the most.

        Returns
        -------
        tuple of tuple of int
            These, within the limits of each operator, then those that give the most to one operator and the least to
            all others; each once.

        Examples
        --------
        >>> SearchSpace((1, 2), (6, 6)).bootstrap(3)
        ((2, 2), (4, 4), (6, 6), (6, 2), (1, 6))
        """
        first, last = max(self.least), max(self.most)
        count = min(uniform, last - first + 1)
        interval = (last - first) / max(1, count - 1)
        levels = (math.floor(first + index * interval + 0.5) for index in range(count))
        evenly = [
            tuple(min(max(level, low), high) for low, high in zip(self.least, self.most, strict=True))
            for level in levels
        ]
        one_hot = [
            (*self.least[:index], high, *self.least[index + 1 :]) for index, high in enumerate(self.most)
        ]
        return tuple(dict.fromkeys([*evenly, *one_hot]))
