"""Writes the page of all metrics for Prometheus: ``python tests/prometheus_page.py > docs/reference/prometheus.md``.

Each collector is given one of each thing that it can tell of, so that no metric and no label is missing.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields

from model_summaries import both_laws
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from recorded_steps import decided

from gesscale.batch_record import BatchRecord, HostWork
from gesscale.common.metrics_text import exposition
from gesscale.model.decision import MapStatus, Reason
from gesscale.service.metrics import ApiFigures, OperatorFigures, ScalerMetrics, StepFigures
from gesscale.spark.metrics import operator_metrics
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings
from latency_map.measure.gauges import agent_metrics
from latency_map.measure.probes import Reply, summarise
from latency_map.measure.sweep import Measured
from perfmodel import Estimate

_HEAD = """\
# Metrics for Prometheus

Written by `python tests/prometheus_page.py > docs/reference/prometheus.md` from what the collectors serve.

Three kinds of processes serve `/metrics`. A figure that is not known has no sample, or NaN in a driver. An operator, a
query or a node that has gone leaves no series. Times are seconds since the epoch. Scrape configuration, alerts and a
dashboard: `deploy/k3s/monitoring`.
"""
_PLACES = {
    "The scaler": "`gesscale run --listen PORT`, and the controller on port 8080. "
    "Outside Kubernetes the label `namespace` is empty, and `workflow` is `workflow`.",
    "A Spark driver": "The port that was given to `gesscale.spark.attach`. "
    "Sources of the figures: [Metrics of a Spark driver](spark_metrics.md).",
    "A latency agent": "`gesscale latency-map agent`, on port 9109.",
}


def prometheus_page() -> str:
    """Return what docs/reference/prometheus.md holds; a test compares the two."""
    parts = [_HEAD]
    for (title, text), metrics in zip(_PLACES.items(), (_scaler(), _driver(), _agent()), strict=True):
        parts.append(f"\n## {title}\n\n{text}\n\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|")
        parts += [_row(metric) for metric in metrics]
    return "\n".join(parts) + "\n"


def _row(metric: Metric) -> str:
    labels = {label: None for sample in metric.samples for label in sample.labels if label != "le"}
    assert metric.samples, f"{metric.name} has no sample: give the collector what it tells of"
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    return f"| `{name}` | {metric.type} | {', '.join(f'`{each}`' for each in labels)} | {metric.documentation} |"


def _scaler() -> Iterable[Metric]:
    figures = {each.name: 1 for each in fields(OperatorFigures)} | {
        "mst": Estimate(low=1, mid=1, high=1),
        "model": both_laws(),
        "growth_blocked_by": Reason.DELAY_EATS_GAIN,
    }
    api = ApiFigures(requests={("get", "nodes", "200"): 1}, stale_s={"nodes": 0.0}, missing_rights=0)
    metrics = ScalerMetrics("1", lambda: api)
    metrics.lead(True)
    step = StepFigures(at_s=1.0, operators={"op": OperatorFigures(**figures)}, latency_map=MapStatus(age_s=1.0))
    metrics.step_done("streams", "taxi", step, [decided()])
    with metrics.measure_phase("plan"):
        pass
    metrics.rescale_took(1.0)
    return metrics.collect()


def _driver() -> Iterator[Metric]:
    work = {"n": HostWork(rows=1.0, busy_s=1.0, cpu_s=1.0, state_partitions=1)}
    hosts = ("n",)
    given = {each.name: 1 for each in fields(BatchRecord)} | {"observed": {"orders.oldest_s": 1.0}}
    record = BatchRecord(**given | {"hosts": hosts, "hosts_at_start": hosts, "by_host": work})
    history = QueryHistory(query="q", last_progress_at_s=1.0)
    history.batches.append(record)
    executors = ExecutorSnapshot(at_s=1.0, hosts=hosts)
    settings = QuerySettings(app="app", operator="op")
    page = exposition(operator_metrics(settings, [history], executors, 0, {"batch-cap-missing": 1}))
    return text_string_to_metric_families(page.decode())


def _agent() -> Iterator[Metric]:
    replies = [Reply(rtt_ms=1.0), Reply(rtt_ms=2.0)]  # jitter is between two
    measured = {"peer": Measured(summary=summarise(replies), replied_at_s=1.0)}
    page = exposition(agent_metrics("n", measured, now_s=1.0, clock_s=1.0, sent=1, rounds=1))
    return text_string_to_metric_families(page.decode())


if __name__ == "__main__":
    sys.stdout.write(prometheus_page())
