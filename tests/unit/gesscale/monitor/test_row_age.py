"""The age of the oldest row that is not yet through, and the time in which rows were late."""

import math
from dataclasses import replace

import pytest

from gesscale.model.observation import Batch, MissingReading, OperatorReading, RowAge
from gesscale.model.offered import OfferedPoint
from gesscale.monitor.row_age import OldestRow, RowAgeMeter

OBJECTIVE_S = 15.0


def batch(number: int, began_s: float, seconds: float, offered: float | None, left: float, rows: int) -> Batch:
    return Batch(
        batch_id=number,
        ended_at_s=began_s + seconds,
        rows=rows,
        seconds=seconds,
        nodes=("hub",),
        trigger_s=10.0,
        offered_rows_total=offered,
        backlog_rows=None if offered is None else left,
    )


# One row a second, a batch every 10 s that lasts 4 s and takes all rows.
STEADY = [batch(number, 10.0 * number, 4.0, 10.0 * number, 0.0, 10 if number else 0) for number in range(11)]
# The same, but from 50 s on 10 rows/s: the batch at 60 s takes 40 of its 100 new rows, and so on.
BEHIND = [*STEADY[:6], *(batch(6 + n, 60.0 + 10 * n, 10.0, 150.0 + 100 * n, 60.0 * (n + 1), 40) for n in range(5))]


def reading(*batches: Batch, at_s: float, **others: object) -> OperatorReading:
    given = OperatorReading(
        operator="op",
        at_s=at_s,
        placement=("hub",),
        throughput_rows_per_s=0.0,
        saturated_share=0.0,
        busy_share=0.0,
        batches=batches,
    )
    return replace(given, **others)


def age_s(*batches: Batch, at_s: float, **others: object) -> float | None:
    return RowAgeMeter().measure(reading(*batches, at_s=at_s, **others), OBJECTIVE_S).seconds


@pytest.mark.parametrize(
    ("batches", "at_s", "expected_s"),
    [
        # All rows until 100 s are through. At 1 row/s the next one came at 101 s.
        (STEADY, 105.0, 4.0),
        # The next row is not due yet.
        (STEADY, 100.5, 0.0),
        # 50 + 40 rows are through. Row 91 is the 41st of the 100 that came from 50 to 60 s: at 54.1 s.
        (BEHIND[:7], 72.0, 17.9),
        # 50 + 5 * 40 rows are through. Row 251 is the 1st of those that came from 70 s on, 10 a second: at 70.1 s.
        (BEHIND, 112.0, 41.9),
    ],
)
def test_the_age_follows_from_the_rows_that_are_through(batches, at_s, expected_s):
    assert age_s(*batches, at_s=at_s) == pytest.approx(expected_s, abs=1e-6)


def test_an_idle_query_has_no_waiting_row_until_a_batch_runs():
    # Idle until 118 s. At 130 s a batch has been running for 9 s, so its oldest row came between 118 and 121 s.
    assert age_s(*STEADY, at_s=119.0, idle_at_s=118.0) == 0.0
    assert 9.0 <= age_s(*STEADY, at_s=130.0, idle_at_s=118.0, running_s=9.0) <= 12.0


def test_a_long_batch_ages_with_the_clock():
    meter = RowAgeMeter()
    seen = [meter.measure(reading(*STEADY, at_s=at_s, running_s=at_s - 110.0), OBJECTIVE_S) for at_s in (120.0, 160.0)]
    # The next row came at 101 s, and was late from 116 s on. Counting began at 120 s.
    assert [each.seconds for each in seen] == pytest.approx([19.0, 59.0])
    assert [each.late_s for each in seen] == pytest.approx([0.0, 40.0])


@pytest.mark.parametrize(
    "change", [{"offered_rows_total": None}, {"fixed_slots": 1}], ids=["no totals", "real-time mode"]
)
def test_an_age_that_batches_do_not_show_is_unknown(change):
    batches = [replace(each, **change) for each in STEADY]
    measured = RowAgeMeter().measure(reading(*batches, at_s=110.0), OBJECTIVE_S)
    assert measured == RowAge(objective_s=OBJECTIVE_S)


def test_rows_from_before_the_first_batch_are_at_least_as_old():
    first = batch(7, 20.0, 5.0, 500.0, 400.0, 100)
    measured = RowAgeMeter().measure(reading(first, at_s=30.0), OBJECTIVE_S)
    assert (measured.seconds, measured.is_least) == (10.0, True)
    assert RowAgeMeter().measure(reading(*BEHIND, at_s=112.0), OBJECTIVE_S).is_least is False


def test_ends_of_a_topic_show_rows_since_the_newest_batch():
    # The broker had 5 rows more at 104 s and again at 108 s: the first of them came at 100 + 4/5 s.
    points = (OfferedPoint(104.0, 105.0), OfferedPoint(108.0, 105.0))
    assert age_s(*STEADY, at_s=109.0, offered_points=points, idle_at_s=108.5) == pytest.approx(8.2)
    # None came until 108 s; at 100 rows in 108 s the next one is not due at 109 s.
    assert age_s(*STEADY, at_s=109.0, offered_points=(OfferedPoint(108.0, 100.0),)) == 0.0


