"""A run that the simulator made from known constants is refitted to these constants."""

from dataclasses import replace

import pytest
from made_runs import KNOWN, played_run

from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.batches import batch_errors, of_run
from testbed.simulator.validation.comparison import timeline_errors
from testbed.simulator.validation.recorded_run import reenact
from testbed.simulator.validation.refit import refit

FORGOTTEN = replace(
    KNOWN,
    trigger_s=60.0,
    service_ms_per_row=0.5,
    fixed_s=1.0,
    driver_round_trips=1.0,
    batch_noise=0.5,
    cold_least_s=0.0,
    cold_most_s=0.0,
    start_s=9.0,
    start_spread=0.7,
    warm_up_share=0.9,
    leave_s=9.0,
)


def test_without_noise_every_fitted_constant_comes_back() -> None:
    run = played_run(KNOWN)
    assert {len(batch.nodes) for batch in run.batches} == {1, 2, 3, 4, 5}
    fitted = refit(FORGOTTEN, [run]).physics
    # Four digits are kept of the first three, four places of the others. Nothing else varies.
    assert fitted.service_ms_per_row == pytest.approx(2.3, rel=1e-3)
    assert fitted.fixed_s == pytest.approx(0.25, rel=1e-3)
    assert fitted.driver_round_trips == pytest.approx(6.0, rel=1e-3)
    # What is left after the rounding of those, in a batch of some seconds.
    assert fitted.cold_least_s == pytest.approx(5.0, abs=0.01)
    assert fitted.cold_most_s == pytest.approx(5.0, abs=0.01)
    assert fitted.leave_s == pytest.approx(0.5, abs=0.01)
    assert fitted.warm_up_share == pytest.approx(0.0, abs=0.01)
    assert fitted.start_s == pytest.approx(2.5)
    assert fitted.start_spread == pytest.approx(0.0, abs=1e-9)
    assert fitted.batch_noise == pytest.approx(0.0, abs=1e-3)


def test_what_the_second_batch_takes_longer_comes_back() -> None:
    # 0.06 of 5 s in the second batch, and half of it in each that follows, which the fit takes for noise of warm ones.
    fitted = refit(FORGOTTEN, [played_run(replace(KNOWN, warm_up_share=0.06, warm_up_fade=0.5))]).physics
    assert fitted.warm_up_share == pytest.approx(0.06, abs=0.015)


def test_a_start_of_which_the_record_does_not_tell_is_met_within_half_a_batch() -> None:
    run = played_run(KNOWN, reported=False)
    joined_s = max(batch.seconds for batch in run.batches)
    assert refit(FORGOTTEN, [run]).physics.start_s == pytest.approx(2.5, abs=joined_s / 2)


def test_what_starts_take_longer_at_the_same_time_comes_back() -> None:
    # One replica after 2.5 s; each of three that are ordered together after 2.5 + 2 x 1.5 s.
    run = played_run(replace(KNOWN, start_together_s=1.5), groups=(1, 3))
    fitted = refit(FORGOTTEN, [run]).physics
    assert (fitted.start_s, fitted.start_together_s) == pytest.approx((2.5, 1.5))
    assert fitted.start_spread == pytest.approx(0.0, abs=1e-9)


def test_without_a_start_alone_what_the_others_add_is_kept() -> None:
    # Two and two: 4.0 s, and the other one added 1.5 s of them.
    run = played_run(replace(KNOWN, start_together_s=1.5), groups=(2, 2))
    fitted = refit(replace(FORGOTTEN, start_together_s=1.5), [run])
    assert fitted.physics.start_s == pytest.approx(2.5)
    assert "start_together_s" not in fitted.origins


STATEFUL = replace(
    KNOWN, state_partitions=6, state_task_s=0.05, state_round_trips=2.0, exchange_round_trips=1.0
)


def test_the_time_of_a_state_task_comes_back_from_runs_on_several_placements() -> None:
    fitted = refit(replace(STATEFUL, fixed_s=1.0, state_task_s=0.9), [played_run(STATEFUL)])
    # Four digits are kept of each.
    assert fitted.physics.state_task_s == pytest.approx(0.05, rel=1e-3)
    assert fitted.physics.fixed_s == pytest.approx(0.25, rel=1e-3)
    assert fitted.physics.driver_round_trips == pytest.approx(6.0, rel=1e-3)
    assert "state_task_s" in fitted.origins


def test_two_placements_do_not_tell_what_of_a_batch_is_state() -> None:
    run = played_run(STATEFUL)
    # The second order comes at 85.3 s: n0 alone before, n0 and n1 from about 62.5 s on.
    part = replace(run, batches=[each for each in run.batches if each.ended_at_s < 85], orders=run.orders[:1])
    assert {each.nodes for each in part.warm_batches} == {("n0",), ("n0", "n1")}
    fitted = refit(replace(STATEFUL, state_task_s=0.9), [part])
    assert fitted.physics.state_task_s == 0.9
    assert "state_task_s" not in fitted.origins


@pytest.mark.parametrize("seed", range(4))
def test_with_noise_batch_times_are_met_as_closely_as_their_number_allows(seed: int) -> None:
    noise = 0.03
    run = played_run(replace(KNOWN, batch_noise=noise), seed=seed)
    count = len(of_run(run, from_s=30.0))
    fitted = refit(FORGOTTEN, [run]).physics
    clean = of_run(played_run(KNOWN), from_s=30.0)
    # Least squares of 3 constants on `count` readings are off by noise sqrt(3 / count) in the root mean square, and
    # the mean is below that; three times it is not exceeded by chance. Network time is without noise: even less.
    assert batch_errors(fitted, clean).batch_time.mean_pct < 300 * noise * (3 / count) ** 0.5
    # The network's share of a batch has no noise, at most 0.9 s of 3.5 s. A median deviation of `count` values
    # strays by 1.17 / sqrt(2 count) of itself.
    stray = 3 * 1.17 / (2 * count) ** 0.5
    assert 0.7 * noise * (1 - stray) < fitted.batch_noise < noise * (1 + stray)


def test_a_run_acted_again_with_its_own_constants_is_the_same_run() -> None:
    run = played_run(KNOWN)
    again = reenact(run, KNOWN, seed=99)
    errors = timeline_errors(run.batches, again)
    # The load is known at the beginning of batches only, so a batch that is not full may differ by some rows; while
    # rows wait, batches are full and all is equal.
    assert errors.backlog_pct < 1.0
    assert errors.batch_time_pct < 3.0
    assert errors.throughput_minute_pct < 1.0


def test_kept_constants_are_those_to_begin_from() -> None:
    base: SparkPhysics = replace(FORGOTTEN, driver_restart_s=17.0, failure_detection_s=3.0)
    found = refit(base, [played_run(KNOWN)])
    assert (found.physics.driver_restart_s, found.physics.failure_detection_s) == (17.0, 3.0)
    changed = {"service_ms_per_row", "fixed_s", "driver_round_trips", "batch_noise", "cold_least_s"}
    changed |= {"cold_most_s", "start_s", "start_spread", "leave_s", "trigger_s", "warm_up_share"}
    assert set(found.origins) == changed
