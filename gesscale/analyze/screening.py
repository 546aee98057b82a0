"""The cases in which no policy may judge an operator."""

from gesscale.common.errors import Problem
from gesscale.model.decision import Analysis, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.ports import Knowledge


def screen(
    operator: str, observation: WorkflowObservation, knowledge: Knowledge, stabilization_window_s: float | None = None
) -> OperatorReading | Analysis:
    """Return the reading a policy may act on, or the analysis that says why it may not.

    Parameters
    ----------
    operator
        Its name.
    observation
        What Monitor saw.
    knowledge
        Names a change that has not settled.
    stabilization_window_s
        For this long after a change the operator is not judged, settled or not; None: only until it has settled.

    Returns
    -------
    OperatorReading or Analysis
        An analysis of verdict Unknown without usable metrics, or Same while a change is settling.
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
