"""Samples of metrics for rules: collects reports of an operator and keeps as many as the rules need."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gesscale.model.observation import Batch, OperatorReading
from testbed.baselines.rules.model import FIELD_OF_GAUGE, OBSERVED, UNITS, Metric
from testbed.baselines.shared.signals import cpu_share

#: Metrics that are reported once per step of the loop; every finished batch reports the others.
_STEP_METRICS = frozenset({Metric.CPU, Metric.BUSY, Metric.SATURATED, Metric.INPUT_RATE, Metric.THROUGHPUT})


class MetricReport(NamedTuple):
    """Value of a metric of an operator at an instant."""

    #: Seconds since the epoch.
    at_s: float
    #: Value in the metric's own unit.
    value: float
    #: Maximum time before it that the report covers, seconds.
    reach_s: float


class MetricSample(NamedTuple):
    """One report, or several merged ones."""

    #: Time of the last report, seconds since the epoch.
    at_s: float
    #: The time that the reports cover, seconds.
    covers_s: float
    #: The smallest and the largest value (low, high).
    low: float
    high: float


MetricSamples = tuple[MetricSample, ...]


def append_reports(samples: Sequence[MetricSample], reports: Iterable[MetricReport], max_gap_s: float) -> MetricSamples:
    """Append newer reports to samples."""
    result = list(samples)
    for report in reports:
        at_s, value = round(report.at_s, 3), float(f"{report.value:.9g}")
        since_s = at_s - result[-1].at_s if result else 0.0
        if result and since_s <= 0:
            continue
        if since_s > max(max_gap_s, report.reach_s):
            result.clear()
            since_s = 0.0
        result.append(MetricSample(at_s, round(min(since_s, report.reach_s), 3), value, value))
    return tuple(result)


def prune_samples(samples: Sequence[MetricSample], max_s: float, most: int) -> MetricSamples:
    """Remove the samples that no condition needs.

    Parameters
    ----------
    max_s
        The longest time window of a condition, seconds. One older sample is kept too, and always the newest two.
    """
    if not samples:
        return ()
    begins_s = samples[-1].at_s - max_s
    before = sum(sample.at_s <= begins_s for sample in samples)
    result = list(samples[max(0, min(before - 1, len(samples) - 2)) :])
    while len(result) > most:
        result = _one_fewer(result)
    return tuple(result)


def _one_fewer(samples: list[MetricSample]) -> list[MetricSample]:
    """Merge the two adjacent samples that cover the least time relative to their age; never the newest."""
    now_s = samples[-1].at_s

    def spread(index: int) -> float:
        one, two = samples[index : index + 2]
        return (one.covers_s + two.covers_s) / (now_s - two.at_s)

    index = min(range(len(samples) - 2), key=spread)
    one, two = samples[index : index + 2]
    both = MetricSample(two.at_s, round(one.covers_s + two.covers_s, 3), min(one.low, two.low), max(one.high, two.high))
    return [*samples[:index], both, *samples[index + 2 :]]


def reports(metric: str, reading: OperatorReading, max_gap_s: float) -> Iterator[MetricReport]:
    """Yield the reports of an operator on a metric, oldest first.

    Parameters
    ----------
    max_gap_s
        Maximum time that a report of a step covers, seconds.

    Notes
    -----
    A batch with the next number covers all the time since the batch before, because nothing else happened. If an
    operator has idled for the whole window, the step reports the backlog of its newest batch, but no gauge.
    """
    if metric in _STEP_METRICS:
        yield from _report(reading.at_s, _of_step(metric, reading), max_gap_s)
        return
    before: Batch | None = None
    for batch in reading.batches:
        follows = before is not None and batch.batch_id == before.batch_id + 1
        reach_s = math.inf if follows else max(batch.seconds, batch.trigger_s or 0.0)
        yield from _report(batch.ended_at_s, _of_batch(metric, batch, reading), reach_s)
        before = batch
    idles = reading.throughput_rows_per_s == 0 and reading.busy_share == 0
    if before is not None and idles and metric in UNITS:
        at_rest = replace(before, seconds=0.0)
        yield from _report(reading.at_s, _of_batch(metric, at_rest, reading), max_gap_s)


def is_reported(metric: str, reading: OperatorReading) -> bool:
    """Return True if the newest report of an operator has a metric."""
    if metric in _STEP_METRICS:
        value = _of_step(metric, reading)
    else:
        value = _of_batch(metric, reading.batches[-1], reading) if reading.batches else None
    return value is not None and math.isfinite(value)


def _report(at_s: float, value: float | None, reach_s: float) -> Iterator[MetricReport]:
    if value is not None and math.isfinite(value):
        yield MetricReport(at_s, value, reach_s)


def _of_step(metric: str, reading: OperatorReading) -> float | None:
    match metric:
        case Metric.CPU:
            return 100 * cpu_share(reading)
        case Metric.BUSY:
            return 100 * reading.busy_share
        case Metric.SATURATED:
            return 100 * reading.saturated_share
        case Metric.INPUT_RATE:
            return reading.input_rows_per_s
        case _:
            return reading.throughput_rows_per_s


def _of_batch(metric: str, batch: Batch, reading: OperatorReading) -> float | None:
    if metric.startswith(OBSERVED):
        return (batch.observed or {}).get(metric.removeprefix(OBSERVED))
    if metric in FIELD_OF_GAUGE:
        gauge: float | None = getattr(batch, FIELD_OF_GAUGE[metric])
        return gauge
    if metric == Metric.QUEUE_LENGTH:
        return batch.backlog_rows
    lag_s = _lag_s(batch, reading)
    if metric == Metric.LAG or lag_s is None:
        return lag_s
    return 1000 * (batch.seconds + lag_s)


def _lag_s(batch: Batch, reading: OperatorReading) -> float | None:
    """Return the time in which the source offers as many rows as wait after a batch; None if it offers none."""
    if batch.backlog_rows is None:
        return None
    if batch.backlog_rows == 0:
        return 0.0
    rate = reading.input_rows_per_s
    return batch.backlog_rows / rate if rate else None
