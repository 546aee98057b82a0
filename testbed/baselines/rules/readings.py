"""The readings that rules go by: what an operator reports of each metric, kept as few as its longest time needs."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gesscale.model.observation import Batch, OperatorReading
from testbed.baselines.rules.model import Metric
from testbed.baselines.shared.signals import cpu_share

#: The metrics that every finished batch reports; the others are reported once a step of the loop.
BATCH_METRICS = frozenset({Metric.QUEUE_LENGTH, Metric.LAG, Metric.LATENCY})


class MetricReport(NamedTuple):
    """What an operator said of a metric at an instant."""

    #: When, seconds since the epoch.
    at_s: float
    #: In the metric's own unit.
    value: float
    #: How far back it speaks, where no other report came since, seconds.
    reach_s: float


class MetricSample(NamedTuple):
    """A report, or several that were merged, as it is kept."""

    #: When the last of them was reported, seconds since the epoch.
    at_s: float
    #: The time that they speak for, seconds.
    covers_s: float
    #: The least and the greatest value (low, high).
    low: float
    high: float


MetricSamples = tuple[MetricSample, ...]


def appended(samples: Sequence[MetricSample], reports: Iterable[MetricReport], max_gap_s: float) -> MetricSamples:
    """Return samples with newer reports behind them."""
    kept = list(samples)
    for report in reports:
        at_s, value = round(report.at_s, 3), round(report.value, 3)
        since_s = at_s - kept[-1].at_s if kept else 0.0
        if kept and since_s <= 0:
            continue
        if since_s > max(max_gap_s, report.reach_s):
            kept.clear()
            since_s = 0.0
        kept.append(MetricSample(at_s, round(min(since_s, report.reach_s), 3), value, value))
    return tuple(kept)


def pruned(samples: Sequence[MetricSample], longest_s: float, most: int) -> MetricSamples:
    """Return no more of the samples than are needed.

    Parameters
    ----------
    longest_s
        The longest time that a condition looks back, seconds. One older sample is kept as well, and the
        newest two in any case.
    """
    if not samples:
        return ()
    begins_s = samples[-1].at_s - longest_s
    before = sum(sample.at_s <= begins_s for sample in samples)
    kept = list(samples[max(0, min(before - 1, len(samples) - 2)) :])
    while len(kept) > most:
        kept = _one_fewer(kept)
    return tuple(kept)


def _one_fewer(samples: list[MetricSample]) -> list[MetricSample]:
    """Merge two neighbours: those that cover the least time for how long ago it was. The newest stays alone."""
    now_s = samples[-1].at_s

    def spread(index: int) -> float:
        one, two = samples[index : index + 2]
        return (one.covers_s + two.covers_s) / (now_s - two.at_s)

    index = min(range(len(samples) - 2), key=spread)
    one, two = samples[index : index + 2]
    both = MetricSample(two.at_s, round(one.covers_s + two.covers_s, 3), min(one.low, two.low), max(one.high, two.high))
    return [*samples[:index], both, *samples[index + 2 :]]


def reports(metric: Metric, reading: OperatorReading, max_gap_s: float) -> Iterator[MetricReport]:
    """Yield what an operator says of a metric, oldest first.

    Parameters
    ----------
    max_gap_s
        How far back a step of the loop speaks, seconds.

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
