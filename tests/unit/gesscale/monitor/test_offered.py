"""The totals of offered rows: one counter, from the batches and from idling, and its rate."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch
from gesscale.model.offered import OfferedPoint, offered_rate
from gesscale.monitor.offered import add_idle_point, add_rests, driver_points, idling, newest_run


def batch(number: int, began_s: float, total: float | None, seconds: float = 1.0) -> Batch:
    return Batch(
        batch_id=number, ended_at_s=began_s + seconds, rows=1, seconds=seconds, nodes=("a",), offered_rows_total=total
    )


def test_a_total_belongs_to_the_start_of_its_batch() -> None:
    assert driver_points([batch(0, 10.0, 0.0), batch(1, 12.0, 50.0, seconds=9.0)]) == [(10.0, 0.0), (12.0, 50.0)]


@pytest.mark.parametrize("again", [[batch(0, 14.0, 5.0)], [batch(2, 14.0, None), batch(3, 16.0, 5.0)]])
def test_only_the_newest_run_counts(again: list[Batch]) -> None:
    # The query starts again with batch 0, or after batch 2, whose total is unknown, from 0.
    found = driver_points(newest_run([batch(0, 10.0, 100.0), batch(1, 12.0, 150.0), *again]))
    assert found == [(again[-1].ended_at_s - 1.0, 5.0)]


def test_batches_that_begin_together_give_one_point() -> None:
    # A clock that stepped back by 2 s between them: the newer batch begins at the same instant.
    assert driver_points([batch(0, 12.0, 10.0), batch(1, 12.0, 30.0, seconds=3.0)]) == [(12.0, 30.0)]


def test_an_idle_query_offers_nothing() -> None:
    points = [OfferedPoint(10.0, 100.0), OfferedPoint(60.0, 700.0)]
    add_idle_point(points, 55.0)
    add_idle_point(points, 70.0)
    assert points == [(10.0, 100.0), (55.0, 100.0), (60.0, 700.0), (70.0, 700.0)]
    for known_s in (5.0, 10.0, 70.0):  # nothing is known before the first, and the others are there
        add_idle_point(points, known_s)
    assert len(points) == 4


@pytest.mark.parametrize(
    ("idle_s", "most_rows"),
    [
        (30.0, 6000.0),  # as many as in a batch may wait
        (290.0, 6000.0),
        (300.0, 0.0),  # ten usual intervals: 200 rows/s x 300 s are ten times what a query waited for
    ],
)
def test_an_idle_query_may_wait_for_as_many_rows_as_before(idle_s: float, most_rows: float) -> None:
    # 6000 rows each 30 s
    run = [batch(number, 30.0 * number, 6000.0 * number) for number in range(5)]
    assert idling(driver_points(run), run[-1], 120.0 + idle_s).most_rows == most_rows


def test_after_the_longest_delay_of_a_trigger_no_row_waits() -> None:
    # Two batches 5 min apart: ten intervals would be 50 min; or one, or none with a total
    slow = [batch(0, 0.0, 0.0), batch(1, 300.0, 9000.0)]
    for run, unsure in ((slow, 9000.0), (slow[:1], None), ([batch(0, 0.0, None)], None)):
        points = driver_points(run)
        began_s = run[-1].began_s
        assert idling(points, run[-1], began_s + 899.0).most_rows == unsure
        assert idling(points, run[-1], began_s + 900.0).most_rows == 0.0


@pytest.mark.parametrize(
    ("totals", "rested"),
    [
        ((0.0, 700.0, 1400.0), True),  # as many rows in 2 s before the first batch as in 2 s after it
        ((0.0, 6000.0, 6700.0), False),  # far more: they may have waited
        ((0.0, 700.0, 700.0), False),
        ((0.0, None, 1400.0), False),
    ],
)
def test_idling_is_believed_when_rows_came_as_fast_after_it(totals: tuple[float, ...], rested: bool) -> None:
    began = (0.0, 100.0, 102.0)
    run = [replace(batch(index, began[index], totals[index]), trigger_s=2.0) for index in range(3)]
    points = driver_points(run)
    expected = [*points, OfferedPoint(50.0, 0.0), OfferedPoint(98.0, 0.0)] if rested else points
    add_rests(points, run, window_began_s=50.0)
    assert points == sorted(expected)


def test_the_rate_covers_the_window_or_the_two_newest_points() -> None:
    points = [OfferedPoint(0.0, 0.0), OfferedPoint(10.0, 100.0), OfferedPoint(20.0, 400.0)]
    assert offered_rate(points, 10.0) == 30.0  # 300 rows in 10 s
    assert offered_rate(points, 25.0) == 30.0  # a batch that is longer than the window
    assert offered_rate(points, 9.0) == 20.0  # 400 rows in 20 s
    assert offered_rate(points, -5.0) == 20.0
    assert offered_rate(points[:1], 0.0) is None


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.floats(0, 1e6), st.none() | st.floats(0, 1e12), st.floats(0.001, 100)),
        max_size=12,
    ),
    st.floats(-10, 1e6),
)
def test_points_ascend_and_the_rate_is_not_negative(
    shown: list[tuple[int, float, float | None, float]], at_s: float
) -> None:
    points = driver_points(newest_run([batch(*each) for each in shown]))
    add_idle_point(points, at_s)
    assert all(one.at_s < next_one.at_s and one.rows <= next_one.rows for one, next_one in pairwise(points))
    rate = offered_rate(points, at_s)
    assert rate is None or (rate >= 0 and not math.isnan(rate))
