"""What the policies of the literature measure, derived from what the loop sees of an operator.

An operator is a Spark application that reads Kafka, or one of a Flink job: each quantity is mapped once, for both.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import StatisticsError, linear_regression

from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.workflow import Workflow


def lag_slope_rows_per_s(reading: OperatorReading, window_s: float) -> float | None:
    """Return how fast the backlog grows: the slope of the least squares line through it.

    Parameters
    ----------
    reading
        The operator, with its recent batches.
    window_s
        Time over which the slope is taken, up to the end of the newest batch, seconds. Where fewer than two batches
        ended in it, the last two count.

    Returns
    -------
    float or None
        Rows/s, below 0 where the backlog shrinks, 0 where the operator idles. None where the backlog is unknown, and
        until two batches have run on the present nodes: batches before a change say nothing about the present.

    Notes
    -----
    The derivative of the lag in Kanis (2023), sections 4.5 and 6.7.
    """
    points = _backlogs(reading, window_s)
    if not points:
        return None if points is None else 0.0
    with suppress(StatisticsError):  # nonsense: all began at the same instant
        return linear_regression(*zip(*points, strict=True)).slope
    return None


def lag_increase_rows_per_s(reading: OperatorReading, window_s: float) -> float | None:
    """Return how fast the backlog grows if it is read as a counter, which starts again from 0 where it falls.

    Parameters
    ----------
    reading, window_s
        As `lag_slope_rows_per_s` has them.

    Returns
    -------
    float or None
        Rows/s, never below 0; 0 and None as there.

    Notes
    -----
    Prometheus' ``rate()``, which is meant for counters, on a gauge: a backlog of a million rows that shrinks by one
    counts as a million new ones.
    """
    points = _backlogs(reading, window_s)
    if not points:
        return None if points is None else 0.0
    came = sum(now - before if now >= before else now for (_, before), (_, now) in pairwise(points))
    seconds = points[-1][0] - points[0][0]
    return came / seconds if seconds > 0 else None


def cpu_share(reading: OperatorReading) -> tuple[float, str]:
    """Return an operator's CPU utilisation, or the share of time in batches where that is not measured.

    Returns
    -------
    tuple of float and str
        The share, 0..1, and which of the two it is, for people. It is NaN where both are unknown.
    """
    if reading.cpu_share is not None and math.isfinite(reading.cpu_share):
        return reading.cpu_share, "CPU"
    return reading.busy_share, "share of time in batches"


def is_source(operator: str, workflow: Workflow) -> bool:
    """Say whether an operator reads a source of the workflow, not another operator."""
    return not workflow.upstream(operator)


def input_fill(reading: OperatorReading) -> float | None:
    """Return how full an operator's input is.

    Parameters
    ----------
    reading
        The operator.

    Returns
    -------
    float or None
        The rows that still wait after the newest batch, as a share of what one batch takes at most, 0..1. Where batches
        have no cap: the share of batches in which it was saturated, because rows wait then. None where the backlog is
        unknown.

    Notes
    -----
    It stands for the use of Flink's input buffers, which are empty as long as an operator keeps up. The rows *of* a
    micro-batch do not wait: a query that keeps up takes all rows of its trigger interval.
    """
    newest = reading.batches[-1] if reading.batches else None
    if newest is None or newest.backlog_rows is None:
        return None
    fill = newest.backlog_rows / newest.cap_rows if newest.cap_rows else reading.saturated_share
    return min(1.0, fill) if math.isfinite(fill) else None


def _backlogs(reading: OperatorReading, window_s: float) -> Sequence[tuple[float, float]] | None:
    """Return the instants and backlogs of a window, two or more; none where the operator idles, None where unknown.

    A backlog belongs to the instant at which its batch began, because Spark then asks what is offered.
    """
    if reading.throughput_rows_per_s == 0 and reading.input_rows_per_s == 0:
        return ()
    run = _latest_run(reading.batches)
    known = [
        (batch.ended_at_s, (batch.ended_at_s - batch.seconds, backlog))
        for batch in run
        if (backlog := batch.backlog_rows) is not None and math.isfinite(backlog)
    ]
    if len(known) < 2:
        return None
    since_s = run[-1].ended_at_s - window_s
    inside = [point for ended_at_s, point in known if ended_at_s > since_s]
    return inside if len(inside) > 1 else [point for _, point in known[-2:]]


def _latest_run(batches: Sequence[Batch]) -> Sequence[Batch]:
    """Return the newest batches that follow one another without a gap on the same nodes, oldest first."""
    first = max(0, len(batches) - 1)
    while first and _follows(batches[first - 1], batches[first]):
        first -= 1
    return batches[first:]


def _follows(before: Batch, batch: Batch) -> bool:
    return batch.batch_id == before.batch_id + 1 and set(batch.nodes) == set(before.nodes)
