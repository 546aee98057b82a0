"""A refit to a simulated run returns the constants of the simulation."""

from dataclasses import replace

import pytest
from made_runs import KNOWN, simulated_run

from testbed.simulator.validation.batches import batch_errors, batches_of_run
from testbed.simulator.validation.comparison import timeline_errors
from testbed.simulator.validation.recorded_run import simulate_recorded_run
from testbed.simulator.validation.refit import refit

FORGOTTEN = replace(
    KNOWN,
    trigger_s=60.0,
    service_ms_per_row=0.5,
    fixed_s=1.0,
    driver_round_trips=1.0,
    batch_noise=0.5,
    cold_min_s=0.0,
    cold_max_s=0.0,
    start_s=9.0,
    start_spread=0.7,
    warm_up_share=0.9,
    leave_s=9.0,
)


def test_without_noise_every_constant_is_recovered() -> None:
    run = simulated_run(KNOWN)
    assert {len(batch.nodes) for batch in run.batches} == {1, 2, 3, 4, 5}
    fitted = refit(FORGOTTEN, [run]).physics
    # The first three are rounded to four digits, the others to four decimals. No other constant varies.
    assert fitted.service_ms_per_row == pytest.approx(2.3, rel=1e-3)
    assert fitted.fixed_s == pytest.approx(0.25, rel=1e-3)
    assert fitted.driver_round_trips == pytest.approx(6.0, rel=1e-3)
    # The error after this rounding, in a batch of some seconds.
    assert fitted.cold_min_s == pytest.approx(5.0, abs=0.01)
    assert fitted.cold_max_s == pytest.approx(5.0, abs=0.01)
    assert fitted.leave_s == pytest.approx(0.5, abs=0.01)
    assert fitted.warm_up_share == pytest.approx(0.0, abs=0.01)
    assert fitted.start_s == pytest.approx(2.5)
    assert fitted.start_spread == pytest.approx(0.0, abs=1e-9)
    assert fitted.batch_noise == pytest.approx(0.0, abs=1e-3)


def test_the_extra_time_of_simultaneous_starts_is_recovered() -> None:
    # One replica after 2.5 s; each of three that are ordered together after 2.5 + 2 x 1.5 s.
    run = simulated_run(replace(KNOWN, start_together_s=1.5), groups=(1, 3))
    fitted = refit(FORGOTTEN, [run]).physics
    assert (fitted.start_s, fitted.start_together_s) == pytest.approx((2.5, 1.5))
    assert fitted.start_spread == pytest.approx(0.0, abs=1e-9)


STATEFUL = replace(KNOWN, state_partitions=6, state_task_s=0.05, state_round_trips=2.0, exchange_round_trips=1.0)


def test_the_time_of_a_state_task_is_recovered_from_placements() -> None:
    fitted = refit(replace(STATEFUL, fixed_s=1.0, state_task_s=0.9), [simulated_run(STATEFUL)])
    # Each is rounded to four digits.
    assert fitted.physics.state_task_s == pytest.approx(0.05, rel=1e-3)
    assert fitted.physics.fixed_s == pytest.approx(0.25, rel=1e-3)
    assert fitted.physics.driver_round_trips == pytest.approx(6.0, rel=1e-3)
    assert "state_task_s" in fitted.origins


@pytest.mark.parametrize("seed", range(2))
def test_with_noise_batch_times_are_predicted_within_their_error(seed: int) -> None:
    noise = 0.03
    run = simulated_run(replace(KNOWN, batch_noise=noise), seed=seed)
    count = len(batches_of_run(run, from_s=30.0))
    fitted = refit(FORGOTTEN, [run]).physics
    clean = batches_of_run(simulated_run(KNOWN), from_s=30.0)
    # Least squares of 3 constants on `count` readings are off by noise sqrt(3 / count) in the root mean square, and
    # the mean is below that; three times this is not exceeded by chance. Network time has no noise, so
    # the error is even smaller.
    assert batch_errors(fitted, clean).batch_time.mean_pct < 300 * noise * (3 / count) ** 0.5
    # The network's share of a batch has no noise, at most 0.9 s of 3.5 s. A median deviation of `count` values
    # has a relative error of 1.17 / sqrt(2 count).
    stray = 3 * 1.17 / (2 * count) ** 0.5
    assert 0.7 * noise * (1 - stray) < fitted.batch_noise < noise * (1 + stray)


def test_a_replay_with_the_true_constants_is_the_same_run() -> None:
    run = simulated_run(KNOWN)
    again = simulate_recorded_run(run, KNOWN, seed=99)
    errors = timeline_errors(run.batches, again)
    # The load is known at the beginning of batches only, so a batch that is not full may differ by some rows; while
    # rows wait, batches are full and equal.
    assert errors.backlog_pct < 1.0
    assert errors.batch_time_pct < 3.0
    assert errors.throughput_minute_pct < 1.0
