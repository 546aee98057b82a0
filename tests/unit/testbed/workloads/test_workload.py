import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from refusals import refused

from gesscale.errors import InputError
from testbed.workloads.workload import Workload

RATES = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e6)), min_size=1, max_size=30).filter(any)
STEPS = st.floats(0.1, 3600)


def load(*rates, step_s=10.0):
    return Workload.of_rates("test", step_s, rates)


def test_offered_rows_rise_within_steps_and_are_constant_outside():
    workload = load(1, 0, 3)
    at = {-5: 0, 0: 0, 5: 5, 10: 10, 15: 10, 20: 10, 25: 25, 30: 40, 31: 40}
    assert {at_s: workload.offered_rows(at_s) for at_s in at} == at


def test_a_row_is_offered_after_a_pause_not_in_it():
    workload = load(0, 1, 0, 3)
    assert workload.offered_at_s(0) == 10  # nothing in the first 10 s
    assert workload.offered_at_s(5) == 15
    assert workload.offered_at_s(10) == 30  # ten rows until 20 s, then a pause until 30 s
    assert workload.offered_at_s(13) == 31


@given(RATES, STEPS, st.floats(0, 1))
def test_offered_at_is_the_inverse_of_offered_rows(rates, step_s, share):
    workload = load(*rates, step_s=step_s)
    row = share * workload.total_rows
    at_s = workload.offered_at_s(row)
    assert 0 <= at_s <= workload.duration_s * (1 + 1e-12)
    # Rounding of at_s by its last bits moves the rows by that times the rate.
    slack = 1e-9 * (workload.total_rows + workload.duration_s * workload.peak_rows_per_s)
    assert workload.offered_rows(at_s) == pytest.approx(row, abs=slack)


@given(RATES, STEPS, st.floats(0.01, 100))
def test_faster_offers_the_same_rows_in_less_time(rates, step_s, speed):
    workload = load(*rates, step_s=step_s)
    assume(workload.total_rows > 0)
    fast = workload.sped_up(speed)
    assert fast.total_rows == pytest.approx(workload.total_rows)
    assert fast.duration_s == pytest.approx(workload.duration_s / speed)
    assert fast.peak_rows_per_s == pytest.approx(workload.peak_rows_per_s * speed)


@pytest.mark.parametrize("rate", [-1, math.nan, math.inf])
def test_an_invalid_rate_is_rejected_with_its_time(rate):
    with refused("workload-rate-invalid", InputError, source="workload test", at_s=20):
        load(1, 2, rate)
