"""What each metric is read from."""

import math
from dataclasses import replace

import pytest
from edge import reading

from gesscale.model.observation import Batch, OperatorReading
from testbed.baselines.rules.model import Metric
from testbed.baselines.rules.readings import BATCH_METRICS, is_reported, reports

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


def reported(metric: Metric, item: OperatorReading) -> list[tuple[float, float]]:
    return [(report.at_s, report.value) for report in reports(metric, item, GAP_S)]


def test_every_batch_tells_how_many_rows_wait():
    item = seen(batch(1, 980.0, 100.0), batch(2, 990.0, 300.0))
    assert reported(Metric.QUEUE_LENGTH, item) == [(980.0, 100.0), (990.0, 300.0)]
    # At 20 rows/s those are 5 s and 15 s; a row that comes waits as long, and then for a batch of 4 s.
    assert reported(Metric.LAG, item) == [(980.0, 5.0), (990.0, 15.0)]
    assert reported(Metric.LATENCY, item) == [(980.0, 9000.0), (990.0, 19_000.0)]


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
    assert (bool(reported(Metric.QUEUE_LENGTH, item)), is_reported(Metric.QUEUE_LENGTH, item)) == (
        queue,
        queue,
    )
    assert (bool(reported(Metric.LAG, item)), is_reported(Metric.LAG, item)) == (lag, lag)
    assert is_reported(Metric.LATENCY, item) == lag


def test_who_idles_goes_on_telling_what_the_newest_batch_has_left():
    idle = replace(
        seen(batch(1, 500.0, 0.0)), throughput_rows_per_s=0.0, busy_share=0.0, input_rows_per_s=0.0
    )
    for metric in BATCH_METRICS:
        assert reported(metric, idle)[-1] == (1000.0, 0.0)
    # In the middle of a long batch it is unknown.
    assert reported(Metric.QUEUE_LENGTH, replace(idle, busy_share=1.0)) == [(500.0, 0.0)]
