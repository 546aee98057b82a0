"""The totals of offered rows: one counter, from the batches and from idling, and its rate."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch
from gesscale.model.offered import OfferedPoint, offered_rate
from gesscale.monitor.offered import add_idle_point, driver_points, newest_run


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
