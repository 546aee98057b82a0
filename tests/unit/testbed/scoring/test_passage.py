import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scoring.latency import LagCurve, LatencyHistogram
from testbed.scoring.sample import Completion, Sample, Scores
from testbed.scoring.scorer import Scorer


def batch(offered_from_s: float, offered_until_s: float, at_s: float, rows: float = 100) -> Completion:
    return Completion(rows=rows, offered_from_s=offered_from_s, offered_until_s=offered_until_s, at_s=at_s)


def scored(*completions: Completion, slo_s: float = 10, ended_at_s: float = 100, left: bool = False) -> Scores:
    scorer = Scorer(ended_at_s, slo_s)
    scorer.on_sample(
        Sample(
            t_s=0,
            demand_replicas=1,
            supply_replicas=1,
            serving_replicas=1,
            input_rows_per_s=1.0,
            processed_rows_per_s=1.0,
        )
    )
    for completion in completions:
        scorer.on_completion(completion)
    return scorer.scores(ended_at_s, rows_left=left)


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1e4), st.floats(0, 1e4)), min_size=1, max_size=20))
def test_quantiles_are_accurate_within_a_bin(drawn: list[tuple[int, float, float]]) -> None:
    histogram = LatencyHistogram()
    rows: list[np.ndarray] = []
    for weight, one_s, other_s in drawn:
        histogram.add(weight, one_s, other_s)
        rows.append(np.repeat(one_s + (np.arange(200) + 0.5) / 200 * (other_s - one_s), weight))
    everyone = np.sort(np.concatenate(rows))
    for share, told_s in zip((0.5, 0.95, 0.99), histogram.quantiles_s(0.5, 0.95, 0.99), strict=True):
        assert told_s is not None
        # 200 rows represent an even spread: a step of it to either side, and the bin of one per cent.
        least = np.quantile(everyone, max(0.0, share - 0.006), method="lower")
        most = np.quantile(everyone, min(1.0, share + 0.006), method="higher")
        assert least * 0.98 - 2e-3 <= told_s <= most * 1.02 + 2e-3
    assert histogram.mean_s() == pytest.approx(everyone.mean(), rel=1e-6, abs=1e-9)


def test_the_p95_over_time_weighs_intervals_and_not_rows() -> None:
    # [0, 10): two batches of 100 rows, latencies 0 to 2 s and 3 s: 95 % of 200 rows are within 3 s.
    # [10, 20): none. [20, 30): one row, all latencies 0 to 10 s: 9.5 s. The mean of 3 and 9.5 is 6.25 s.
    scores = scored(batch(0, 2, 2), batch(1, 1, 4), batch(15, 25, 25, rows=1))
    assert scores.latency_p95_over_time_s == pytest.approx(6.25)
    assert scored().latency_p95_over_time_s is None


def test_the_lag_is_the_age_of_the_oldest_unprocessed_row() -> None:
    # The oldest row of each batch: offered at 0, processed at 15: late in (10, 15); offered at 10, processed at 18:
    # never late; offered at 20, processed at 45: late in (30, 45).
    assert scored(batch(0, 10, 15), batch(10, 18, 18), batch(20, 40, 45)).lag_above_slo_s == pytest.approx(20)


def test_rows_that_are_never_processed_are_late_until_the_end() -> None:
    # All rows until 5 s were processed; later ones became late at 15 s.
    assert scored(batch(0, 5, 6), left=True).lag_above_slo_s == pytest.approx(100 - 15)
    # No row was processed: the first row was offered at 0.
    assert scored(left=True).lag_above_slo_s == pytest.approx(90)


def test_rows_left_after_a_pause_are_late_from_their_offer() -> None:
    scorer = Scorer(100, 10)
    rates = ((0.0, 5.0, 5.0), (20.0, 0.0, 0.0), (60.0, 5.0, 0.0))
    for t_s, offered, processed in rates:
        scorer.on_sample(
            Sample(
                t_s=t_s,
                demand_replicas=1,
                supply_replicas=1,
                serving_replicas=1,
                input_rows_per_s=offered,
                processed_rows_per_s=processed,
            )
        )
    scorer.on_completion(batch(0, 20, 20.5))  # its oldest row: late in (10, 20.5)
    assert scorer.scores(100).lag_above_slo_s == pytest.approx(10.5 + (100 - 70))


def test_rows_that_arrive_one_by_one_are_late_one_by_one() -> None:
    # Offered from 0 to 100, arriving in order from 50 to 100: lag 50 s at 50, 0 s at 100, 20 s at 80. Before 50 s the
    # first row is waited for, late from 20 s on: late in (20, 80).
    evenly = Completion(rows=1000, offered_from_s=0, offered_until_s=100, arrived_from_s=50, at_s=100)
    scores = scored(evenly, slo_s=20)
    assert scores.lag_above_slo_s == pytest.approx(60)
    assert scores.latency_mean_s == pytest.approx(25)
    # The other way round, lag grows from 0 at 10 s to 50 s at 100 s: 20 s at 10 + 90 x 20 / 50 = 46 s.
    growing = Completion(rows=1000, offered_from_s=10, offered_until_s=50, arrived_from_s=10, at_s=100)
    assert scored(growing, slo_s=20).lag_above_slo_s == pytest.approx(54)


offered = st.integers(0, 60)


@given(st.lists(st.tuples(offered, offered, st.integers(0, 30), st.integers(0, 30)), max_size=20))
def test_the_curve_is_the_largest_age_of_an_unprocessed_row(drawn: list[tuple[int, int, int, int]]) -> None:
    # Rows arrive evenly in [arrived, ended], in order, but those that were offered first need not be the first.
    arrivals = []
    for one, other, waited, took in drawn:
        first, last = sorted((one, other))
        arrived = first + waited
        arrivals.append((arrived, max(arrived, last) + took, first, last))
    arrivals.sort(key=lambda arrival: arrival[1])
    curve = LagCurve((5.0, 20.0))
    for arrival in arrivals:
        curve.add(*arrival)
    grid_s = np.arange(0.005, 151, 0.01)
    lag_s = np.zeros_like(grid_s)
    for arrived, ended, first, last in arrivals:
        share = np.clip((grid_s - arrived) / max(ended - arrived, 1e-9), 0, 1)
        age_s = grid_s - (first + share * (last - first))
        lag_s = np.where(grid_s < ended, np.maximum(lag_s, age_s), lag_s)
    assert curve.seconds_above() == pytest.approx([np.sum(lag_s > each) * 0.01 for each in (5, 20)], abs=0.3)
    areas_s2 = [np.sum(np.maximum(0, lag_s - each)) * 0.01 for each in (5, 20)]
    assert curve.areas_above_s2() == pytest.approx(areas_s2, rel=0.01, abs=0.5)


def test_the_curve_has_a_bounded_number_of_pieces() -> None:
    curve = LagCurve((2.0,))
    for index in range(10_000):
        curve.add(10.0 * index + 4, 10.0 * index + 4, 10.0 * index, 10.0 * index)
    assert curve.seconds_above()[0] == pytest.approx(20_000)  # (2, 4) of each 10 s
    assert len(curve._pieces) <= 256
