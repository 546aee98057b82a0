"""Quantities of the literature, from the readings of an operator."""

import math
from dataclasses import replace

import pytest
from edge import reading
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch
from testbed.baselines.shared.signals import input_fill, lag_increase_rows_per_s, lag_slope_rows_per_s

NAN = math.nan


def batch(index, backlog, *, step_s=10.0, nodes=("hub",), number=None, **changes):
    made = Batch(
        batch_id=index if number is None else number,
        ended_at_s=1000.0 + step_s * index,
        rows=500,
        seconds=5.0,
        nodes=nodes,
        trigger_s=10.0,
        backlog_rows=backlog,
    )
    return replace(made, **changes)


def seen(*batches, **changes):
    return reading(batches=batches, **changes)


def growing(*backlogs, **changes):
    return seen(*(batch(index, backlog, **changes) for index, backlog in enumerate(backlogs)))


# Growth of the lag


@pytest.mark.parametrize(
    ("backlogs", "slope"),
    [
        ((0, 100, 200, 300), 10.0),
        ((300, 200, 100, 0), -10.0),  # a counter's rate would call that growth
        ((50, 50, 50), 0.0),
        # Least squares of 0, 0, 300 at 0, 10, 20 s: (-10 * -100 + 10 * 200) / 200.
        ((0, 0, 300), 15.0),
    ],
)
def test_the_growth_of_the_lag_is_signed(backlogs, slope):
    assert lag_slope_rows_per_s(growing(*backlogs), 60.0) == pytest.approx(slope)


@pytest.mark.parametrize(
    ("backlogs", "rate"),
    [
        ((0, 100, 200, 300), 10.0),
        ((300, 200, 100, 0), 10.0),  # 200, 100 and 0 after three restarts from 0, in 30 s
        ((900, 900), 0.0),
        ((0, 400, 300), 35.0),  # 400, then 300 again, in 20 s
    ],
)
def test_counter_mode_counts_a_falling_lag_as_growth(backlogs, rate):
    assert lag_increase_rows_per_s(growing(*backlogs), 60.0) == pytest.approx(rate)
    assert lag_increase_rows_per_s(growing(backlogs[0]), 60.0) is None


def test_after_a_change_only_what_followed_it_counts():
    before = [batch(index, 1000 * index) for index in range(3)]
    after = [batch(index, 2000 - 50 * (index - 3), nodes=("far", "hub")) for index in range(3, 6)]
    assert lag_slope_rows_per_s(seen(*before, *after), 60.0) == pytest.approx(-5.0)


@given(
    slope=st.floats(-1e4, 1e4), start=st.floats(0, 1e9), count=st.integers(2, 40), epoch_s=st.sampled_from([0.0, 1.8e9])
)
def test_a_straight_line_is_found_again(slope, start, count, epoch_s):
    batches = [
        replace(batch(index, start + slope * 10.0 * index), ended_at_s=epoch_s + 10.0 * index + 5)
        for index in range(count)
    ]
    found = lag_slope_rows_per_s(seen(*batches), 1e6)
    assert found == pytest.approx(slope, rel=1e-6, abs=1e-6 * max(1.0, start))


# Shares


@pytest.mark.parametrize(
    ("newest", "saturated", "fill"),
    [
        (batch(0, 0, cap_rows=500), 1.0, 0.0),  # the batch was full, and nothing is left
        (batch(0, 125, cap_rows=500), 0.0, 0.25),
        (batch(0, 4000, cap_rows=500), 0.0, 1.0),
        (batch(0, 4000), 0.4, 0.4),
        (batch(0, None, cap_rows=500), 0.4, None),
        (batch(0, None), 0.4, None),
        (batch(0, NAN, cap_rows=500), 0.4, None),
        (batch(0, 4000), NAN, None),
    ],
)
def test_an_input_is_as_full_as_rows_wait_against_a_batch(newest, saturated, fill):
    assert input_fill(seen(newest, saturated_share=saturated)) == fill
