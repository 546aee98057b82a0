"""Figures that the engine reports: latency as emitted, throughput, loss and CPU."""

import pytest

from testbed.scoring.engine_figures import EngineFigures, EngineMeter
from testbed.scoring.sample import Completion, Sample
from testbed.scoring.scorer import Scorer
from testbed.scoring.workflow_totals import BacklogMeter


def sample(t_s: float, **more: float | None) -> Sample:
    figures = {"demand_replicas": 1, "supply_replicas": 1, "serving_replicas": 1}
    rates = {"input_rows_per_s": 10.0, "processed_rows_per_s": 10.0, "cpu_s_per_s": 0.5}
    return Sample(t_s=t_s, **(figures | rates | more))  # type: ignore[arg-type] # of a test


def figures(*samples: tuple[str, Sample], measured_s: float = 60.0, ended_at_s: float = 60.0) -> EngineFigures:
    meter = EngineMeter(measured_s, ("a", "b"))
    for operator, each in samples:
        meter.on_sample(operator, each)
    return meter.engine_figures(ended_at_s)


def test_the_latency_is_sampled_each_15_s_and_not_while_the_job_is_stopped():
    # Samples count at 0, 15, 30 and 45 s: 2, none, 6 and 10; those between, and after the measurement, do not.
    waited = {0: 2.0, 5: 99.0, 15: None, 20: 99.0, 30: 6.0, 44: 99.0, 45: 10.0, 60: 99.0}
    found = figures(*(("a", sample(t_s, emitted_lag_s=age)) for t_s, age in waited.items()), ended_at_s=80)
    assert found.latency_emitted_mean_s == pytest.approx(6.0)
    assert found.latency_emitted_p50_s == pytest.approx(6.0)
    assert found.latency_emitted_p95_s == pytest.approx(9.6)  # nine tenths of the way from 6 to 10
    assert found.latency_emitted_max_s == pytest.approx(10.0)


def test_the_latency_of_several_sources_is_their_mean():
    found = figures(
        ("a", sample(0, emitted_lag_s=2.0)),
        ("b", sample(0, emitted_lag_s=4.0)),
        ("sink", sample(0, emitted_lag_s=None)),
        measured_s=10.0,
        ended_at_s=10.0,
    )
    assert found.latency_emitted_mean_s == found.latency_emitted_max_s == 3.0


def test_throughput_is_that_of_the_measurement_and_loss_that_of_the_run():
    found = figures(
        ("a", sample(0, processed_rows_per_s=4.0, lost_rows_per_s=1.0)),
        ("b", sample(0)),
        ("sink", sample(0, processed_rows_per_s=0.0)),  # no source: it does not count
        ("a", sample(60, input_rows_per_s=0.0, processed_rows_per_s=10.0, lost_rows_per_s=5.0)),
        ("b", sample(60, input_rows_per_s=0.0, processed_rows_per_s=0.0)),
        ended_at_s=72,
    )
    assert found.throughput_ratio == pytest.approx((4 + 10) / 20)
    assert found.rows_lost_ratio == pytest.approx((60 * 1 + 12 * 5) / (60 * 20))


def test_cpu_is_that_of_all_replicas_and_unknown_if_one_is_not_measured():
    # 40 s with 2 of 4 replicas' time, 20 s with 1 of 5.
    found = figures(
        ("a", sample(0, supply_replicas=3, cpu_s_per_s=1.5)),
        ("sink", sample(0, cpu_s_per_s=0.5)),
        ("a", sample(40, supply_replicas=4, cpu_s_per_s=1.0)),
        ("sink", sample(40, cpu_s_per_s=0.0)),
        ended_at_s=100,
    )
    assert found.cpu_share_mean == pytest.approx((40 * 0.5 + 20 * 0.2) / 60)
    assert figures(("a", sample(0)), ("sink", sample(0, cpu_s_per_s=None))).cpu_share_mean is None


def test_a_run_without_figures_has_none():
    found = figures(("sink", sample(0, cpu_s_per_s=None)))
    assert found.latency_emitted_mean_s is found.latency_emitted_p95_s is found.throughput_ratio is None
    assert found.rows_lost_ratio is found.cpu_share_mean is None


def test_lost_rows_are_no_backlog_and_are_late_until_they_are_dropped():
    # 10 rows/s for 100 s: 4 are processed and 6 dropped 50 s after their offer.
    scorer, backlog = Scorer(100.0, slo_s=10.0), BacklogMeter(100.0)
    for each in (
        sample(0, processed_rows_per_s=4.0),
        sample(50, processed_rows_per_s=4.0, lost_rows_per_s=6.0),
        sample(100, input_rows_per_s=0.0, processed_rows_per_s=0.0, lost_rows_per_s=6.0),
    ):
        scorer.on_sample(each)
        backlog.on_sample("a", each)
    scorer.on_completion(Completion(rows=40, offered_from_s=0, offered_until_s=10, arrived_from_s=0, at_s=10))
    scorer.on_completion(Completion(rows=60, offered_from_s=20, offered_until_s=20, at_s=70, lost=True))
    scores = scorer.scores(150.0)
    assert scores.drained
    assert backlog.backlog().max_backlog_rows == pytest.approx(6 * 50)
    assert scores.latency_mean_s == scores.latency_max_s == 0.0  # only of rows that arrived
    assert scores.lag_above_slo_s == pytest.approx(70 - 20 - 10)
