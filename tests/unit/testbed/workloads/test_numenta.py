import numpy as np
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.workloads.catalogue import entries
from testbed.workloads.numenta import SERIES, bins
from testbed.workloads.registry import workload_named

every_series = pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)


def rows_by_minute(name, seed=0):
    workload = workload_named(name, seed=seed)
    assert workload.step_s == 60
    return [60 * rate for rate in workload.rows_per_s]


def test_readings_at_a_clock_jump_are_five_minutes_apart():
    # In the source no reading of 2014-03-09 has a time between 01:56 and 03:00, and twelve have 03:00. In the file's
    # order they are the twelve below, those of 02:01 to 02:56. Minute 12 of a day at ten times the
    # speed contains two of them.
    rows = rows_by_minute("nab-network-5abac7:2014-03-09")
    twelve = [42, 103.2, 42, 60, 42, 111.6, 68.4, 42, 112.8, 42, 68.4, 60]
    assert rows[12:18] == pytest.approx([sum(twelve[at : at + 2]) for at in range(0, 12, 2)])


@every_series
def test_first_and_last_day_have_a_whole_window(series):
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
    (entry,) = [entry for entry in entries() if entry.name == series.name]
    assert f"the first day, {series.first} to {series.last}; " in entry.parameter
    assert entry.parameter.endswith(f"default: {series.default}")
    first = whole[0] * per_day
    expected = bins(series)[first : first + series.window_bins] * series.bin_min / 5
    assert rows_by_minute(f"{series.name}:{series.first}") == pytest.approx(expected.tolist())


@pytest.mark.parametrize("day", ["2015-02-26", "2015-04-21", "", "ANY", "2015-02-30"])
def test_a_day_that_no_window_follows_is_rejected_with_the_bounds(day):
    with refused("workload-day-invalid", InputError, first="2015-02-27", last="2015-04-20", got=day):
        workload_named(f"nab-tweets-amzn:{day}", seed=0)
