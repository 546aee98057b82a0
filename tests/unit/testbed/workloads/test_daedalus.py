from itertools import pairwise

import pytest

from testbed.workloads.registry import workload_named


def trajectory(name):
    workload = workload_named(name, seed=0)
    assert workload.step_s == 1
    assert workload.duration_s == 6 * 3600
    return workload.rows_per_s


@pytest.mark.parametrize(
    ("name", "peak", "mean", "change"),
    [
        # The steepest second of a sine of amplitude 27,500 and period 10,800 s: 2 pi 27,500 / 10,800 = 15.999.
        ("daedalus-sine", 60_000, 32_500, 15.999),
        ("daedalus-ysb", 549_999, 211_334, 398),
        ("daedalus-traffic", 99_989, 30_014, 1_101),
    ],
)
def test_peak_mean_and_steepest_second_equal_the_source(name, peak, mean, change):
    rates = trajectory(name)
    assert max(rates) == pytest.approx(peak, rel=1e-6)
    assert sum(rates) / len(rates) == pytest.approx(mean, rel=1e-4)
    assert max(abs(after - before) for before, after in pairwise(rates)) == pytest.approx(change, rel=1e-3)


def test_the_sine_has_two_periods_between_its_bounds():
    rates = trajectory("daedalus-sine")
    assert min(rates) == pytest.approx(5_000)
    assert rates[0] == pytest.approx(32_500)
    assert rates[2700] == pytest.approx(60_000)  # a quarter of 10,800 s
    assert rates[:10_800] == pytest.approx(rates[10_800:])