def test_late_seconds_count_each_batch_once_and_miss_none():
    # Counting begins at 62 s. Until 70 s row 51 is the oldest; it came at 50.1 s and is late from 65.1 s on. Then rows
    # 91, 131, 171 and 211 are, ten seconds each. They came at 54.1, 58.1, 62.1 and 66.1 s, so they are older than 15 s
    # at 70, 80, 90 and 100 s.
    expected_s = (70.0 - 65.1) + 4 * 10.0
    every, rarely = RowAgeMeter(), RowAgeMeter()
    begun = reading(*BEHIND[:6], at_s=62.0)
    every.measure(begun, OBJECTIVE_S), rarely.measure(begun, OBJECTIVE_S)
    for number in (7, 8, 9, 10, 11, 11):
        last = BEHIND[number - 1]
        measured = every.measure(reading(*BEHIND[max(0, number - 3) : number], at_s=last.ended_at_s), OBJECTIVE_S)
    assert measured.late_s == pytest.approx(expected_s)
    assert rarely.measure(reading(*BEHIND, at_s=110.0), OBJECTIVE_S).late_s == pytest.approx(expected_s)


def test_without_a_reading_the_age_is_known_while_a_batch_runs():
    meter = RowAgeMeter()
    meter.measure(reading(*STEADY, at_s=112.0, running_s=2.0), OBJECTIVE_S)
    running = MissingReading(operator="op", code="batch-running", fields={"running_s": 290.0}, stale=True)
    measured = meter.measure_without(running, 400.0, OBJECTIVE_S)
    # The next row came at 101 s and is late from 116 s on.
    assert (measured.seconds, measured.late_s) == pytest.approx((299.0, 284.0))
    silent = meter.measure_without(MissingReading(operator="op", code="metrics-timeout"), 500.0, OBJECTIVE_S)
    assert (silent.seconds, silent.late_s) == (None, measured.late_s)
    # After a start, rows wait at least as long as the batch runs.
    assert RowAgeMeter().measure_without(running, 400.0, OBJECTIVE_S).text == ">290s/15s"


def test_late_seconds_never_fall():
    meter = RowAgeMeter()
    meter.measure(reading(*STEADY, at_s=104.0), OBJECTIVE_S)
    running = meter.measure(reading(*STEADY, at_s=140.0, running_s=30.0), OBJECTIVE_S)
    assert running.late_s == pytest.approx(24.0)  # the next row was due at 101 s, so it is late from 116 s on
    # There was only one row, at the end: it came with the batch.
    rested = (*STEADY, batch(11, 150.0, 1.0, 101.0, 0.0, 1))
    assert meter.measure(reading(*rested, at_s=151.0), OBJECTIVE_S).late_s == running.late_s


def test_a_query_that_rested_found_no_rows_a_trigger_before():
    # Ten rows come every 100 s, all within the interval before the batch that takes them.
    bursts = [batch(number, 100.0 * number, 1.0, 10.0 * number, 0.0, 10) for number in range(1, 6)]
    meter = RowAgeMeter()
    for number in range(1, 6):
        at_s = bursts[number - 1].ended_at_s
        measured = meter.measure(reading(*bursts[:number], at_s=at_s, idle_at_s=at_s), OBJECTIVE_S)
    assert (measured.seconds, measured.late_s) == (0.0, 0.0)


@pytest.mark.parametrize(("first_id", "resumes"), [(11, True), (0, False)], ids=["resumed", "new"])
def test_a_query_that_resumes_continues_the_count(first_id, resumes):
    # Stopped at 104 s; its first batch ends at 165 s. Row 101 was due at 101 s, so it is late from 116 to 165 s. The
    # run counts from 0, and 20 of the 60 rows are through: row 121 came at 100 + 21 s.
    meter = RowAgeMeter()
    meter.measure(reading(*STEADY, at_s=104.0), OBJECTIVE_S)
    resumed = batch(first_id, 160.0, 5.0, 60.0, 40.0, 20)
    measured = meter.measure(reading(resumed, at_s=165.0), OBJECTIVE_S)
    assert measured.late_s == pytest.approx(165.0 - 116.0 if resumes else 0.0)
    assert measured.seconds == pytest.approx(165.0 - 121.0 if resumes else 5.0)
    assert measured.is_least is not resumes


def test_a_clock_that_was_set_back_starts_the_curve_anew():
    meter = RowAgeMeter()
    meter.measure(reading(*STEADY, at_s=104.0), OBJECTIVE_S)
    earlier = [replace(each, ended_at_s=each.ended_at_s - 60.0, batch_id=each.batch_id + 1) for each in STEADY[8:]]
    assert meter.measure(reading(*earlier, at_s=45.0), OBJECTIVE_S).seconds == pytest.approx(4.0)


def test_a_span_is_late_where_its_row_is_older_than_the_objective():
    # The age grows from 10 to 30 s within 20 s: above 15 s in the last 15 s.
    assert OldestRow(100.0, 120.0, 90.0, 90.0).late_part(15.0) == OldestRow(105.0, 120.0, 90.0, 90.0)
    # It falls from 30 to 10 s: above 15 s in the first 15 s.
    assert OldestRow(100.0, 120.0, 70.0, 110.0).late_part(15.0) == OldestRow(100.0, 115.0, 70.0, 100.0)
    assert OldestRow(100.0, 120.0, 90.0, 110.0).late_part(15.0) is None
    assert OldestRow(100.0, 120.0, 50.0, 60.0).late_part(15.0) == OldestRow(100.0, 120.0, 50.0, 60.0)
    assert math.isfinite(OldestRow(1.0, 1.0, 0.0, 0.0).offered_s(1.0))
