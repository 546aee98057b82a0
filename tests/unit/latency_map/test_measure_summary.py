import pytest

from latency_map.measure.probe import Reply, Timeout, UnknownHost, Unreachable
from latency_map.measure.summary import summarise

LOST = Timeout(timeout_s=1.0)


def replies(*rtts_ms):
    return [Reply(rtt_ms=rtt_ms) for rtt_ms in rtts_ms]


def test_median_and_95th_percentile_are_those_of_the_replies():
    # 0, 1, ..., 20: the middle is 10, the 95th percentile lies at place 0.95 * 20 = 19
    summary = summarise(replies(*range(20, -1, -1)))
    assert summary.median_ms == 10
    assert summary.p95_ms == pytest.approx(19)


def test_jitter_is_the_mean_difference_of_one_reply_to_the_next_that_came():
    # 10 -> 13 -> (lost) -> 12: |3| and |1|, mean 2
    summary = summarise([*replies(10, 13), LOST, *replies(12)])
    assert summary.jitter_ms == pytest.approx(2)


def test_lost_probes_are_counted_by_kind_and_enter_no_figure_of_time():
    samples = [LOST, Reply(rtt_ms=8.0), UnknownHost(reason=""), Unreachable(reason=""), LOST]
    summary = summarise(samples)
    assert (summary.median_ms, summary.p95_ms) == (8.0, 8.0)
    assert (summary.replies, summary.timeouts, summary.unknown_host, summary.unreachable) == (1, 2, 1, 1)
    assert summary.probes == 5
    assert summary.loss_ratio == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("samples", "median_ms", "jitter_ms", "loss_ratio"),
    [
        ([], None, None, None),
        ([LOST], None, None, 1.0),
        (replies(0.0), 0.0, None, 0.0),  # a reply after no time at all is a reply
        (replies(3, 3), 3.0, 0.0, 0.0),
    ],
)
def test_what_is_not_known_is_none(samples, median_ms, jitter_ms, loss_ratio):
    summary = summarise(samples)
    assert (summary.median_ms, summary.jitter_ms, summary.loss_ratio) == (median_ms, jitter_ms, loss_ratio)
