from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.errors import InputError
from testbed.workloads.new_york import passengers_by_day, smoothed, taxi_days
from testbed.workloads.registry import workload_named

FIRST, LAST = date(2014, 7, 1), date(2015, 1, 31)
STARTS = st.integers(0, (LAST - FIRST).days - 1).map(lambda days: FIRST + timedelta(days=days))


def test_the_series_is_whole():
    series = passengers_by_day()
    assert len(series) == 215  # 31 + 31 + 30 + 31 + 30 + 31 + 31 days
    assert min(series) == FIRST
    assert max(series) == LAST
    assert all(len(counts) == 48 for counts in series.values())
    assert series[FIRST][:2] == (10844, 8127)  # as the source's first rows
    assert series[LAST][-1] == 26288  # and its last one
    assert max(map(max, series.values())) == 39197  # 2 November 01:00, the clock was set back


def test_the_default_is_the_papers_288_minutes_on_a_wednesday_and_a_thursday():
    workload = workload_named("nyc", seed=0)
    assert workload.duration_s == pytest.approx(288 * 60)  # 48 h / 10
    assert workload.step_s == pytest.approx(10)
    assert [date(2014, 10, 1).weekday(), date(2013, 5, 1).weekday()] == [2, 2]
    # 753,936 passengers on the first day and 771,639 on the second, each three times
    assert workload.total_rows == pytest.approx(3 * (753_936 + 771_639))


@given(STARTS)
def test_every_half_hour_of_any_day_keeps_its_rows(begins):
    workload = taxi_days(begins, name="test")
    series = passengers_by_day()
    counts = [*series[begins], *series[begins + timedelta(days=1)]]
    offered = [workload.offered_rows(180.0 * half) for half in range(len(counts) + 1)]  # 1800 s at speed 10
    rows = [after - before for before, after in pairwise(offered)]
    assert rows == pytest.approx([3 * count for count in counts], rel=1e-6, abs=1e-3)


@given(STARTS)
def test_the_rate_has_no_steps_at_the_half_hours(begins):
    # Where v is a half hour's rate, l and r its edges, m = 2v - (l+r)/2 its middle: |m-l| <= 1.5|v-l| + 0.5|v-r|, which
    # is at most twice the largest change between half hours; nine steps lie between an edge and the middle.
    series = passengers_by_day()
    around = [begins + timedelta(days) for days in (-1, 0, 1, 2)]
    counts = [count for day in around for count in series.get(day, ())]
    change = max(abs(after - before) for before, after in pairwise(counts)) * 3 / 180
    rates = taxi_days(begins, name="test").rows_per_s
    assert max(abs(after - before) for before, after in pairwise(rates)) <= 2 * change / 9 + 1e-9


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=30), st.sampled_from([2, 6, 18]))
def test_smoothing_keeps_means_and_is_never_negative(means, steps):
    course = smoothed(np.array(means), steps).reshape(-1, steps)
    assert course.min() >= -1e-9
    assert course.mean(axis=1) == pytest.approx(means[1:-1], rel=1e-9, abs=1e-6)


def test_smoothing_runs_straight_from_edge_to_middle_to_edge():
    # 0, 4, 4 around the 4: left edge min((0+4)/2, 2*0) = 0, right edge 4, middle 2*4 - (0+4)/2 = 6
    assert smoothed(np.array([0.0, 4.0, 4.0]), 4).tolist() == [1.5, 4.5, 5.5, 4.5]


def test_a_constant_course_stays_constant():
    assert smoothed(np.full(5, 7.0), 6).tolist() == [7.0] * 18


def test_the_course_of_a_day_does_not_depend_on_where_the_play_began():
    early = taxi_days(date(2014, 10, 1), name="test").rows_per_s
    late = taxi_days(date(2014, 10, 2), name="test").rows_per_s
    assert early[864:-9] == late[: 864 - 9]  # its last 90 s lean on the midnight that follows or does not


def test_from_the_last_day_there_is_one_day():
    workload = workload_named("nyc:2015-01-31", seed=0)
    assert workload.duration_s == pytest.approx(144 * 60)
    assert workload.total_rows == pytest.approx(3 * 897_719)


def test_any_draws_days_that_have_a_second_one():
    loads = [workload_named("nyc:any", seed=seed) for seed in range(60)]
    assert all(load.duration_s == pytest.approx(288 * 60) for load in loads)
    assert len({load.rows_per_s for load in loads}) > 40  # of 214; some come twice in 60 draws


@pytest.mark.parametrize("day", ["2014-06-30", "2015-02-01", "2013-05-01"])
def test_a_day_outside_the_series_is_refused_with_its_bounds(day):
    with pytest.raises(InputError, match=f"expected a day from 2014-07-01 to 2015-01-31, got {day}"):
        workload_named(f"nyc:{day}", seed=0)


@pytest.mark.parametrize("text", ["", "2014-13-01", "2014-02-30", "yesterday", "ANY"])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(InputError, match="expected a day such as nyc:2014-10-01, or nyc:any, got"):
        workload_named(f"nyc:{text}", seed=0)


def test_a_day_begins_when_the_city_sleeps_and_is_the_demos_without_another():
    day = workload_named("nyc-day", seed=0)
    assert day.duration_s == pytest.approx(144 * 60)  # 24 h / 10
    series = passengers_by_day()
    first, second = date(2015, 1, 6), date(2015, 1, 7)
    counts = [*series[first][8:], *series[second][:8]]  # from 04:00, the ninth half hour, to 04:00
    assert counts[0] == 1774  # as the first row of the demo's own file
    assert day.total_rows == pytest.approx(3 * sum(counts))


def test_a_day_that_the_series_does_not_go_on_after_is_refused():
    with pytest.raises(InputError, match="expected a day that the series goes on after, got its last one"):
        workload_named(f"nyc-day:{LAST}", seed=0)
    with pytest.raises(InputError, match="expected a day such as nyc-day:2015-01-06, or nyc-day:any, got"):
        workload_named("nyc-day:yesterday", seed=0)
