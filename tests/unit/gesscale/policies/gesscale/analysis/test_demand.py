"""The load that is expected, and its history."""

import math

import pytest
from edge import reading
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch
from gesscale.model.offered import OfferedPoint
from gesscale.policies.gesscale.analysis.demand import BUCKETS_KEPT, LoadHistory, waiting_rows


def counted(rates: list[float], period_s: float = 60.0) -> LoadHistory:
    """Return the history of a load that was counted every period, with a point every ten seconds."""
    history, total = LoadHistory(), 0.0
    points = [OfferedPoint(0.0, 0.0)]
    for index, rate in enumerate(rates):
        for tenth in range(1, 7):
            total += rate * period_s / 6
            points.append(OfferedPoint(index * period_s + tenth * period_s / 6, total))
        history = history.updated(points[-19:], period_s)
    return history


def test_constant_load_continues() -> None:
    history = counted([100.0] * 20)
    assert history.rates(60.0) == pytest.approx([100.0] * 20)
    assert history.forecast(60.0).rate == pytest.approx(100)
    # 6 buckets of a tenth as the prior, and 19 forecasts without error, faded: 10 * sqrt(6 / (6 + 15.9)) = 5.2.
    assert history.forecast(60.0).spread == pytest.approx(5.2, abs=0.1)


def test_batches_of_hours_are_two_points_at_least() -> None:
    history = LoadHistory()
    for hours in (4, 8, 12):
        points = [OfferedPoint(3600.0 * at_h, 360_000.0 * at_h) for at_h in (hours - 4, hours)]
        history = history.updated(points, 60.0)
    assert len(history.points) == 2
    assert history.forecast(60.0).rate == pytest.approx(100)


def test_a_jump_within_the_bucket_is_taken_for_the_new_level() -> None:
    # Five of six tenths at 100, the newest at 200: the mean of the bucket is 117, but nearly all of the rest goes on.
    points = [OfferedPoint(10.0 * index, 1000.0 * index) for index in range(6)]
    history = LoadHistory().updated([*points, OfferedPoint(60.0, 7000.0)], 60.0)
    assert history.rates(60.0)[-1] == pytest.approx(116.67, rel=1e-3)
    assert history.forecast(60.0).rate == pytest.approx(116.67 + 0.9 * 83.33, rel=1e-2)


def test_continued_growth_is_learned() -> None:
    history = counted([100.0 + 10 * index for index in range(40)])
    assert history.forecast(60.0).rate == pytest.approx(500, rel=0.02)


def test_the_history_is_bounded_and_periods_that_were_missed_are_filled() -> None:
    long = counted([100.0] * 250)
    assert len(long.rates(60.0)) == BUCKETS_KEPT
    # A point for each old bucket, and one each 10 s of the last two.
    assert len(long.points) <= BUCKETS_KEPT + 15
    history = counted([100.0] * 3)
    # Nothing for five minutes, in which 30,000 rows came: eight buckets of 100 rows/s.
    later = history.updated([OfferedPoint(470.0, 47000.0), OfferedPoint(480.0, 48000.0)], 60.0)
    assert later.rates(60.0) == pytest.approx([100.0] * 8)


def test_rows_that_a_broker_reported_are_not_counted_again() -> None:
    # 100 rows/s. The broker's total of 65 s is newer than the driver's of 60 s, and is gone in the next step.
    points = [OfferedPoint(10.0 * index, 1000.0 * index) for index in range(7)]
    history = LoadHistory().updated([*points, OfferedPoint(65.0, 6500.0)], 60.0)
    later = history.updated([*points, OfferedPoint(80.0, 8000.0)], 60.0)
    assert later.points[-1].rows == pytest.approx(8000.0)


def test_a_counter_that_restarts_loses_no_row_of_the_new_run() -> None:
    history = LoadHistory().updated([OfferedPoint(0.0, 9000.0), OfferedPoint(60.0, 15_000.0)], 60.0)
    # The new run begins at 70 s; 600 rows by 76 s. For the 10 s before it, the load of the last minute: 100 rows/s.
    later = history.updated([OfferedPoint(70.0, 0.0), OfferedPoint(76.0, 600.0)], 60.0)
    assert [point.rows for point in later.points] == [0.0, 6000.0, 7000.0, 7600.0]


@pytest.mark.parametrize(
    ("idled_until_s", "newest_minute"),
    [
        (None, 10.0),  # the 6000 rows may have waited for 10 min: 10 rows/s
        (598.0, 100.0),  # the sources know that no row came: 6000 rows within the last minute
    ],
)
def test_rows_that_waited_in_the_source_came_at_any_time(idled_until_s: float | None, newest_minute: float) -> None:
    history = LoadHistory()
    for idle_s in (60.0, 120.0, 580.0):
        history = history.updated([OfferedPoint(0.0, 0.0), OfferedPoint(idle_s, 0.0)], 60.0)
    rest = [] if idled_until_s is None else [OfferedPoint(580.0, 0.0), OfferedPoint(idled_until_s, 0.0)]
    history = history.updated([OfferedPoint(0.0, 0.0), *rest, OfferedPoint(600.0, 6000.0)], 60.0)
    assert history.rates(60.0)[-1] == pytest.approx(newest_minute)


def test_a_day_without_load_and_a_jump() -> None:
    history, total = LoadHistory(), 0.0
    for minute in range(1, 24 * 60 + 1):
        history = history.updated([OfferedPoint(0.0, 0.0), OfferedPoint(60.0 * minute, 0.0)], 60.0)
    assert history.forecast(60.0)[:1] == (0.0,)
    points = [OfferedPoint(60.0 * 24 * 60, 0.0)]
    for second in range(10, 130, 10):
        total += 5000.0
        points.append(OfferedPoint(60.0 * 24 * 60 + second, total))
    history = history.updated(points, 60.0)
    assert history.rates(60.0)[-2:] == pytest.approx([500.0, 500.0])
    # No growth from one bucket to the next, and the newest rate is that of the bucket.
    assert history.forecast(60.0).rate == pytest.approx(500.0)


@given(rates=st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_a_forecast_is_finite_and_not_negative(rates: list[float]) -> None:
    ahead = counted(rates).forecast(60.0)
    assert 0 <= ahead.rate < math.inf
    assert 0 < ahead.spread < math.inf


@pytest.mark.parametrize(
    ("first_ended_s", "waiting"),
    [
        # 100 rows/s since 900 s; 98 rows/s are processed since 990 s: 10,000 - 980
        (899.0, 9020.0),
        # The query was idle before this batch of 8000 rows, so it may wait for as many again.
        (800.0, 1020.0),
    ],
)
def test_rows_that_a_query_waits_for_are_no_backlog(first_ended_s: float, waiting: float) -> None:
    given = [
        Batch(batch_id=number, ended_at_s=at_s, rows=rows, seconds=seconds, nodes=("hub",), trigger_s=10.0)
        for number, (at_s, rows, seconds) in enumerate([(first_ended_s, 8000, 1.0), (990.0, 8000, 90.0)])
    ]
    seen = reading(at_s=1000.0, batches=tuple(given), backlog=0.0)
    assert waiting_rows(seen, 100.0, 98.0) == waiting


def test_the_load_before_an_instant_is_known_within_the_history() -> None:
    history = counted([100.0, 300.0])
    assert history.rate_before(60.0, 60.0) == pytest.approx(100)
    assert history.rate_before(90.0, 60.0) == pytest.approx(200)
    assert history.rate_before(50.0, 60.0) is None
    assert history.rate_before(121.0, 60.0) is None
