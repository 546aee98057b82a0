"""Latencies of a workflow on micro-batches, read from its operators and summed along its longest path.

It separates the processing latency from the waiting latency, as AuTraScale+ does (Zhang et al., TPDS 2024, section
II-B).
"""

import math
from collections.abc import Mapping
from statistics import fmean

from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Workflow


def batch_s(reading: OperatorReading) -> float:
    """Return how long an operator takes for the rows that one trigger interval brings.

    Parameters
    ----------
    reading
        Its warm batches count, else the newest one.

    Returns
    -------
    float
        Seconds; 0 where it idles. While a backlog drains, batches hold more rows than an interval brings. Then only the
        share of their time counts that the rows of one interval take: `waiting_s` counts the wait in the backlog.

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
    """Return how long a row takes through an operator that keeps up, in the mean.

    Parameters
    ----------
    batch_s
        How long a batch takes.
    trigger_s
        The trigger interval; None where a batch follows the other.

    Returns
    -------
    float
        Seconds: its batch, and half of the time between two batches, the mean time until a batch takes the row.
    """
    return batch_s + max(trigger_s or 0.0, batch_s) / 2


def waiting_s(reading: OperatorReading) -> float | None:
    """Return the wait of rows beyond the next batch, seconds, by Little's law (Eq. 10); None where it is unknown."""
    if reading.backlog_rows is None or not math.isfinite(reading.backlog_rows):
        return None
    rate = reading.input_rows_per_s or reading.throughput_rows_per_s
    return max(0.0, reading.backlog_rows) / rate if rate > 0 else 0.0


def longest_path_s(workflow: Workflow, seconds: Mapping[str, float]) -> float:
    """Return the greatest sum of times along a path through a workflow.

    Parameters
    ----------
    workflow
        Operators and streams.
    seconds
        Of each operator.
    """
    until_s: dict[str, float] = {}
    for name in workflow.topological_order:
        before_s = max((until_s[other] for other in workflow.upstream(name)), default=0.0)
        until_s[name] = before_s + seconds[name]
    return max(until_s.values())


def processing_latency_s(
    workflow: Workflow, readings: Mapping[str, OperatorReading], batches_s: Mapping[str, float]
) -> float:
    """Return what a row takes through a workflow without its wait in a backlog: l_p of AuTraScale+.

    Parameters
    ----------
    workflow
        Operators and streams.
    readings
        Of every operator, with the trigger intervals.
    batches_s
        How long the batches of each take, such as `batch_s` says.

    Returns
    -------
    float
        Seconds: the sum along the longest path.
    """
    return longest_path_s(
        workflow,
        {name: passage_s(seconds, readings[name].trigger_s) for name, seconds in batches_s.items()},
    )


def in_time_s(workflow: Workflow, readings: Mapping[str, OperatorReading]) -> float:
    """Return the processing latency where batches just fill their trigger intervals.

    Returns
    -------
    Seconds; infinite where an operator has no trigger interval, because no batch is too long then.
        Seconds; infinite where an operator has no trigger interval: nothing is too long then.
    """
    triggers_s = {name: reading.trigger_s or math.inf for name, reading in readings.items()}
    return longest_path_s(
        workflow, {name: passage_s(seconds, seconds) for name, seconds in triggers_s.items()}
    )
