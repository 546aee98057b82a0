"""The backlog, computed from the rates of samples."""

import pytest

from testbed.scoring.sample import Sample
from testbed.scoring.workflow_totals import BacklogMeter


def sample(t_s, offered, processed):
    return Sample(
        t_s=t_s,
        demand_replicas=1,
        supply_replicas=1,
        serving_replicas=1,
        input_rows_per_s=offered,
        processed_rows_per_s=processed,
    )


def test_the_mean_and_the_most_of_one_operator():
    meter = BacklogMeter(40.0)
    for each in (sample(0.0, 10.0, 0.0), sample(10.0, 0.0, 5.0), sample(30.0, 0.0, 0.0)):
        meter.on_sample("op", each)
    backlog = meter.backlog()
    # up to 100 rows in 10 s, down to 0 in 20 s, then nothing: (10 x 50 + 20 x 50) / 40
    assert backlog.avg_backlog_rows == pytest.approx(37.5)
    assert backlog.max_backlog_rows == pytest.approx(100.0)


def test_time_after_the_measurement_does_not_count():
    meter = BacklogMeter(10.0)
    for each in (sample(0.0, 1.0, 0.0), sample(10.0, 0.0, 0.0), sample(20.0, 100.0, 0.0), sample(30.0, 0.0, 0.0)):
        meter.on_sample("op", each)
    assert meter.backlog().max_backlog_rows == pytest.approx(10.0)
