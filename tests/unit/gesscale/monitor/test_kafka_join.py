"""The totals of a broker on the counter of the driver."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from edge import reading
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.offered import OfferedPoint
from gesscale.monitor.kafka_join import add_end, join_end_offsets
from gesscale.monitor.offered import driver_points, newest_run

WINDOW_S = 60.0
BASE = 9000.0
"""Rows in the topic before the query started."""


def batch(number: int, began_s: float, total: float | None, seconds: float = 10.0, base: float | None = BASE) -> Batch:
    end = None if base is None or total is None else base + total
    return Batch(
        batch_id=number, ended_at_s=began_s + seconds, rows=1, seconds=seconds, nodes=("hub",),
        offered_rows_total=total, end_offset_rows_total=end,
    )  # fmt: skip


def seen(*batches: Batch, at_s: float, backlog: float = 100.0) -> OperatorReading:
    points = tuple(driver_points(newest_run(batches)))
    return reading(at_s=at_s, batches=batches, offered=50.0, backlog=backlog, offered_points=points)


def join(read: OperatorReading, *ends: tuple[float, float]) -> OperatorReading | None:
    return join_end_offsets(read, [OfferedPoint(*end) for end in ends], WINDOW_S)


# 50 rows/s until 1000 s; the batch that began then takes long. From 1000 s on 400 rows/s come.
LONG = seen(batch(0, 980.0, 0.0), batch(1, 990.0, 500.0), batch(2, 1000.0, 1000.0, 30.0), at_s=1040.0)


def test_rows_since_the_newest_batch_are_offered_and_wait() -> None:
    joined = join(LONG, (985.0, BASE + 250), (1020.0, BASE + 9000), (1040.0, BASE + 17_000))
    assert joined is not None
    assert joined.offered_points[-3:] == ((1000.0, 1000.0), (1020.0, 9000.0), (1040.0, 17_000.0))
    assert joined.backlog_rows == 100 + 16_000
    # The window began at 980 s, with 0 rows.
    assert joined.input_rows_per_s == pytest.approx(17_000 / 60)


def marked(number: int, began_s: float, total: float, seconds: float = 10.0) -> Batch:
    """Return a batch of a topic with a marker after each row."""
    return replace(batch(number, began_s, total, seconds), end_offset_rows_total=BASE + 2 * total)


def test_markers_of_transactions_are_no_rows() -> None:
    read = seen(marked(0, 980.0, 0.0), marked(1, 990.0, 500.0), marked(2, 1000.0, 1000.0, 30.0), at_s=1040.0)
    joined = join(read, (985.0, BASE + 500), (1020.0, BASE + 6000), (1040.0, BASE + 10_000))
    assert joined is not None
    # 4000 and 8000 offsets since the batch, 2000 and 4000 rows
    assert joined.offered_points[-2:] == ((1020.0, 3000.0), (1040.0, 5000.0))
    assert joined.backlog_rows == 100 + 4000


def test_a_driver_that_cannot_convert_offsets_to_rows_is_not_overruled() -> None:
    unsure = replace(LONG.batches[-1], offered_rows_total=None)
    read = replace(LONG, batches=(unsure,), offered_points=(), input_rows_per_s=None)
    assert join(read, (985.0, BASE + 250), (1040.0, BASE + 17_000)) is read


def test_without_a_total_from_before_the_batch_the_driver_s_figures_stay() -> None:
    assert join(LONG, (1020.0, BASE + 9000), (1040.0, BASE + 17_000)) is LONG


@pytest.mark.parametrize(
    "ends",
    [
        [(985.0, 100.0), (1040.0, 900.0)],  # made again, or another topic with few rows
        [(985.0, 50_000.0), (1040.0, 51_000.0)],  # another topic: it had more rows before the batch than the driver saw
    ],
)
def test_totals_that_do_not_fit_are_refused(ends: Sequence[tuple[float, float]]) -> None:
    assert join(LONG, *ends) is None


def test_the_query_counts_from_0_again() -> None:
    # The driver restarted at 1000 s: its counter began with 1000 rows more in the topic.
    again = seen(batch(1, 990.0, 500.0), batch(0, 1000.0, 20.0, base=BASE + 1000), at_s=1040.0)
    joined = join(again, (985.0, BASE + 250), (1040.0, BASE + 3020))
    assert joined is not None
    assert joined.offered_points == ((1000.0, 20.0), (1040.0, 2020.0))
    assert joined.backlog_rows == 2100


@pytest.mark.parametrize("backlog", [None, 100.0])
def test_a_driver_without_totals_of_the_topic(backlog: float | None) -> None:
    # Two sources: the sum is not that of one topic.
    two = replace(seen(batch(0, 990.0, 500.0, base=None), at_s=1040.0), backlog_rows=backlog)
    assert join(two, (985.0, 1.0), (1040.0, 2.0)) is None
    # No totals at all: the ends are the counter.
    none = replace(seen(batch(0, 990.0, None), at_s=1040.0), backlog_rows=backlog)
    joined = join(none, (1020.0, 100.0), (1040.0, 900.0))
    assert joined is not None
    assert (joined.offered_points, joined.input_rows_per_s) == (((1020.0, 100.0), (1040.0, 900.0)), 40.0)
    assert joined.backlog_rows == backlog


def test_ends_are_kept_as_long_as_they_are_needed() -> None:
    ends: list[OfferedPoint] = []
    for at_s in range(900, 1040, 10):
        ends = add_end(ends, OfferedPoint(float(at_s), float(at_s)), LONG, WINDOW_S)
    # The window began at 980 s: one end before it.
    assert [end.at_s for end in ends][:2] == [970.0, 980.0]
    assert add_end(ends, OfferedPoint(1030.0, 2000.0), LONG, WINDOW_S) == [
        (1030.0, 2000.0)
    ]  # a clock that stepped back
    assert add_end(ends, OfferedPoint(1040.0, 7.0), LONG, WINDOW_S) == [(1040.0, 7.0)]  # a topic that was made again
    for at_s in range(1040, 3000):
        ends = add_end(ends, OfferedPoint(float(at_s), float(at_s)), LONG, WINDOW_S)
    assert len(ends) == 513  # a batch that never ends: the one before it, and the newest
    assert ends[0].at_s == 970.0


@given(
    st.lists(st.tuples(st.floats(-50, 100), st.floats(0, 1e6)), min_size=1, max_size=8),
    st.none() | st.floats(0, 1e6),
    st.none() | st.floats(0, 1e6),
)
def test_whatever_the_broker_reports_the_counter_ascends(
    steps: list[tuple[float, float]], total: float | None, base: float | None
) -> None:
    read = seen(batch(0, 1000.0, total, base=base), at_s=1040.0)
    ends: list[OfferedPoint] = []
    at_s = 990.0
    for after_s, rows in steps:
        at_s += after_s
        ends = add_end(ends, OfferedPoint(at_s, rows), read, WINDOW_S)
        joined = join_end_offsets(read, ends, WINDOW_S) or read
        points = joined.offered_points
        assert all(one.at_s < two.at_s and one.rows <= two.rows for one, two in pairwise(points))
        assert (joined.input_rows_per_s or 0.0) >= 0
        assert (joined.backlog_rows or 0.0) >= 100
