from itertools import pairwise

import numpy as np
import pytest

from testbed.workloads.kanis import PATTERNS, spikes
from testbed.workloads.registry import workload_named

SEEDS = range(40)


def rates(name, seed):
    workload = workload_named(name, seed=seed)
    assert workload.step_s == 60
    return np.array(workload.rows_per_s)


def changes(name, seed):
    return [after - before for before, after in pairwise(rates(name, seed))]


def test_the_cosine_is_within_its_noise():
    for seed in SEEDS:
        trajectory = rates("kanis-cosine", seed)
        # Maxima at minutes 0, 60, 120, minima at 30, 90: 1.2 M +- 1.0 M, each within the noise of 0.1 M.
        assert trajectory[[0, 60, 120]] == pytest.approx(2_200_000, abs=100_000)
        assert trajectory[[30, 90]] == pytest.approx(200_000, abs=100_000)
        assert trajectory[[15, 45, 75, 105, 135]] == pytest.approx(1_200_000, abs=100_000)


@pytest.mark.parametrize(
    ("name", "begins", "down", "up"),
    [
        ("kanis-random", 1_250_000, 500_000, 500_000),
        ("kanis-increasing", 0, 2_500_000 / 30, 2_500_000 / 22),
        ("kanis-decreasing", 2_500_000, 2_500_000 / 21, 2_500_000 / 28),
    ],
)
def test_a_walk_keeps_its_start_stride_and_bounds(name, begins, down, up):
    strides = []
    for seed in SEEDS:
        trajectory = rates(name, seed)
        assert trajectory[0] == begins
        assert trajectory.min() >= 0
        assert trajectory.max() <= 2_500_000
        strides += changes(name, seed)
    # 5560 draws: the farthest is some 1/5560 of the range from its bound.
    assert -down <= min(strides) < -0.995 * down
    assert 0.995 * up < max(strides) <= up


def test_a_spike_takes_a_minute_of_half_to_two_million():
    added = spikes(np.random.default_rng(1), 2_000_000)
    up, down = added[added > 0], added[added < 0]
    for heights in (up, -down):
        assert 500_000 <= heights.min() < 505_000
        assert 1_995_000 < heights.max() <= 2_000_000
        # Either kind alone 0.05 * 0.95, half of both 0.05^2 / 2: 0.04875; sd of the share 0.00015.
        assert len(heights) / 2_000_000 == pytest.approx(0.04875, abs=0.0006)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_spikes_are_added_to_the_pattern_of_the_same_seed(pattern):
    plain = rates(f"kanis-{pattern}", 5)
    spiked = rates(f"kanis-spikes:{pattern}", 5)
    differs = spiked != plain
    assert 1 <= differs.sum() < 0.3 * len(plain)
    assert spiked.min() >= 0
    up = spiked[differs] > plain[differs]
    assert np.all(np.abs(spiked - plain)[differs][up] >= 499_999)  # downward ones may end at 0
