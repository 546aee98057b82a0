"""Bayesian search of AuTraScale+ (IV-C, IV-D): scores of configurations, their posterior, and the next trial."""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

#: Replicas of each operator, in the order of the workflow.
Replicas = tuple[int, ...]


#: M, bootstrap samples with equal replicas: the 10 of V-C minus 4 one-hot ones.
UNIFORM = 6

#: Xi, the margin of a new score over the best one: the usual value, the paper gives none.
EXPLORATION = 0.01


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Omega of IV-C: all vectors between two bounds."""

    #: Pi^t: the fewest replicas of each operator that reach the throughput, at least 1.
    min_replicas: Replicas
    #: The most replicas of each operator, at least its minimum.
    max_replicas: Replicas

    @property
    def size(self) -> int:
        """Number of configurations."""
        return math.prod(high - low + 1 for low, high in zip(self.min_replicas, self.max_replicas, strict=True))

    def __contains__(self, replicas: Replicas) -> bool:
        """Return True if a configuration is within the bounds."""
        limits = zip(self.min_replicas, replicas, self.max_replicas, strict=True)
        return all(low <= count <= high for low, count, high in limits)

    def scaled(self, configurations: Iterable[Sequence[int]]) -> NDArray[np.float64]:
        """Return the coordinates of configurations for a Gaussian process, one per row.

        0 is the minimum of each operator and 1 the maximum, on a logarithmic scale: doubling the replicas has the same
        effect on a score from 2 to 4 as from 20 to 40.
        """
        low, high = np.log(self.min_replicas), np.log(self.max_replicas)
        reach = np.where(high > low, high - low, 1.0)
        logs = np.log(np.array(list(configurations), float).reshape(-1, len(low)))
        scaled: NDArray[np.float64] = (logs - low) / reach
        return scaled

    def enumerate_all(self) -> list[Replicas]:
        """Return all configurations, the smallest first."""
        ranges = (range(low, high + 1) for low, high in zip(self.min_replicas, self.max_replicas, strict=True))
        return list(product(*ranges))

    def sample(self, count: int, rng: np.random.Generator) -> list[Replicas]:
        """Return random configurations, uniformly distributed."""
        points = rng.integers(self.min_replicas, np.array(self.max_replicas) + 1, size=(count, len(self.min_replicas)))
        return [tuple(point) for point in points.tolist()]

    def neighbours(self, configuration: Replicas) -> list[Replicas]:
        """Return the configurations that differ by one replica of one operator."""
        return [
            (*configuration[:index], replicas, *configuration[index + 1 :])
            for index, (low, high) in enumerate(zip(self.min_replicas, self.max_replicas, strict=True))
            for replicas in (configuration[index] - 1, configuration[index] + 1)
            if low <= replicas <= high
        ]

    def bootstrap(self, uniform: int) -> tuple[Replicas, ...]:
        """Return the configurations for the initial model of the scores.

        Examples
        --------
        >>> SearchSpace((1, 2), (6, 6)).bootstrap(3)
        ((2, 2), (4, 4), (6, 6), (6, 2), (1, 6))
        """
        first, last = max(self.min_replicas), max(self.max_replicas)
        count = min(uniform, last - first + 1)
        interval = (last - first) / max(1, count - 1)
        levels = (math.floor(first + index * interval + 0.5) for index in range(count))
        evenly = [
            tuple(min(max(level, low), high) for low, high in zip(self.min_replicas, self.max_replicas, strict=True))
            for level in levels
        ]
        one_hot = [
            (*self.min_replicas[:index], high, *self.min_replicas[index + 1 :])
            for index, high in enumerate(self.max_replicas)
        ]
        return tuple(dict.fromkeys([*evenly, *one_hot]))


def benefit(replicas: Sequence[int], least: Sequence[int], latency_s: float, target_s: float, weight: float) -> float:
    """Return the benefit score F of a configuration (Eq. 4).

    Examples
    --------
    The best configurations for WordCount and Yahoo in V-C, which met the latency; alpha is inferred from them.

    >>> round(benefit((7, 8, 12, 38), (3, 4, 12, 10), 0.15, 0.18, 0.8), 4)
    0.9096
    >>> round(benefit((4, 2, 1, 1, 40), (4, 2, 1, 1, 34), 0.2237, 0.3, 0.8), 3)
    0.994
    """
    latency_score = 1.0 if latency_s <= target_s else target_s / latency_s
    resource_score = fmean(min(1.0, few / have) for few, have in zip(least, replicas, strict=True))
    return weight * latency_score + (1 - weight) * resource_score


Values = NDArray[np.float64]
#: Function that returns means and standard deviations of the scores of configurations, one per row.
Posterior = Callable[[Values], tuple[Values, Values]]

#: Restarts of the optimiser: three more found no better likelihood in 23 of 24 synthetic cases, in twice the time.
_RESTARTS = 2


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """Gaussian process of the scores: Matern 2.5 with one length scale per operator, and noise."""

    #: Regressor of scikit-learn, fitted to standardised scores.
    regressor: Any
    #: Mean and scale of the standardisation (mean, scale).
    mean: float
    scale: float

    @classmethod
    def fitted(cls, configurations: Values, scores: Values, seed: int) -> Self:
        """Fit a process to samples by maximum likelihood.

        Parameters
        ----------
        configurations
            Coordinates from 0 to 1, one per row, at least one.
        """
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        operators = configurations.shape[1]
        smooth = Matern(length_scale=np.ones(operators), length_scale_bounds=(0.2, 5.0), nu=2.5)
        kernel = ConstantKernel(1.0, (0.25, 4.0)) * smooth + WhiteKernel(1e-3, (1e-6, 1e-1))
        regressor = GaussianProcessRegressor(kernel, n_restarts_optimizer=_RESTARTS, random_state=seed)
        mean, spread = float(np.mean(scores)), float(np.std(scores))
        scale = spread if spread > 0 else 1.0
        with warnings.catch_warnings():
            # With few samples a parameter often ends at its bound, which is harmless.
            warnings.simplefilter("ignore", ConvergenceWarning)
            regressor.fit(configurations, (scores - mean) / scale)
        return cls(regressor, mean, scale)

    def __call__(self, configurations: Values) -> tuple[Values, Values]:
        """Return means and standard deviations of the scores of configurations, without the noise of a sample."""
        mean, deviation = self.regressor.predict(configurations, return_std=True)
        noise = self.regressor.kernel_.k2.noise_level
        variance = np.maximum(0.0, deviation**2 - noise)
        return self.mean + self.scale * mean, self.scale * np.sqrt(variance)


def transfer_posterior(
    old: Posterior, old_samples: int, configurations: Values, scores: Values, seed: int, weight: float
) -> Posterior:
    """Return the posterior at a new rate, from the posterior at another rate and a few samples (Algorithm 2).

    Parameters
    ----------
    old_samples
        Number of measured samples at the other rate.
    weight
        Alpha of Algorithm 2.
    """
    residual = GaussianProcess.fitted(configurations, scores - old(configurations)[0], seed)
    share = share_of_new(len(scores), old_samples, weight)

    def posterior(points: Values) -> tuple[Values, Values]:
        (old_mean, old_deviation), (mean, deviation) = old(points), residual(points)
        return old_mean + mean, deviation**share * old_deviation ** (1 - share)

    return posterior


def share_of_new(new_samples: int, old_samples: int, weight: float) -> float:
    """Return beta of Algorithm 2, the exponent of the deviation at the new rate.

    Examples
    --------
    Three new samples and twelve old ones: 2.4 / 14.4.

    >>> round(share_of_new(3, 12, 0.8), 4)
    0.1667
    """
    return weight * new_samples / (weight * new_samples + old_samples)


def expected_improvement(mean: Values, deviation: Values, best: float, margin: float) -> Values:
    """Return the expected improvement of configurations over the best score.

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


