from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scoring.recorder import SeriesRecorder
from testbed.scoring.sample import Sample


def sample(t_s: float, supply: int = 1, serving: int | None = None, rates: tuple[float, float] = (0, 0)) -> Sample:
    return Sample(
        t_s=t_s,
        demand_replicas=1,
        supply_replicas=supply,
        serving_replicas=supply if serving is None else serving,
        input_rows_per_s=rates[0],
        processed_rows_per_s=rates[1],
    )


def recorded(*trajectory: Sample, until_s: float = 100, bins: int = 4) -> SeriesRecorder:
    recorder = SeriesRecorder(until_s, bins)
    for each in trajectory:
        recorder.on_sample(each)
    return recorder


def test_bins_have_mean_rates_and_the_last_backlog() -> None:
    series = recorded(
        sample(0, rates=(10, 0)), sample(20, rates=(20, 10)), sample(60, rates=(0, 30)), sample(90)
    ).series()
    assert series["t_s"] == (0, 25, 50, 75)
    # (20 x 10 + 5 x 20) / 25, 20, 10 x 20 / 25, 0; and 5 x 10 / 25, 10, (10 x 10 + 15 x 30) / 25, 15 x 30 / 25.
    assert series["input_rows_per_s"] == pytest.approx((12, 20, 8, 0))
    assert series["processed_rows_per_s"] == pytest.approx((2, 10, 22, 18))
    # 200 at 20 s, 250 at 25 s, 500 at 50 s, 600 - 450 at 60 s, and the other 150 are processed 5 s after 75 s.
    assert series["backlog_rows"] == pytest.approx((250, 500, 150, 0))


def test_a_restart_within_a_bin_stays_visible() -> None:
    series = recorded(sample(0, 3), sample(30, 4, 0), sample(35, 4)).series()
    assert series["serving_replicas"] == (3, 0, 4, 4)
    assert series["supply_replicas"] == (3, 4, 4, 4)
    assert series["demand_replicas"] == (1, 1, 1, 1)


def test_a_series_is_available_during_the_run() -> None:
    recorder = recorded(sample(0, 1))
    assert recorder.series()["supply_replicas"] == (1, 1, 1, 1)
    recorder.on_sample(sample(60, 2))
    assert recorder.series()["supply_replicas"] == (1, 1, 2, 2)


@given(
    st.lists(st.tuples(st.floats(0.5, 40), st.integers(1, 5), st.integers(0, 9)), min_size=1, max_size=30),
    st.integers(1, 50),
)
def test_binning_conserves_rows(drawn: list[tuple[float, int, int]], bins: int) -> None:
    at_s, trajectory = 0.0, []
    for seconds, supply, rate in drawn:
        trajectory.append(sample(at_s, supply, rates=(rate, 0)))
        at_s += seconds
    series = recorded(*trajectory, until_s=at_s, bins=bins).series()
    offered = sum(rate * seconds for seconds, _, rate in drawn)
    known = [rate for rate in series["input_rows_per_s"] if rate is not None]
    assert len(known) == bins
    assert sum(known) * at_s / bins == pytest.approx(offered)
    assert series["backlog_rows"][-1] == pytest.approx(offered)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(2, 4))
def test_levels_of_two_bins_or_more_are_shown_in_order(levels: list[int], held_bins: int) -> None:
    # Changes come a third of a bin before an edge.
    trajectory = [sample(0, levels[0])]
    trajectory += [sample(index * held_bins - 1 / 3, level) for index, level in enumerate(levels) if index]
    bins = len(levels) * held_bins
    shown = recorded(*trajectory, until_s=bins, bins=bins).series()["supply_replicas"]
    assert [level for level, after in pairwise((*shown, None)) if level != after] == [
        level for level, after in pairwise((*levels, None)) if level != after
    ]
