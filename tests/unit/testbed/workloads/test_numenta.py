import numpy as np
import pytest

from gesscale.errors import InputError
from testbed.workloads.numenta import SERIES, bins, filled
from testbed.workloads.registry import workload_named

every_series = pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)


def rows_by_minute(name, seed=0):
    workload = workload_named(name, seed=seed)
    assert workload.step_s == 60
    return [60 * rate for rate in workload.rows_per_s]


def test_there_are_six_companies_three_machines_and_a_road():
    kinds = [series.name.split("-")[1] for series in SERIES]
    assert {kind: kinds.count(kind) for kind in kinds} == {"tweets": 6, "network": 3, "occupancy": 1}


@pytest.mark.parametrize(
    ("name", "minutes"),
    [
        ("nab-tweets-amzn", 288),  # 2 d / 10
        ("nab-tweets-crm", 288),  # 6 d / 30
        ("nab-tweets-cvs", 240),  # 20 d / 120
        ("nab-network-a2eb1cd9", 288),  # 1 d / 5
        ("nab-occupancy-t4013", 288),  # 2 d / 10
    ],
)
def test_a_bin_is_a_minute(name, minutes):
    assert len(rows_by_minute(name)) == minutes


def test_a_row_is_a_tweet():
    # The readings of 2015-03-02 00:02:53 and 00:07:53 are 62 and 72; the 576 readings of the two days sum up to 33,973.
    rows = rows_by_minute("nab-tweets-amzn:2015-03-02")
    assert rows[0] == pytest.approx(62 + 72)
    assert sum(rows) == pytest.approx(33_973)
    assert workload_named("nab-tweets-amzn", seed=0).rows_per_s == pytest.approx([row / 60 for row in rows])


def test_no_peak_is_cut():
    # 2015-03-11 20:52:53 and 20:57:53: 60 and 1673, so minute 125 of a day ten times as fast, (20 h 50 min) / 10
    rows = rows_by_minute("nab-tweets-amzn:2015-03-11")
    assert rows[125] == pytest.approx(60 + 1673)
    assert max(rows) == rows[125]


def test_readings_whose_clock_jumped_stand_five_minutes_apart():
    # In the source no reading of 2014-03-09 has a time between 01:56 and 03:00, and twelve have 03:00. In the file's
    # order they are the twelve below, those of 02:01 to 02:56. Minute 12 of a day ten times as fast holds two of them.
    rows = rows_by_minute("nab-network-5abac7:2014-03-09")
    twelve = [42, 103.2, 42, 60, 42, 111.6, 68.4, 42, 112.8, 42, 68.4, 60]
    assert rows[12:18] == pytest.approx([sum(twelve[at : at + 2]) for at in range(0, 12, 2)])


def test_a_reading_that_is_missing_lies_between_its_neighbours():
    # 2015-09-14: 5.22 at 02:43, 2.72 at 02:48, none from 02:50 to 02:55, 3.78 at 02:58. So 02:50 has (2.72 + 3.78) / 2.
    rows = rows_by_minute("nab-occupancy-t4013:2015-09-14")
    assert rows[16] == pytest.approx(5.22 + 2.72)
    assert rows[17] == pytest.approx(3.25 + 3.78)


def test_gaps_are_filled_by_a_straight_line_and_ends_stay_open():
    nan = float("nan")
    found = filled(np.array([nan, 2.0, nan, nan, 8.0, 1.0, nan]))
    # from 2 to 8 over three steps: 4 and 6
    assert found[1:6].tolist() == [2, 4, 6, 8, 1]
    assert np.isnan(found[[0, 6]]).all()


@every_series
def test_first_and_last_day_are_those_that_a_whole_window_follows(series):
    known = ~np.isnan(bins(series))
    per_day = 24 * 60 // series.bin_min
    whole = [
        day
        for day in range(len(known) // per_day)
        if len(known[day * per_day :]) >= series.window_bins
        and known[day * per_day : day * per_day + series.window_bins].all()
    ]
    assert len(whole) == (series.last - series.first).days + 1
    for day in (series.first, series.default, series.last):
        assert len(rows_by_minute(f"{series.name}:{day}")) == series.window_bins
    first = whole[0] * per_day
    expected = bins(series)[first : first + series.window_bins] * series.bin_min / 5
    assert rows_by_minute(f"{series.name}:{series.first}") == pytest.approx(expected.tolist())


@every_series
def test_runs_last_two_to_five_hours(series):
    assert 120 <= series.window_bins <= 300


@every_series
def test_any_draws_whole_windows_that_differ(series):
    loads = [workload_named(f"{series.name}:any", seed=seed) for seed in range(30)]
    assert {len(load.rows_per_s) for load in loads} == {series.window_bins}
    assert len({load.rows_per_s for load in loads}) >= 25  # of 421 windows or more; some come twice


@pytest.mark.parametrize("day", ["2015-02-26", "2015-04-21", "", "ANY", "2015-02-30"])
def test_a_day_that_no_window_follows_is_refused_with_the_bounds(day):
    with pytest.raises(InputError, match="expected a day from 2015-02-27 to 2015-04-20, such as") as raised:
        workload_named(f"nab-tweets-amzn:{day}", seed=0)
    assert f"got {day!r}" in str(raised.value)
