"""Signals of operators and workflows, as the papers of the baselines define them."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import StatisticsError, fmean, linear_regression

from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.workflow import Workflow


def lag_slope_rows_per_s(reading: OperatorReading, window_s: float) -> float | None:
    """Return the growth of the backlog: the slope of its least squares line; None if unknown.

    Parameters
    ----------
    window_s
        Window of the slope, up to the end of the newest batch, seconds. If fewer than two batches ended in it, the
        last two count.

    Notes
    -----
    The derivative of the lag in Kanis (2023), sections 4.5 and 6.7.
    """
    points = _backlogs(reading, window_s)
    if not points:
        return None if points is None else 0.0
    with suppress(StatisticsError):  # invalid: all batches began at the same instant
        return linear_regression(*zip(*points, strict=True)).slope
    return None


def lag_increase_rows_per_s(reading: OperatorReading, window_s: float) -> float | None:
    """Return the growth of the backlog read as a counter, which restarts at 0 when it falls; None if unknown.

    Notes
    -----
    Prometheus' ``rate()``, which is meant for counters, on a gauge: a backlog of a million rows that shrinks by one
    counts as a million new ones.
    """
    points = _backlogs(reading, window_s)
    if not points:
        return None if points is None else 0.0
    increase = sum(now - before if now >= before else now for (_, before), (_, now) in pairwise(points))
    seconds = points[-1][0] - points[0][0]
    return increase / seconds if seconds > 0 else None


def cpu_share(reading: OperatorReading) -> float:
    """Return the CPU utilisation of an operator; NaN if it is not reported. No other figure replaces it."""
    return math.nan if reading.cpu_share is None else reading.cpu_share


def is_source(operator: str, workflow: Workflow) -> bool:
    """Return True if an operator reads a source of the workflow, not another operator."""
    return not workflow.upstream(operator)


def input_fill(reading: OperatorReading) -> float | None:
    """Return the fill level of an operator's input, 0..1; None if unknown.

    Notes
    -----
    It replaces the usage of Flink's input buffers, which are empty as long as an operator keeps up. The rows *of* a
    micro-batch do not wait: a query that keeps up takes all rows of its trigger interval.
    """
    newest = reading.batches[-1] if reading.batches else None
    if newest is None or newest.backlog_rows is None:
        return None
    fill = newest.backlog_rows / newest.cap_rows if newest.cap_rows else reading.saturated_share
    return min(1.0, fill) if math.isfinite(fill) else None


def _backlogs(reading: OperatorReading, window_s: float) -> Sequence[tuple[float, float]] | None:
    """Return at least two instants and backlogs of a window; empty if the operator idles, None if unknown.

    A backlog belongs to the instant at which its batch began, when Spark asks the sources.
    """
    if reading.throughput_rows_per_s == 0 and reading.input_rows_per_s == 0:
        return ()
    run = _latest_run(reading.batches)
    known = [
        (batch.ended_at_s, (batch.began_s, backlog))
        for batch in run
        if (backlog := batch.backlog_rows) is not None and math.isfinite(backlog)
    ]
    if len(known) < 2:
        return None
    since_s = run[-1].ended_at_s - window_s
    inside = [point for ended_at_s, point in known if ended_at_s > since_s]
    return inside if len(inside) > 1 else [point for _, point in known[-2:]]


def _latest_run(batches: Sequence[Batch]) -> Sequence[Batch]:
    """Return the newest consecutive batches on the same nodes, oldest first."""
    first = max(0, len(batches) - 1)
    while first and _follows(batches[first - 1], batches[first]):
        first -= 1
    return batches[first:]


def _follows(before: Batch, batch: Batch) -> bool:
    return batch.batch_id == before.batch_id + 1 and set(batch.nodes) == set(before.nodes)


def batch_s(reading: OperatorReading) -> float:
    """Return the time that an operator needs for the rows of one trigger interval.

    Notes
    -----
    On the simulated Flink a batch is a tick and takes its busy part.
    """
    batches = reading.warm_batches or reading.batches[-1:]
    rows = fmean(batch.rows for batch in batches) if batches else 0.0
    if reading.throughput_rows_per_s <= 0 or rows <= 0:
        return 0.0
    seconds = fmean(batch.seconds for batch in batches)
    if reading.input_rows_per_s is None or reading.trigger_s is None:
        return seconds
    return seconds * min(1.0, reading.input_rows_per_s * reading.trigger_s / rows)


def passage_s(batch_s: float, trigger_s: float | None) -> float:
    """Return the mean time of a row in an operator that keeps up.

    Parameters
    ----------
    trigger_s
        The trigger interval; None if each batch starts when the last one ends.
    """
    return batch_s + max(trigger_s or 0.0, batch_s) / 2


def waiting_s(reading: OperatorReading) -> float | None:
    """Return the wait of rows beyond the next batch, seconds, by Little's law (Eq. 10); None if unknown."""
    if reading.backlog_rows is None or not math.isfinite(reading.backlog_rows):
        return None
    rate = reading.input_rows_per_s or reading.throughput_rows_per_s
    return max(0.0, reading.backlog_rows) / rate if rate > 0 else 0.0


def longest_path_s(workflow: Workflow, seconds: Mapping[str, float]) -> float:
    """Return the largest sum of times along a path through a workflow."""
    until_s: dict[str, float] = {}
    for name in workflow.topological_order:
        before_s = max((until_s[other] for other in workflow.upstream(name)), default=0.0)
        until_s[name] = before_s + seconds[name]
    return max(until_s.values())


def processing_latency_s(
    workflow: Workflow, readings: Mapping[str, OperatorReading], batches_s: Mapping[str, float]
) -> float:
    """Return the time of a row through a workflow without its wait in a backlog: l_p of AuTraScale+."""
    return longest_path_s(
        workflow, {name: passage_s(seconds, readings[name].trigger_s) for name, seconds in batches_s.items()}
    )


def on_time_latency_s(workflow: Workflow, readings: Mapping[str, OperatorReading]) -> float:
    """Return the processing latency of batches that just fill their trigger intervals."""
    triggers_s = {name: reading.trigger_s or math.inf for name, reading in readings.items()}
    return longest_path_s(workflow, {name: passage_s(seconds, seconds) for name, seconds in triggers_s.items()})