#: Maximum number of configurations for an exhaustive search.
_MAX_ENUMERATED = 200_000

_SAMPLE_SIZE = 4096
_MAX_CLIMB_STEPS = 200


def next_trial(
    space: SearchSpace,
    posterior: Posterior,
    measured: Sequence[tuple[Replicas, float]],
    *,
    margin: float,
    rng: np.random.Generator,
) -> Replicas | None:
    """Return the configuration to try next; None if all were tried."""
    tried = {replicas for replicas, _ in measured}
    best = max(score for _, score in measured)

    def promise(candidates: Sequence[Replicas]) -> Values:
        mean, deviation = posterior(space.scaled(candidates))
        gain = expected_improvement(mean, deviation, best, margin)
        return gain if gain.max() > 0 else mean - mean.max()  # no uncertainty left: take the best mean

    if space.size <= _MAX_ENUMERATED:
        candidates = _untried(space.enumerate_all(), tried)
        return candidates[int(promise(candidates).argmax())] if candidates else None
    ranked = sorted(measured, key=lambda item: -item[1])[:10]
    near = [other for replicas, _ in ranked for other in space.neighbours(replicas)]
    candidates = _untried([*near, *space.sample(_SAMPLE_SIZE, rng)], tried)
    if not candidates:
        return None
    here = candidates[int(promise(candidates).argmax())]
    for _ in range(_MAX_CLIMB_STEPS):
        around = [here, *_untried(space.neighbours(here), tried)]
        there = around[int(promise(around).argmax())]
        if there == here:
            break
        here = there
    return here


def _untried(configurations: Sequence[Replicas], tried: Collection[Replicas]) -> list[Replicas]:
    return [replicas for replicas in configurations if replicas not in tried]
