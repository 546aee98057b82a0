import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gesscale.errors import InputError
from testbed.workloads.workload import Workload

RATES = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e6)), min_size=1, max_size=30).filter(any)
STEPS = st.floats(0.1, 3600)


def load(*rates, step_s=10.0):
    return Workload.of_rates("test", step_s, rates)


def test_duration_peak_and_total_follow_from_rates_and_step():
    workload = load(1, 0, 3)
    assert workload.duration_s == 30
    assert workload.peak_rows_per_s == 3
    assert workload.total_rows == 40  # 10 * (1 + 0 + 3)


def test_a_rate_holds_from_the_beginning_of_its_step_and_is_zero_outside():
    workload = load(1, 0, 3)
    at = {-0.001: 0, 0: 1, 9.999: 1, 10: 0, 20: 3, 29.999: 3, 30: 0, 1e9: 0}
    assert {at_s: workload.rate_rows_per_s(at_s) for at_s in at} == at


def test_offered_rows_rise_within_steps_and_stand_still_outside():
    workload = load(1, 0, 3)
    at = {-5: 0, 0: 0, 5: 5, 10: 10, 15: 10, 20: 10, 25: 25, 30: 40, 31: 40}
    assert {at_s: workload.offered_rows(at_s) for at_s in at} == at


def test_a_row_is_offered_after_a_pause_not_in_it():
    workload = load(0, 1, 0, 3)
    assert workload.offered_at_s(0) == 10  # nothing in the first 10 s
    assert workload.offered_at_s(5) == 15
    assert workload.offered_at_s(10) == 30  # ten rows until 20 s, then a pause until 30 s
    assert workload.offered_at_s(13) == 31


def test_rows_beyond_the_last_come_at_the_end_and_rows_below_zero_at_the_first():
    workload = load(0, 1)
    assert workload.offered_at_s(10) == 20
    assert workload.offered_at_s(11) == 20
    assert workload.offered_at_s(-4) == 10


@given(RATES, STEPS, st.floats(0, 1))
def test_offered_at_is_the_inverse_of_offered_rows(rates, step_s, share):
    workload = load(*rates, step_s=step_s)
    row = share * workload.total_rows
    at_s = workload.offered_at_s(row)
    assert 0 <= at_s <= workload.duration_s * (1 + 1e-12)
    # Rounding of at_s by its last bits moves the rows by that times the rate.
    slack = 1e-9 * (workload.total_rows + workload.duration_s * workload.peak_rows_per_s)
    assert workload.offered_rows(at_s) == pytest.approx(row, abs=slack)


@given(RATES, STEPS, st.floats(0, 1), st.floats(0, 1))
def test_later_rows_are_offered_later(rates, step_s, one, other):
    workload = load(*rates, step_s=step_s)
    first, second = sorted((one, other))
    assert workload.offered_at_s(first * workload.total_rows) <= workload.offered_at_s(
        second * workload.total_rows
    ) * (1 + 1e-12)


@given(RATES, STEPS, st.floats(0, 1), st.floats(0, 1))
def test_rows_between_two_instants_are_never_more_than_the_peak_allows(rates, step_s, one, other):
    workload = load(*rates, step_s=step_s)
    first_s, second_s = sorted((one * workload.duration_s, other * workload.duration_s))
    rows = workload.offered_rows(second_s) - workload.offered_rows(first_s)
    assert -1e-9 * workload.total_rows <= rows
    assert rows <= (second_s - first_s) * workload.peak_rows_per_s + 1e-9 * workload.total_rows


@given(RATES, STEPS, st.floats(0.01, 100))
def test_faster_offers_the_same_rows_in_less_time(rates, step_s, speed):
    workload = load(*rates, step_s=step_s)
    assume(workload.total_rows > 0)
    fast = workload.faster(speed)
    assert fast.total_rows == pytest.approx(workload.total_rows)
    assert fast.duration_s == pytest.approx(workload.duration_s / speed)
    assert fast.peak_rows_per_s == pytest.approx(workload.peak_rows_per_s * speed)


def test_scaled_keeps_shape_name_and_whether_it_is_absolute():
    workload = Workload(name="mine", step_s=5, rows_per_s=(1.0, 2.0), absolute=True)
    scaled = workload.scaled(3)
    assert scaled.rows_per_s == (3, 6)
    assert (scaled.name, scaled.step_s, scaled.absolute) == ("mine", 5, True)


@pytest.mark.parametrize("step_s", [0, -1, math.nan, math.inf])
def test_a_step_that_is_no_length_is_refused(step_s):
    with pytest.raises(InputError, match="workload test: expected a step above 0 s, got"):
        load(1, step_s=step_s)


@pytest.mark.parametrize("rate", [-1, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused_with_its_time(rate):
    with pytest.raises(
        InputError, match=r"workload test: expected a finite rate >= 0 rows/s, got .* at 20 s"
    ):
        load(1, 2, rate)


@pytest.mark.parametrize("rates", [(), (0,), (0, 0, 0)])
def test_a_load_without_rows_is_refused(rates):
    with pytest.raises(InputError, match="at least one rate above 0, got none"):
        load(*rates)


@pytest.mark.parametrize("factor", [0, -1, math.nan, math.inf])
def test_scaling_or_speeding_by_a_factor_that_is_none_is_refused(factor):
    with pytest.raises(InputError):
        load(1, 2).scaled(factor)


def test_rates_whose_sum_overflows_are_refused():
    with pytest.raises(InputError, match="rows can be summed up, got 1e\\+308"):
        load(1e308, step_s=100)


@pytest.mark.parametrize("speed", [0, -1, math.nan, math.inf])
def test_a_speed_that_is_none_is_refused(speed):
    with pytest.raises(InputError, match="workload test: expected a speed above 0, got"):
        load(1, 2).faster(speed)


def test_lasting_keeps_rates_and_changes_the_time():
    workload = load(1, 0, 3).lasting(60.0)
    assert (workload.step_s, workload.rows_per_s) == (20.0, (1.0, 0.0, 3.0))
    assert workload.total_rows == 80  # 20 * (1 + 0 + 3)
