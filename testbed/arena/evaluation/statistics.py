"""Confidence intervals of means, differences and ratios by bootstrap over seeds, paired by seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

RESAMPLES = 4000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean with its 95 % confidence interval over seeds."""

    #: Mean over the runs.
    mean: float
    #: Ends of the interval; both None with fewer than two runs. The high end of a ratio is infinite if some resamples
    #: of the baseline are all zero (low, high).
    low: float | None
    high: float | None
    #: Number of runs.
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricComparison:
    """Comparison of a metric of two policies on the same seeds."""

    #: Number of seeds for which both have the metric; difference and ratio are over these.
    pairs: int
    #: Policy minus baseline, in the metric's unit; None without pairs.
    difference: Interval | None
    #: Mean of the policy over mean of the baseline; None without pairs, if the baseline's mean is 0, or if no ratio
    #: was requested.
    ratio: Interval | None
    #: Share of the common seeds in which the policy was better; a tie is half a win. A run that was lost or lacks the
    #: metric is worse than any that has it. None if no seed has the metric.
    wins: float | None
    #: Reason why a part is missing; empty if complete.
    note: str = ""


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the mean with its 95 % interval.

    The expanded percentile bootstrap (T. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69(4), 2015, section 3.3): percentiles of the resampled means, taken further out than 2.5 and
    97.5 % by as much as Student's t is wider than the normal distribution. Of normal samples of 3, 5, 8, 10 and 30 it
    covers the truth in 75, 91, 95, 94 and 94 of 100 (the plain one: 75, 83, 89, 91 and 92), of log-normal ones,
    which are skewed, in 64, 81, 84, 87 and 89.
    """
    if not values:
        return None
    array = np.asarray(values, dtype=float)
    mean = values[0] if min(values) == max(values) else float(array.mean())  # a sum would change the last digit
    return _interval(mean, _resampled_means(array), len(values))


def compare(
    policy: Mapping[int, float | None],
    baseline: Mapping[int, float | None],
    *,
    higher_is_better: bool = False,
    as_ratio: bool = True,
) -> MetricComparison:
    """Compare a metric of two policies, seed by seed.

    Both policies meet the same world in a seed, so its day, map and noise cancel out. Seeds are resampled, never single
    runs. The ratio is that of the means, not the mean of the ratios, so a seed in which the baseline has 0 does not
    dominate it.

    Parameters
    ----------
    policy, baseline
        The metric by seed; None if the run was lost or lacks it.
    """
    common = sorted(policy.keys() & baseline.keys())
    pairs = [
        (ours, theirs)
        for seed in common
        if (ours := policy[seed]) is not None and (theirs := baseline[seed]) is not None
    ]
    sign = -1.0 if higher_is_better else 1.0
    points = [
        _point(policy[seed], baseline[seed], sign)
        for seed in common
        if policy[seed] is not None or baseline[seed] is not None
    ]
    wins = sum(points) / len(points) if points else None
    if not pairs:
        return MetricComparison(
            pairs=0, difference=None, ratio=None, wins=wins, note="no seed for which both have the metric"
        )
    ours, theirs = np.asarray(pairs, dtype=float).T
    ratio = _ratio(ours, theirs) if as_ratio else None
    return MetricComparison(
        pairs=len(pairs),
        difference=mean_interval(list(ours - theirs)),
        ratio=ratio,
        wins=wins,
        note="no ratio: the baseline's mean is 0" if as_ratio and ratio is None else "",
    )


def geometric_mean_of_ratios(pairs: Sequence[tuple[Mapping[int, float], Mapping[int, float]]]) -> Interval | None:
    """Return the geometric mean over workloads of the ratios of a policy's mean to the baseline's."""
    if not pairs:
        return None
    seeds = sorted(set.intersection(*(set(figures) for pair in pairs for figures in pair)))
    if not seeds:
        return None
    figures = np.array([[[by_seed[seed] for seed in seeds] for by_seed in pair] for pair in pairs])
    ours, theirs = np.moveaxis(figures, 1, 0)
    logs = np.zeros(RESAMPLES)
    for above, below in zip(ours, theirs, strict=True):
        logs += np.log(_resampled_means(above) / _resampled_means(below))
    mean = float(np.exp(np.log(ours.mean(axis=1) / theirs.mean(axis=1)).mean()))
    return _interval(mean, np.exp(logs / len(pairs)), len(seeds))


def _point(ours: float | None, theirs: float | None, sign: float) -> float:
    """Return 1 for a win, 0 for a loss, one half for a tie."""
    left = math.inf if ours is None else sign * ours
    right = math.inf if theirs is None else sign * theirs
    return 0.5 if left == right else float(left < right)


def _ratio(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Interval | None:
    if theirs.mean() == 0:
        return None
    above, below = _resampled_means(ours), _resampled_means(theirs)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((above == 0) & (below == 0), 1.0, above / below)
    return _interval(float(ours.mean() / theirs.mean()), ratios, len(ours))


def _interval(mean: float, resampled: NDArray[np.float64], runs: int) -> Interval:
    if runs < 2:
        return Interval(mean=mean, low=None, high=None, runs=runs)
    tail = _tail(runs)
    # order statistics, as nothing can be interpolated between a finite and an infinite ratio
    low, high = np.quantile(resampled, (tail, 1 - tail), method="inverted_cdf")
    return Interval(mean=mean, low=float(low), high=float(high), runs=runs)


def _tail(runs: int) -> float:
    """Return the share of resamples beyond each end of the interval."""
    quantile = scipy.special.stdtrit(runs - 1, (1 + _CONFIDENCE) / 2)
    return float(scipy.special.ndtr(-math.sqrt(runs / (runs - 1)) * quantile))


def _resampled_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if values.min() == values.max():
        return np.full(RESAMPLES, values[0])
    means: NDArray[np.float64] = values[_draws(len(values))].mean(axis=1)
    return means


@lru_cache(maxsize=8)
def _draws(runs: int) -> NDArray[np.intp]:
    """Return the runs of each resample: the same for every metric and policy, so that pairs remain pairs."""
    return np.random.default_rng(0).integers(0, runs, (RESAMPLES, runs))
