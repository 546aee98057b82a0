"""Means, intervals and comparisons by seed."""

import math

import numpy as np
import pytest
import scipy

from testbed.arena.evaluation.statistics import compare, geometric_mean_of_ratios, mean_interval

TEN = [3.0, 5.0, 4.0, 8.0, 1.0, 6.0, 2.0, 9.0, 4.0, 8.0]  # mean 5.0


def test_the_interval_equals_scipys_bootstrap_at_the_expanded_level():
    # n = 10: t(0.975, 9) = 2.2622, times sqrt(10/9) = 2.3846, so 0.855 % are left out at either end, not 2.5 %
    level = 1 - 2 * 0.00855
    expected = scipy.stats.bootstrap(
        (TEN,), np.mean, method="percentile", confidence_level=level, n_resamples=20_000, rng=1
    ).confidence_interval
    interval = mean_interval(TEN)
    assert interval.mean == 5.0
    assert interval.runs == 10
    # a percentile of 4,000 resamples is itself uncertain by some 0.05 here
    assert interval.low == pytest.approx(expected.low, abs=0.15)
    assert interval.high == pytest.approx(expected.high, abs=0.15)


@pytest.mark.parametrize("runs", [8, 30])
def test_intervals_cover_the_true_mean_in_about_95_of_100_samples(runs):
    rng = np.random.default_rng(7)
    samples = rng.normal(10.0, 2.0, (600, runs))
    intervals = [mean_interval(list(sample)) for sample in samples]
    covered = np.mean([interval.low <= 10.0 <= interval.high for interval in intervals])
    # 600 samples: one standard error is 0.9 %; the plain percentile bootstrap covers 89 % of eight
    assert 0.92 <= covered <= 0.98


def test_a_tie_is_half_a_win_and_more_may_be_better():
    comparison = compare({0: 1.0, 1: 2.0, 2: 3.0, 3: 5.0}, {0: 1.0, 1: 3.0, 2: 2.0, 3: 4.0})
    assert comparison.wins == (0.5 + 1 + 0 + 0) / 4
    more = compare({0: 1.0, 1: 2.0, 2: 3.0, 3: 5.0}, {0: 1.0, 1: 3.0, 2: 2.0, 3: 4.0}, higher_is_better=True)
    assert more.wins == (0.5 + 0 + 1 + 1) / 4


def test_a_lost_run_loses_its_seed_and_no_mean_includes_it():
    comparison = compare({0: 2.0, 1: None, 2: 2.0}, {0: 4.0, 1: 100.0, 2: 4.0})
    assert comparison.pairs == 2
    assert comparison.ratio.mean == 0.5
    assert comparison.wins == pytest.approx(2 / 3)


def test_a_baseline_that_is_often_zero_gives_an_open_interval():
    # two seeds: a quarter of the resamples draw the first one twice, whose baseline is 0
    comparison = compare({0: 1.0, 1: 2.0}, {0: 0.0, 1: 2.0})
    assert comparison.ratio.mean == 1.5
    assert comparison.ratio.low == 1.0
    assert comparison.ratio.high == math.inf


def test_ratios_of_workloads_have_equal_weight_and_share_resamples():
    # Twice and eight times the baseline: the geometric mean is 4, whatever the scale of a workload.
    small, large = {1: 1.0, 2: 3.0}, {1: 1000.0, 2: 3000.0}
    pairs = [({seed: 2 * x for seed, x in small.items()}, small), ({s: 8 * x for s, x in large.items()}, large)]
    interval = geometric_mean_of_ratios(pairs)
    assert (interval.mean, interval.low, interval.high) == pytest.approx((4.0, 4.0, 4.0))
    assert interval.runs == 2
