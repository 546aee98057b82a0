from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from gesscale.errors import InputError
from testbed.workloads.new_york import passengers_by_day, taxi_days
from testbed.workloads.registry import workload_named

FIRST, LAST = date(2014, 7, 1), date(2015, 1, 31)
STARTS = st.integers(0, (LAST - FIRST).days - 1).map(lambda days: FIRST + timedelta(days=days))


def test_the_series_is_complete():
    series = passengers_by_day()
    assert len(series) == 215  # 31 + 31 + 30 + 31 + 30 + 31 + 31 days
    assert min(series) == FIRST
    assert max(series) == LAST
    assert all(len(counts) == 48 for counts in series.values())
    assert series[FIRST][:2] == (10844, 8127)  # as the source's first rows
    assert series[LAST][-1] == 26288  # and its last one
    assert max(map(max, series.values())) == 39197  # 2 November 01:00, the clock was set back


def test_the_default_has_the_papers_length_and_weekdays():
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


@pytest.mark.parametrize("day", ["2014-06-30", "2015-02-01", "2013-05-01"])
def test_a_day_outside_the_series_is_rejected_with_the_bounds(day):
    with refused("workload-day-invalid", InputError, first="2014-07-01", last="2015-01-31", got=day):
        workload_named(f"nyc:{day}", seed=0)


def test_a_day_begins_at_four_and_defaults_to_that_of_the_demo():
    day = workload_named("nyc-day", seed=0)
    assert day.duration_s == pytest.approx(144 * 60)  # 24 h / 10
    series = passengers_by_day()
    first, second = date(2015, 1, 6), date(2015, 1, 7)
    counts = [*series[first][8:], *series[second][:8]]  # from 04:00, the ninth half hour, to 04:00
    assert counts[0] == 1774  # as the first row of the demo's own file
    assert day.total_rows == pytest.approx(3 * sum(counts))
