"""True rates of replicas (DS2, OSDI 2018; AuTraScale+, Eq. 2), and the rates that the sources ask of each operator."""

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Literal

from gesscale.analyze.capacity import has_backlog
from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Workflow
from testbed.baselines.shared.signals import cpu_share
from testbed.baselines.shared.sizing import SizingSettings

UsefulTime = Literal["busy", "cpu"]


class TrueRateSettings(SizingSettings):
    """Settings of the policies that size operators by true rates."""

    useful_time: UsefulTime = "busy"
    """Useful time of a replica: the time in which its slots hold a task, or its CPU time, which excludes waiting.
    Default: the slots, as not every driver reports CPU time."""


def useful_share(reading: OperatorReading, useful_time: UsefulTime) -> float:
    """Return the useful time of an operator as a share of the window, mean over its replicas; NaN if unknown."""
    by_node = _useful_by_node(reading, useful_time)
    if by_node:
        return fmean(share for _, share in by_node)
    return cpu_share(reading) if useful_time == "cpu" else reading.busy_share


def true_rate_per_replica(reading: OperatorReading, useful_time: UsefulTime = "busy") -> float | None:
    """Return the mean rate of the replicas without idle time, rows/s (Eq. 2); None if unknown.

    Notes
    -----
    The rate of a replica is its rows over its useful time, 0 without rows. If the useful time of single replicas is
    unknown, the operator's throughput, useful time and replicas give the rate.
    """
    if reading.throughput_rows_per_s <= 0 or not reading.replicas:
        return None
    operator = reading.throughput_rows_per_s / reading.replicas, useful_share(reading, useful_time)
    found = _useful_by_node(reading, useful_time) or [operator]
    rates = [rows / share if rows > 0 else 0.0 for rows, share in found if share > 0 or rows <= 0]
    mean_rate = fmean(rates) if rates else 0.0
    return mean_rate if 0 < mean_rate < math.inf else None


def _useful_by_node(reading: OperatorReading, useful_time: UsefulTime) -> list[tuple[float, float]]:
    """Return rows/s and useful share of each replica; empty if a share is unknown."""
    found = [
        (each.throughput_rows_per_s, each.cpu_share if useful_time == "cpu" else each.busy_share)
        for each in reading.by_node.values()
    ]
    known = [(rows, share) for rows, share in found if share is not None]
    return known if len(known) == len(found) else []


def selectivity(operator: str, workflow: Workflow, readings: Mapping[str, OperatorReading]) -> float:
    """Return the output rows of an operator per input row."""
    reading = readings.get(operator)
    if reading is None or reading.throughput_rows_per_s <= 0:
        return 1.0
    reported = reading.output_rows_per_s
    if reported is not None and math.isfinite(reported):
        return max(0.0, reported) / reading.throughput_rows_per_s
    ratios = [
        ratio
        for consumer in workflow.downstream(operator)
        if (ratio := _offered_per_row(consumer, workflow, readings)) is not None
    ]
    return sum(ratios) / len(ratios) if ratios else 1.0


def source_rates(workflow: Workflow, readings: Mapping[str, OperatorReading]) -> Mapping[str, float]:
    """Return the offered rows/s of each source, upstream operators first; without sources that do not report it."""
    return {
        name: rate
        for name in workflow.topological_order
        if not workflow.upstream(name)
        and name in readings
        and (rate := readings[name].input_rows_per_s) is not None
        and math.isfinite(rate)
        and rate >= 0
    }


def required_rates(
    workflow: Workflow, readings: Mapping[str, OperatorReading], source_rates: Mapping[str, float]
) -> Mapping[str, float]:
    """Return the rate that each operator needs to keep up with the sources."""
    rates: dict[str, float] = {}
    for name in workflow.topological_order:
        feeding = workflow.upstream(name)
        if not feeding:
            rate = source_rates.get(name, math.nan)
        else:
            rate = sum(rates.get(other, math.nan) * selectivity(other, workflow, readings) for other in feeding)
        if math.isfinite(rate) and rate >= 0:
            rates[name] = rate
    return rates


def demand_of(reading: OperatorReading, pushed_down: float) -> float:
    """Return the rate that an operator has to process, rows/s; includes its own input if it has a backlog."""
    offered = reading.input_rows_per_s
    if offered is not None and math.isfinite(offered) and has_backlog(reading):
        return max(pushed_down, offered)
    return pushed_down


def _offered_per_row(consumer: str, workflow: Workflow, readings: Mapping[str, OperatorReading]) -> float | None:
    reading = readings.get(consumer)
    feeding = [readings.get(name) for name in workflow.upstream(consumer)]
    if reading is None or reading.input_rows_per_s is None or not math.isfinite(reading.input_rows_per_s):
        return None
    if not all(feeding):
        return None
    processed = sum(item.throughput_rows_per_s for item in feeding if item is not None)
    return max(0.0, reading.input_rows_per_s) / processed if processed > 0 else None
