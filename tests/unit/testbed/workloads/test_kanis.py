from itertools import pairwise

import numpy as np
import pytest
from refusals import refused

from gesscale.errors import InputError
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


def test_the_cosine_of_query_5_has_the_rates_of_the_thesis():
    name = "kanis-cosine:minimum=10000,maximum=110000,noise=7500"
    drawn = np.concatenate([rates(name, seed) for seed in SEEDS])
    # 60,000 +- 50,000; the noise of seed and minute is that of the default times 7,500 / 100,000.
    wave = 60_000 + 50_000 * np.cos(2 * np.pi * np.arange(140) / 60)
    assert drawn == pytest.approx(
        np.concatenate(
            [wave + (rates("kanis-cosine", seed) - 1_200_000 - 20 * (wave - 60_000)) * 0.075 for seed in SEEDS]
        )
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_defaults_of_a_pattern_can_be_given(pattern):
    given = ",".join(f"{name}={number}" for name, number in PATTERNS[pattern][1].items())
    assert rates(f"kanis-{pattern}:{given}", 3) == pytest.approx(rates(f"kanis-{pattern}", 3), abs=0)


def test_a_walk_scales_with_its_bounds():
    # Half the span from 1,000 on: every step is half as long, so each rate is 1,000 plus half of the default's.
    assert rates("kanis-random:minimum=1000,maximum=1251000,length=60", 2)[0] == 626_000
    halved = rates("kanis-increasing:minimum=1000,maximum=1251000", 2)
    assert halved == pytest.approx(1_000 + rates("kanis-increasing", 2) / 2)


@pytest.mark.parametrize(
    "parameter", ["", "noise", "noise=-1", "noise=nan", "noise=inf", "speed=2", "noise=1,", "noise=1;"]
)
def test_a_parameter_of_another_form_is_rejected(parameter):
    with refused("workload-parameter-invalid", InputError, got=parameter.rpartition(",")[2]):
        workload_named(f"kanis-cosine:{parameter}", seed=0)


@pytest.mark.parametrize("parameter", ["period=0", "length=0.5", "length=1441"])
def test_minutes_out_of_range_are_rejected(parameter):
    with refused("workload-minutes-invalid", InputError, got=parameter):
        workload_named(f"kanis-cosine:{parameter}", seed=0)


def test_a_minimum_above_the_maximum_is_rejected():
    with refused("workload-range-invalid", InputError, minimum=3e6, maximum=2.2e6):
        workload_named("kanis-cosine:minimum=3e6", seed=0)


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


def test_spikes_take_the_parameters_of_their_pattern():
    assert len(rates("kanis-spikes:random,length=20", 5)) == 20
