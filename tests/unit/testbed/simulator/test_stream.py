import pytest

from testbed.simulator.stream import SourceStream, Topic
from testbed.workloads.workload import Workload


def source(*rates: float, step_s: float = 10.0) -> SourceStream:
    return SourceStream(Workload.of_rates("load", step_s, rates))


def test_a_source_offers_whole_rows_only() -> None:
    load = source(0.3)  # 3 rows in 10 s, the first after 3.33 s
    assert [load.offered_rows(at_s) for at_s in (0, 3, 3.4, 9.9, 10, 99)] == [0, 0, 1, 2, 3, 3]


def test_a_topic_interpolates_the_event_time_of_rows() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 0.0, 1.0)
    topic.publish(30, 8.0, 1.0, 4.0)
    assert topic.event_span(0, 10) == (0.0, 1.0)
    assert topic.event_span(5, 25) == (0.5, 2.5)
    topic.forget(12)
    assert topic.event_span(12, 40) == pytest.approx((1.2, 4.0))


def test_a_topic_of_two_producers_returns_earliest_and_latest_events() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 3.0, 4.0)
    topic.publish(10, 5.0, 0.0, 2.0)
    assert topic.event_span(0, 20) == (0.0, 4.0)


def test_rows_forgotten_or_not_published_are_rejected() -> None:
    topic = Topic()
    topic.publish(10, 5.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="10 to 20"):
        topic.event_span(10, 20)
    topic.forget(10)
    with pytest.raises(ValueError, match="0 to 10"):
        topic.event_span(0, 10)


def test_a_backlog_has_bounded_memory_and_keeps_rows_and_events() -> None:
    topic = Topic()
    for number in range(20_000):
        topic.publish(3, float(number), number - 1.0, float(number))
    assert topic.offered_rows(19_999.0) == 60_000
    assert len(topic._segments) <= 4096
    first, last = topic.event_span(0, 60_000)
    assert (first, last) == (-1.0, 19_999.0)
    # Row 30,000 was published 10,000th; merged segments give its time within their span.
    assert topic.event_span(30_000, 30_001)[0] == pytest.approx(10_000, abs=10)
