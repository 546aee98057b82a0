from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.scoring.sample import LAG_ABOVE, LAG_AREA, Sample
from testbed.scoring.scorer import Scorer
from testbed.scoring.series import Until, read_series, score_series

HEADER = "t_s,demand_replicas,supply_replicas,input_rows_per_s,processed_rows_per_s,reconfiguration\n"
GOOD = HEADER + "0,1,1,10,0,0\n50,1,2,10,20,1\n100,0,2,0,0,0\n120,0,2,0,0,0\n"


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return tmp_path / "run.csv"


def sample(t_s: float, supply: int, offered: float, processed: float, *, reconfigurations: int = 0) -> Sample:
    return Sample(
        t_s=t_s,
        demand_replicas=1,
        supply_replicas=supply,
        serving_replicas=supply,
        input_rows_per_s=offered,
        processed_rows_per_s=processed,
        reconfigurations=reconfigurations,
    )


def test_a_recorded_series_is_scored_by_hand(series: Path) -> None:
    series.write_text(GOOD, "utf-8")
    scores = score_series(read_series(series), 20, until=Until.INPUT)
    # The input ends at 100 s: T. One replica too many in [50, 100): 50 of 100 replica-s; 50 x 1 + 50 x 2 replica-s.
    assert scores.accuracy_O == pytest.approx(0.5)
    assert scores.accuracy_U == 0
    assert scores.timeshare_O == pytest.approx(50)
    assert scores.cost == pytest.approx(150 / 60)
    assert scores.node_seconds == pytest.approx(150 + 20 * 2)
    assert scores.reconfigurations == 1
    assert scores.excess_time == 0
    assert scores.drained
    # A row offered at a leaves at 50 + 10 a / 20: after 50 - a / 2 s, evenly from 50 down to 0 s.
    assert scores.latency_mean_s == pytest.approx(25)
    assert scores.latency_p50_s == pytest.approx(25, rel=0.01)
    assert scores.latency_p95_s == pytest.approx(47.5, rel=0.01)
    # At t the row that leaves was offered at 2 (t - 50): 100 - t s ago, 20 s at 80 s; before 50 s the first row waits.
    assert scores.lag_above_slo_s == pytest.approx(80 - 20)


def test_rows_from_before_the_series_do_not_count(series: Path) -> None:
    # 5 rows/s more than were offered: an older backlog is being drained.
    series.write_text(HEADER + "0,1,1,10,15,0\n60,1,1,10,5,0\n120,1,1,0,0,0\n", "utf-8")
    scores = score_series(read_series(series), 1000)
    # In the first minute rows pass at once; in the second 300 of 600 come through, the last of them after 30 s.
    assert scores.latency_mean_s == pytest.approx((600 * 0 + 300 * 15) / 900)
    assert not scores.drained


def test_time_may_begin_anywhere_and_columns_may_stand_in_any_order(series: Path) -> None:
    series.write_text(GOOD, "utf-8")
    expected = score_series(read_series(series), 20)
    rows = [line.split(",") for line in GOOD.splitlines()]
    moved = [[*reversed(rows[0]), "note"]]
    moved += [[*reversed([str(float(row[0]) + 1e6), *row[1:]]), "x"] for row in rows[1:]]
    series.write_text("\ufeff" + "\r\n".join(", ".join(row) for row in moved) + "\r\n\r\n", "utf-8")
    assert asdict(score_series(read_series(series), 20)) == pytest.approx(asdict(expected))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "header"),
        (HEADER + "0,1,1,1,1,0\n", "at least two rows"),
        (HEADER.replace("supply_replicas,", ""), "line 1: .* supply_replicas"),
        (GOOD.replace("50,1,2,10,20,1", "50,1,2,10,nan,1"), "line 3, column processed_rows_per_s"),
        (GOOD.replace("50,1,2", "50,1.5,2"), "line 3, column demand_replicas"),
        (GOOD.replace("20,1\n", "20,2\n"), "line 3, column reconfiguration"),
        (GOOD.replace("\n100,", "\n40,"), "line 4, column t_s"),
        (GOOD.replace("20,1\n", "20\n"), "line 3: "),
    ],
)
def test_a_bad_file_is_refused_with_line_and_column(series: Path, text: str, where: str) -> None:
    series.write_text(text, "utf-8")
    with pytest.raises(InputError, match=where):
        read_series(series)


