"""What each metric is read from, and readings over time: what they cover, and that their number is bounded."""

import math
from dataclasses import replace

import pytest
from edge import reading
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch, OperatorReading
from testbed.baselines.rules.model import FIELD_OF_GAUGE, Metric
from testbed.baselines.rules.readings import (
    MetricReport,
    MetricSample,
    append_reports,
    is_reported,
    prune_samples,
    reports,
)

GAP_S = 180.0


def batch(number: int, ended_at_s: float, backlog: float | None, **changes: object) -> Batch:
    made = Batch(
        batch_id=number,
        ended_at_s=ended_at_s,
        rows=50,
        seconds=4.0,
        nodes=("hub",),
        trigger_s=10.0,
        backlog_rows=backlog,
    )
    return replace(made, **changes)


def seen(*batches: Batch, **changes: object) -> OperatorReading:
    return reading(offered=20.0, batches=batches, **changes)


def reported(metric: str, item: OperatorReading) -> list[tuple[float, float]]:
    return [(report.at_s, report.value) for report in reports(metric, item, GAP_S)]


def test_every_batch_reports_its_backlog():
    item = seen(batch(1, 980.0, 100.0), batch(2, 990.0, 300.0))
    assert reported(Metric.QUEUE_LENGTH, item) == [(980.0, 100.0), (990.0, 300.0)]
    # At 20 rows/s those are 5 s and 15 s; a row that comes waits as long, and then for a batch of 4 s.
    assert reported(Metric.LAG, item) == [(980.0, 5.0), (990.0, 15.0)]
    assert reported(Metric.LATENCY, item) == [(980.0, 9000.0), (990.0, 19_000.0)]


def test_every_batch_reports_its_gauges():
    gauge = "gesscale_operator_batch_state_bytes"
    item = seen(batch(1, 980.0, 0.0, state_bytes=2**31), batch(2, 990.0, 0.0), batch(3, 1000.0, 0.0, state_bytes=7))
    assert reported(gauge, item) == [(980.0, 2**31), (1000.0, 7.0)]
    assert is_reported(gauge, item)
    assert not is_reported(gauge, seen(batch(1, 980.0, 0.0)))
    # It belongs to a batch: an idle operator has none.
    idle = replace(item, at_s=1200.0, throughput_rows_per_s=0.0, busy_share=0.0)
    assert reported(gauge, idle) == reported(gauge, item)


def test_every_batch_reports_what_the_query_observes():
    own = "observed.orders.oldest_s"
    item = seen(batch(1, 980.0, 0.0, observed={"orders.oldest_s": -4.5}), batch(2, 990.0, 0.0, observed={"x": 1.0}))
    assert reported(own, item) == [(980.0, -4.5)]
    assert not is_reported(own, item)
    assert is_reported("observed.x", item)
    assert not is_reported("observed.x", seen(batch(1, 980.0, 0.0, observed={"x": math.nan})))


def test_every_gauge_can_be_read():
    item = seen(batch(1, 990.0, 100.0, cap_rows=500))
    found = {gauge: reported(gauge, item) for gauge in FIELD_OF_GAUGE}
    assert found["gesscale_operator_batch_rows"] == [(990.0, 50.0)]
    assert found["gesscale_operator_batch_cap_rows"] == [(990.0, 500.0)]
    assert found["gesscale_operator_backlog_rows"] == [(990.0, 100.0)]
    assert found["gesscale_operator_batch_tasks"] == []


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_gauge_that_is_no_number_is_left_out(value):
    item = seen(batch(1, 990.0, 0.0, state_bytes=value))
    assert reported("gesscale_operator_batch_state_bytes", item) == []
    assert not is_reported("gesscale_operator_batch_state_bytes", item)


def test_a_batch_reaches_back_to_the_one_before_if_none_is_missing():
    item = seen(batch(1, 800.0, 0.0), batch(2, 990.0, 0.0), batch(4, 1000.0, 0.0, seconds=12.0))
    reach_s = [report.reach_s for report in reports(Metric.QUEUE_LENGTH, item, GAP_S)]
    # The first is unknown; the last is not the next one, and counts for its own 12 s only.
    assert reach_s == [10.0, math.inf, 12.0]


@pytest.mark.parametrize(
    ("backlog", "offered", "queue", "lag"),
    [
        (None, 20.0, False, False),
        (math.nan, 20.0, False, False),
        (100.0, None, True, False),
        (100.0, 0.0, True, False),  # who is offered nothing has no lag in seconds, unless nothing waits
        (0.0, 0.0, True, True),
        (0.0, None, True, True),
        (100.0, math.nan, True, False),
    ],
)
def test_what_is_missing_or_no_number_is_left_out(backlog, offered, queue, lag):
    item = replace(seen(batch(1, 990.0, backlog)), input_rows_per_s=offered)
    assert (bool(reported(Metric.QUEUE_LENGTH, item)), is_reported(Metric.QUEUE_LENGTH, item)) == (queue, queue)
    assert (bool(reported(Metric.LAG, item)), is_reported(Metric.LAG, item)) == (lag, lag)
    assert is_reported(Metric.LATENCY, item) == lag


def test_idle_operator_reports_the_last_backlog():
    idle = replace(seen(batch(1, 500.0, 0.0)), throughput_rows_per_s=0.0, busy_share=0.0, input_rows_per_s=0.0)
    for metric in (Metric.QUEUE_LENGTH, Metric.LAG, Metric.LATENCY):
        assert reported(metric, idle)[-1] == (1000.0, 0.0)
    # In the middle of a long batch it is unknown.
    assert reported(Metric.QUEUE_LENGTH, replace(idle, busy_share=1.0)) == [(500.0, 0.0)]


def at_instants(*instants_s: float, reach_s: float = 5.0, value: float = 1.0) -> list[MetricReport]:
    return [MetricReport(at_s, value, reach_s) for at_s in instants_s]


def at_s(samples: tuple[MetricSample, ...]) -> list[float]:
    return [sample.at_s for sample in samples]


def test_report_covers_the_time_since_the_last_one():
    samples = append_reports((), at_instants(5, 10, 20, 22), max_gap_s=60)
    assert [sample.covers_s for sample in samples] == [0, 5, 5, 2]


def test_one_sample_beyond_the_longest_time_is_kept_and_two_in_any_case():
    samples = append_reports((), at_instants(*range(0, 60, 11)), max_gap_s=60)  # 0, 11, ..., 55
    assert at_s(prune_samples(samples, 30, 100)) == [22, 33, 44, 55]
    assert at_s(prune_samples(samples, 33, 100)) == [22, 33, 44, 55]
    assert at_s(prune_samples(samples, 5, 100)) == [44, 55]
    assert at_s(prune_samples(samples[-1:], 5, 100)) == [55]
    assert prune_samples((), 30, 100) == ()


@given(values=st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=2, max_size=300), most=st.integers(2, 40))
def test_merged_samples_hide_no_value_and_lose_no_time(values, most):
    samples = append_reports((), [MetricReport(5.0 * n, value, 5.0) for n, value in enumerate(values)], max_gap_s=60)
    kept = prune_samples(samples, 1e9, most)
    assert len(kept) <= most
    assert kept[-1] == samples[-1]
    assert min(item.low for item in kept) == min(item.low for item in samples)
    assert max(item.high for item in kept) == max(item.high for item in samples)
    assert sum(item.covers_s for item in kept) == sum(item.covers_s for item in samples)
    assert set(at_s(kept)) <= set(at_s(samples))
