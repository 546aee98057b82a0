"""The figures of one operator after one step, for metrics: each is there or it is absent, never a stand-in."""

from dataclasses import dataclass

from gesscale.model.decision import Decision
from gesscale.model.workflow import Operator
from gesscale.ports import Knowledge
from perfmodel import Estimate, ModelError, fit_errors

_READINGS_COMPARED = 20
"""The newest readings that the model is held against: enough to average noise, few enough for a Pi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFigures:
    """What is known of an operator in numbers; None where it is not known.

    Attributes
    ----------
    min_replicas, max_replicas
        Its limits.
    current_replicas, desired_replicas
        The live ones, and those that were ordered or are advised.
    input_rows_per_s, throughput_rows_per_s, backlog_rows
        IR, CT and the rows offered and not yet processed.
    mst
        Predicted for the present placement, rows/s.
    nd_max_s
        NDmax of the present placement with the driver's node, round trip, seconds.
    saturated_share
        Share of the window's batches in which it was saturated, 0..1.
    order_pending_s
        Age of the order that has not settled, seconds.
    model_error_share
        Mean absolute error of the model over the newest readings, as a share of what was observed.
    """

    min_replicas: int
    max_replicas: int
    current_replicas: int | None = None
    desired_replicas: int | None = None
    input_rows_per_s: float | None = None
    throughput_rows_per_s: float | None = None
    backlog_rows: float | None = None
    mst: Estimate | None = None
    nd_max_s: float | None = None
    saturated_share: float | None = None
    order_pending_s: float | None = None
    model_error_share: float | None = None


def figures_of(
    decision: Decision, operator: Operator, known: Knowledge, live: tuple[str, ...] | None, now_s: float
) -> OperatorFigures:
    """Gather the figures of an operator.

    Parameters
    ----------
    decision
        What the step concluded.
    operator
        Its limits.
    known
        Knowledge as recalled after the step.
    live
        The nodes that hold a replica now; None where this is not known.
    now_s
        Seconds since the epoch.
    """
    analysis, reading = decision.analysis, decision.analysis.reading
    pending = known.pending(decision.operator)
    return OperatorFigures(
        min_replicas=operator.min_replicas,
        max_replicas=operator.max_replicas,
        current_replicas=None if live is None else len(live),
        desired_replicas=len(desired_placement(decision, known)) or None,
        input_rows_per_s=reading.input_rows_per_s if reading else None,
        throughput_rows_per_s=reading.throughput_rows_per_s if reading else None,
        backlog_rows=reading.backlog_rows if reading else None,
        mst=analysis.mst,
        nd_max_s=None if analysis.nd_max_ms is None else analysis.nd_max_ms / 1000,
        saturated_share=reading.saturated_share if reading else None,
        order_pending_s=None if pending is None else max(0.0, now_s - pending.at_s),
        model_error_share=_model_error_share(decision, known),
    )


def desired_placement(decision: Decision, known: Knowledge) -> tuple[str, ...]:
    """Return where the replicas are to be: as ordered while that settles, else as planned; empty where unknown."""
    pending = known.pending(decision.operator)
    return decision.plan.placement if pending is None else pending.placement


def _model_error_share(decision: Decision, known: Knowledge) -> float | None:
    if decision.analysis.model is None:
        return None
    newest = known.readings.get(decision.operator, ())[:_READINGS_COMPARED]
    try:
        return fit_errors(decision.analysis.model, newest).mean_pct / 100
    except ModelError:
        return None
