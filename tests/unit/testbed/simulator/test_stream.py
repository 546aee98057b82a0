import pytest

from testbed.simulator.stream import SourceStream, Topic
from testbed.workloads.workload import Workload


def source(*rates: float, step_s: float = 10.0) -> SourceStream:
    return SourceStream(Workload.of_rates("load", step_s, rates))


def test_a_source_offers_whole_rows_only() -> None:
    load = source(0.3)  # 3 rows in 10 s, the first after 3.33 s
    assert [load.offered_rows(at_s) for at_s in (0, 3, 3.4, 9.9, 10, 99)] == [0, 0, 1, 2, 3, 3]


def test_rounding_does_not_lose_the_last_row() -> None:
    load = SourceStream(Workload.of_rates("load", 0.1, [0.1] * 100))  # 100 x 0.01, in floats just below 1
    assert load.offered_rows(10) == 1


def test_rows_of_a_source_entered_the_workflow_when_they_were_offered() -> None:
    load = source(10.0, 20.0)  # rows 0..99 in 0..10 s, 100..299 in 10..20 s
    # A row is there when it is whole: row 0 after 0.1 s, row 100 after 10 + 0.05 s, row 50 after 5.1 s.
    assert load.event_span(0, 100) == pytest.approx((0.1, 10.0))
    assert load.event_span(100, 150) == pytest.approx((10.05, 12.5))
    assert load.event_span(50, 300) == pytest.approx((5.1, 20.0))


def test_a_topic_counts_what_was_published_until_an_instant() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 0.0, 1.0)
    topic.publish(30, 8.0, 1.0, 4.0)
    assert [topic.offered_rows(at_s) for at_s in (4.9, 5.0, 7.9, 8.0)] == [0, 10, 10, 40]
    topic.forget(40)
    assert topic.offered_rows(8.0) == 40


def test_rows_too_few_to_count_do_not_disturb_a_topic() -> None:
    topic = Topic()
    topic.publish(1e9, 5.0, 0.0, 4.0)
    topic.publish(1e-9, 6.0, 4.0, 5.0)  # 1e9 + 1e-9 is 1e9
    assert topic.offered_rows(6.0) == 1e9
    topic.publish(10, 7.0, 5.0, 6.0)
    assert topic.event_span(0, 1e9 + 10) == (0.0, 6.0)


def test_a_topic_tells_the_event_time_of_rows_in_the_midst_of_what_was_published() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 0.0, 1.0)
    topic.publish(30, 8.0, 1.0, 4.0)
    assert topic.event_span(0, 10) == (0.0, 1.0)
    assert topic.event_span(5, 25) == (0.5, 2.5)
    topic.forget(12)
    assert topic.event_span(12, 40) == pytest.approx((1.2, 4.0))


def test_two_operators_may_publish_to_one_topic_and_the_earliest_and_the_latest_are_told() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 3.0, 4.0)
    topic.publish(10, 5.0, 0.0, 2.0)
    assert topic.event_span(0, 20) == (0.0, 4.0)


def test_rows_that_are_forgotten_or_not_there_yet_are_refused() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="got 10 to 20"):
        topic.event_span(10, 20)
    topic.forget(10)
    with pytest.raises(ValueError, match="got 0 to 10"):
        topic.event_span(0, 10)


def test_a_backlog_does_not_take_memory_and_keeps_its_rows_and_its_first_and_last_event() -> None:
    topic = Topic()
    for number in range(20_000):
        topic.publish(3, float(number), number - 1.0, float(number))
    assert topic.offered_rows(19_999.0) == 60_000
    assert len(topic._segments) <= 4096
    first, last = topic.event_span(0, 60_000)
    assert (first, last) == (-1.0, 19_999.0)
    # Row 30,000 was published 10,000th; merged segments tell it within what they span.
    assert topic.event_span(30_000, 30_001)[0] == pytest.approx(10_000, abs=10)


def test_rows_before_a_pause_were_offered_before_it() -> None:
    # 10 rows/s for 10 s, nothing for 50 s, 10 rows/s again: rows 0 to 100 came by 10 s, row 100 comes from 60 s on.
    load = source(10, 0, 0, 0, 0, 0, 10)
    assert load.event_span(0.0, 100.0) == pytest.approx((0.1, 10.0))
    assert load.event_span(100.0, 150.0) == pytest.approx((60.1, 65.0))


def test_a_row_that_is_not_whole_when_a_pause_begins_is_offered_after_it() -> None:
    # 0.25 rows/s for 10 s make 2.5 rows; the third is whole 2 s after the pause of 50 s.
    load = source(0.25, 0, 0, 0, 0, 0, 0.25)
    assert load.event_span(2.0, 3.0) == pytest.approx((62.0, 62.0))
