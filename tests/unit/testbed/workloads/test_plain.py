import pytest

from testbed.workloads.registry import workload_named


def test_the_stairs_go_up_and_down():
    workload = workload_named("steps:5", seed=0)
    assert workload.rows_per_s == (200, 400, 600, 800, 1000, 800, 600, 400, 200)
    assert workload.step_s == 5 * 60
    assert workload_named("steps", seed=0).duration_s == 180 * 60


@pytest.mark.parametrize(("name", "period_s"), [("sine", 3600), ("sine:10", 600)])
def test_the_sine_has_four_periods_from_its_lowest_point(name, period_s):
    workload = workload_named(name, seed=0)
    assert workload.duration_s == pytest.approx(4 * period_s)
    assert workload.rows_per_s[0] == min(workload.rows_per_s) == pytest.approx(100)
    assert workload.rows_per_s[int(period_s / 2 / workload.step_s)] == workload.peak_rows_per_s == pytest.approx(1000)
    assert workload.total_rows == pytest.approx(550 * 4 * period_s)


@pytest.mark.parametrize(("name", "cycle_s"), [("spikes", 1800), ("spikes:6", 360)])
@pytest.mark.parametrize("seed", range(3))
def test_each_cycle_has_one_spike_of_its_length(name, cycle_s, seed):
    workload = workload_named(name, seed=seed)
    assert workload.duration_s == 8 * cycle_s
    per_cycle = len(workload.rows_per_s) // 8
    for cycle in range(8):
        rates = workload.rows_per_s[cycle * per_cycle : (cycle + 1) * per_cycle]
        high = [index for index, rate in enumerate(rates) if rate == 1000]
        assert set(rates) == {300.0, 1000.0}
        assert high == list(range(high[0], high[-1] + 1))
        # 1/30 to 1/6 of the cycle, rounded to steps of 10 s, one at least
        assert max(10, cycle_s / 30 - 5) <= 10 * len(high) <= cycle_s / 6 + 5
        assert 0.2 * cycle_s - 5 <= 10 * high[0] <= 0.8 * cycle_s + 5
