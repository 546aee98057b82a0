"""Decides whether a policy may evaluate an operator: not without metrics, nor while a change is settling."""

from gesscale.common.errors import Problem
from gesscale.model.decision import Analysis, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.ports import Knowledge


def actionable_reading(
    operator: str, observation: WorkflowObservation, knowledge: Knowledge, stabilization_window_s: float | None = None
) -> OperatorReading | Analysis:
    """Return the reading that a policy may act on, or the analysis with the reason why it may not.

    Parameters
    ----------
    operator
        Its name.
    observation
        The readings of this step.
    knowledge
        Contains the latest change.
    stabilization_window_s
        For this long after a change the operator is not evaluated; None: only until the change has settled.

    Returns
    -------
    OperatorReading or Analysis
        The analysis has the verdict Unknown without usable metrics, or Same while a change is settling.
    """
    reading = observation.readings.get(operator)
    if reading is None:
        missing = observation.missing_readings.get(operator)
        return Analysis(
            operator=operator,
            verdict=Verdict.UNKNOWN,
            reason=Reason.METRICS_STALE if missing and missing.stale else Reason.METRICS_MISSING,
            detail=str(missing.problem if missing else Problem("metrics-missing")),
        )
    change = knowledge.latest(operator)
    if change is None or (
        change.downtime_s is not None and reading.at_s - change.at_s >= (stabilization_window_s or 0.0)
    ):
        return reading
    settled = "has not settled" if change.downtime_s is None else f"is held for {stabilization_window_s:g} s"
    return Analysis(
        operator=operator,
        verdict=Verdict.SAME,
        reason=Reason.RECONFIGURING,
        detail=f"the change of {reading.at_s - change.at_s:.0f} s ago {settled}",
        reading=reading,
    )
