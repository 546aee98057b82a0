"""True rates: what an operator does while it is busy, and what the sources ask of each operator.

DS2 (Kalavri et al., OSDI 2018) sizes by them, and so does the throughput step of AuTraScale+ (Zhang et al., TPDS
2024, Eq. 2 and 3).
"""

import math
from collections.abc import Mapping

from gesscale.analyze.load import has_backlog
from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Workflow


def true_rate_per_replica(reading: OperatorReading) -> float | None:
    """Return how many rows one replica would process if it were never idle.

    Parameters
    ----------
    reading
        The operator; its throughput counts for the time that it spent inside batches.

    Returns
    -------
    float or None
        Rows/s; None where it processed nothing, so that nothing is known.

    Notes
    -----
    Useful time is the time inside batches. On Spark it includes the fixed cost of a batch. So the rate of an operator
    with little to do is below what it could be, and its size is too large. The error shrinks as replicas go.
    """
    useful = reading.throughput_rows_per_s, reading.busy_share, float(reading.replicas)
    if not all(math.isfinite(figure) and figure > 0 for figure in useful):
        return None
    rate = reading.throughput_rows_per_s / reading.busy_share / reading.replicas
    return rate if 0 < rate < math.inf else None


def selectivity(operator: str, workflow: Workflow, readings: Mapping[str, OperatorReading]) -> float:
    """Return the rows that an operator hands on for each that it takes in.

    Parameters
    ----------
    operator
        Its name.
    workflow
        Says who reads its output; each consumer reads all of it.
    readings
        Of the operators that were seen.

    Returns
    -------
    float
        From the rows that it reports as handed on. Else from what its consumers were offered for each row of all
        operators that feed them, their mean; 1 where neither is known.
    """
    reading = readings.get(operator)
    if reading is None or reading.throughput_rows_per_s <= 0:
        return 1.0
    reported = reading.output_rows_per_s
    if reported is not None and math.isfinite(reported):
        return max(0.0, reported) / reading.throughput_rows_per_s
    seen = [
        share
        for consumer in workflow.downstream(operator)
        if (share := _offered_per_row(consumer, workflow, readings)) is not None
    ]
    return sum(seen) / len(seen) if seen else 1.0


def source_rates(workflow: Workflow, readings: Mapping[str, OperatorReading]) -> Mapping[str, float]:
    """Return the rows/s that each source offers, upstream operators first; a source that does not report is missing."""
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
    """Return the rate at which each operator must process to keep up with the sources.

    Parameters
    ----------
    workflow
        Operators and streams.
    readings
        Of the operators that were seen, with their selectivities.
    source_rates
        Rows/s by operator, for those that read a source of the workflow.

    Returns
    -------
    Mapping of str to float
        Rows/s, upstream operators first; without those for which a source's rate is missing or not a number.
    """
    rates: dict[str, float] = {}
    for name in workflow.topological_order:
        feeding = workflow.upstream(name)
        if not feeding:
            rate = source_rates.get(name, math.nan)
        else:
            rate = sum(
                rates.get(other, math.nan) * selectivity(other, workflow, readings) for other in feeding
            )
        if math.isfinite(rate) and rate >= 0:
            rates[name] = rate
    return rates


def demand_of(reading: OperatorReading, pushed_down: float) -> float:
    """Return the rate that is to come to an operator, rows/s.

    Parameters
    ----------
    reading
        The operator.
    pushed_down
        What the sources ask of it (`required_rates`).

    Returns
    -------
    float
        That; where rows pile up before it, no less than what is offered to it, because it reads a topic of its own.
    """
    offered = reading.input_rows_per_s
    if offered is not None and math.isfinite(offered) and has_backlog(reading):
        return max(pushed_down, offered)
    return pushed_down


def _offered_per_row(
    consumer: str, workflow: Workflow, readings: Mapping[str, OperatorReading]
) -> float | None:
    reading = readings.get(consumer)
    feeding = [readings.get(name) for name in workflow.upstream(consumer)]
    if reading is None or reading.input_rows_per_s is None or not math.isfinite(reading.input_rows_per_s):
        return None
    if not all(feeding):
        return None
    taken_in = sum(item.throughput_rows_per_s for item in feeding if item is not None)
    return max(0.0, reading.input_rows_per_s) / taken_in if taken_in > 0 else None
