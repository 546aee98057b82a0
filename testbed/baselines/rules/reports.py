"""From what is seen of an operator to the reports that rules go by."""

import math
from collections.abc import Iterator
from dataclasses import replace

from gesscale.analyze.signals import cpu_share
from gesscale.model.observation import Batch, OperatorReading
from testbed.baselines.rules.model import Metric
from testbed.baselines.rules.samples import MetricReport

BATCH_METRICS = frozenset({Metric.QUEUE_LENGTH, Metric.LAG, Metric.LATENCY})
"""The metrics that every finished batch reports; the others are reported once a step of the loop."""


def reports(metric: Metric, reading: OperatorReading, max_gap_s: float) -> Iterator[MetricReport]:
    """Yield what an operator says of a metric, oldest first.

    Parameters
    ----------
    metric
        Which.
    reading
        The operator, with its recent batches.
    max_gap_s
        How far back a step of the loop speaks, seconds.

    Yields
    ------
    MetricReport
        Values that are missing, or are no numbers, are left out.

    Notes
    -----
    A batch that follows the one before it by its number speaks for all the time since, because nothing else happened in
    it. Where an operator has idled through the whole window, the step reports what its newest batch has left.
    """
    if metric not in BATCH_METRICS:
        yield from _report(reading.at_s, _of_step(metric, reading), max_gap_s)
        return
    before: Batch | None = None
    for batch in reading.batches:
        follows = before is not None and batch.batch_id == before.batch_id + 1
        reach_s = math.inf if follows else max(batch.seconds, batch.trigger_s or 0.0)
        yield from _report(batch.ended_at_s, _of_batch(metric, batch, reading), reach_s)
        before = batch
    if before is not None and reading.throughput_rows_per_s == 0 and reading.busy_share == 0:
        at_rest = replace(before, seconds=0.0)
        yield from _report(reading.at_s, _of_batch(metric, at_rest, reading), max_gap_s)


def is_reported(metric: Metric, reading: OperatorReading) -> bool:
    """Say whether the newest report of an operator has a metric."""
    if metric not in BATCH_METRICS:
        value = _of_step(metric, reading)
    else:
        value = _of_batch(metric, reading.batches[-1], reading) if reading.batches else None
    return value is not None and math.isfinite(value)


def label(metric: Metric, reading: OperatorReading) -> str:
    """Return what a metric is called, with what stands in for it."""
    what = cpu_share(reading)[1] if metric is Metric.CPU else ""
    return metric if what in {"", "CPU"} else f"{metric} ({what})"


def _report(at_s: float, value: float | None, reach_s: float) -> Iterator[MetricReport]:
    if value is not None and math.isfinite(value):
        yield MetricReport(at_s, value, reach_s)


def _of_step(metric: Metric, reading: OperatorReading) -> float | None:
    match metric:
        case Metric.CPU:
            return 100 * cpu_share(reading)[0]
        case Metric.BUSY:
            return 100 * reading.busy_share
        case Metric.SATURATED:
            return 100 * reading.saturated_share
        case Metric.INPUT_RATE:
            return reading.input_rows_per_s
        case _:
            return reading.throughput_rows_per_s


def _of_batch(metric: Metric, batch: Batch, reading: OperatorReading) -> float | None:
    if metric is Metric.QUEUE_LENGTH:
        return batch.backlog_rows
    lag_s = _lag_s(batch, reading)
    if metric is Metric.LAG or lag_s is None:
        return lag_s
    return 1000 * (batch.seconds + lag_s)


def _lag_s(batch: Batch, reading: OperatorReading) -> float | None:
    """Return how long the source takes to offer what waits behind a batch; None where it offers nothing."""
    if batch.backlog_rows is None:
        return None
    if batch.backlog_rows == 0:
        return 0.0
    rate = reading.input_rows_per_s
    return batch.backlog_rows / rate if rate else None
