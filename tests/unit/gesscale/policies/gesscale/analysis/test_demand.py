"""The load that is expected: its history, and the scenarios that it may take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.offered import OfferedPoint
from gesscale.policies.gesscale.analysis.demand import BUCKETS_KEPT, Forecast, LoadHistory
from gesscale.policies.gesscale.analysis.scenarios import JUMP_CHANCE, WALKS, scenarios


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
    # The new run begins at 70 s; 600 rows by 76 s.
    later = history.updated([OfferedPoint(70.0, 0.0), OfferedPoint(76.0, 600.0)], 60.0)
    assert [point.rows for point in later.points] == [0.0, 6000.0, 6000.0, 6600.0]


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
    played = scenarios(history.rates(60.0), history.forecast(60.0), np.arange(1.0, 13.0), 100.0)
    assert np.isfinite(played.rates).all()


@given(rates=st.lists(st.floats(0, 1e6), min_size=1, max_size=40), replica=st.floats(1e-3, 1e6))
def test_scenarios_are_weighted_and_not_negative(rates: list[float], replica: float) -> None:
    history = counted(rates)
    after = np.arange(1.0, 13.0)
    played = scenarios(history.rates(60.0), history.forecast(60.0), after, replica)
    assert played.rates.shape == (len(played.weights), 12)
    assert np.isfinite(played.rates).all()
    assert (played.rates >= 0).all()
    assert played.weights.sum() == pytest.approx(1)


def test_loads_after_similar_levels_are_repeated() -> None:
    # A peak of 500 every ten periods, after three of 200, 300 and 400; now it is at 300 again.
    wave = [100.0, 100, 100, 100, 100, 100, 200, 300, 400, 500] * 6 + [100.0] * 6 + [200.0, 300.0]
    history = counted(wave)
    played = scenarios(history.rates(60.0), history.forecast(60.0), np.array([1.0, 2.0, 3.0]), 100.0)
    mean = played.weights @ played.rates
    assert 370 < mean[0] < 430
    assert 450 < mean[1] < 540
    assert mean[2] < 250  # no trend would say so


def test_a_jump_weighs_as_much_as_its_chance() -> None:
    history = counted([100.0] * 30 + [700.0] + [100.0] * 9)
    played = scenarios(history.rates(60.0), history.forecast(60.0), np.array([1.0]), 100.0)
    jumped = played.weights[played.rates[:, 0] > 600].sum()
    assert jumped == pytest.approx(JUMP_CHANCE / 4)


def test_walks_go_on_from_the_forecast_with_what_is_left_of_the_growth() -> None:
    # In the mean, as the draws cancel out. The next bucket's growth is in its forecast. Then 0.8 of 20 rows/s, 16,
    # are to come, and 0.7 of what is left remains after each bucket: 16 * 0.3 = 4.8, 16 * 0.51 = 8.16.
    ahead = Forecast(rate=200.0, spread=10.0, newest=180.0, growth=20.0)
    past = np.array([160.0, 180.0])  # too short for repetitions
    means = scenarios(past, ahead, np.array([1.0, 2.0, 3.0]), 100.0).rates[:WALKS].mean(axis=0)
    assert means == pytest.approx([200.0, 204.8, 208.16])
    # Shorter steps are other places on the same curve: half a bucket later 16 * (1 - 0.7^0.5) = 2.61.
    shorter = scenarios(past, ahead, np.array([0.5, 1.0, 1.5, 2.0]), 100.0).rates[:WALKS].mean(axis=0)
    assert shorter == pytest.approx([200.0, 200.0, 202.61, 204.8], abs=0.01)


def test_repetitions_begin_near_the_forecast_and_come_back_to_their_past() -> None:
    # An even load of 100 rows/s, and 120 are forecast: each repetition is 20 above its past in the next bucket, and
    # of that exp(-1/4) and exp(-2/4) are left one and two buckets later: 15.58 and 12.13.
    ahead = Forecast(rate=120.0, spread=10.0, newest=120.0, growth=0.0)
    played = scenarios(np.full(20, 100.0), ahead, np.array([0.5, 1.0, 2.0, 3.0]), 100.0)
    repetitions = played.rates[WALKS:-4]
    # Of 20 buckets the first has no growth, and too little follows the last three.
    assert len(repetitions) == 16
    for each in repetitions:
        assert each == pytest.approx([120.0, 120.0, 115.58, 112.13], abs=0.01)


@pytest.mark.parametrize(("spread", "following"), [(10.0, 110.0), (1000.0, 300.0)])
def test_a_repetition_is_at_most_one_spread_from_the_forecast(spread: float, following: float) -> None:
    # A peak of 300 after an even load of 100; at 100 again, 100 is forecast: 300 where errors of 200 are usual.
    past = np.array([100.0] * 10 + [300.0] + [100.0] * 10)
    ahead = Forecast(rate=100.0, spread=spread, newest=100.0, growth=0.0)
    repetitions = scenarios(past, ahead, np.array([1.0]), 100.0).rates[WALKS:-4, 0]
    assert repetitions.max() == pytest.approx(following)
    assert np.median(repetitions) == pytest.approx(100.0)