rates = st.sampled_from([0.0, 2.0, 4.0, 10.0])


@given(st.lists(st.tuples(st.integers(1, 30), rates, rates), min_size=1, max_size=10), rates.filter(bool))
def test_a_series_scores_as_the_scorer_and_as_its_cumulative_curves(
    drawn: list[tuple[int, float, float]], last_rate: float
) -> None:
    course, offered, processed, at_s = [], 0.0, 0.0, 0
    for seconds, rate, wish in [*drawn, (10, last_rate, 2.0)]:
        possible = min(wish, rate + (offered - processed) / seconds)  # never more than there is
        course.append(sample(at_s, 1 + at_s % 3, rate, possible))
        offered, processed, at_s = offered + rate * seconds, processed + possible * seconds, at_s + seconds
    draining = min(2.0, (offered - processed) / 50)
    course += [sample(at_s, 1, 0.0, draining), sample(at_s + 50, 1, 0.0, 0.0)]
    scores = score_series(course, 3, until=Until.INPUT)
    latencies_s, lag_s = by_curves(course)
    assert scores.latency_mean_s == pytest.approx(latencies_s.mean(), abs=0.02)
    for told_s, share in ((scores.latency_p50_s, 0.5), (scores.latency_p95_s, 0.95)):
        assert told_s is not None
        low_s, high_s = np.quantile(latencies_s, [share - 0.005, share + 0.005])
        assert low_s * 0.99 - 0.02 <= told_s <= high_s * 1.01 + 0.02
    told = [
        (getattr(scores, above), getattr(scores, area))
        for above, area in zip(LAG_ABOVE, LAG_AREA, strict=True)
    ]
    for objective_s, (above_s, area_s) in zip((1.5, 3, 6), told, strict=True):
        assert above_s == pytest.approx(np.sum(lag_s > objective_s) * 0.02, abs=0.2)
        expected_s = np.sum(np.maximum(0, lag_s - objective_s)) * 0.02 / objective_s
        assert area_s == pytest.approx(expected_s, rel=0.02, abs=0.2)
    scorer = Scorer(at_s, 3)
    for each in course:
        scorer.sampled(each)
    ours, theirs = asdict(scores), asdict(scorer.scores(at_s + 50))
    of_rows = ("latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s", *LAG_ABOVE, *LAG_AREA)
    for name in of_rows:
        del ours[name], theirs[name]
    assert ours == pytest.approx(theirs)


def by_curves(course: list[Sample]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Latencies of rows a hundredth apart, and the lag on a grid of 1/50 s, read off both curves."""
    times_s = np.array([each.t_s for each in course])
    offered = curve(times_s, [each.input_rows_per_s for each in course])
    processed = curve(times_s, [each.processed_rows_per_s for each in course])
    rows = np.arange(0.005, processed[-1] - 1e-6, 0.01)
    latencies_s = reached(times_s, processed, rows) - reached(times_s, offered, rows)
    grid_s = np.arange(0.01, times_s[-1], 0.02)
    through = np.interp(grid_s, times_s, processed) + 1e-6
    waiting = np.interp(grid_s, times_s, offered) > through
    oldest_s = reached(times_s, offered, np.minimum(through, offered[-1]))
    return latencies_s, np.where(waiting, grid_s - oldest_s, 0.0)


def curve(times_s: NDArray[np.float64], rates: list[float]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.diff(times_s) * rates[:-1])])


def reached(
    times_s: NDArray[np.float64], total: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    index = np.clip(np.searchsorted(total, rows, side="left"), 1, len(total) - 1)
    share = (rows - total[index - 1]) / np.maximum(total[index] - total[index - 1], 1e-12)
    return times_s[index - 1] + share * np.diff(times_s)[index - 1]
