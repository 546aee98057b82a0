"""The cases in which no policy may judge an operator."""

from gesscale.decision import Analysis, Reason, Verdict
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.ports import Knowledge


def screen(
    operator: str, observation: WorkflowObservation, knowledge: Knowledge
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

    Returns
    -------
    OperatorReading or Analysis
        An analysis of verdict Unknown without usable metrics, or Same while a change is settling.
    """
    reading = observation.readings.get(operator)
    if reading is None:
        unseen = observation.unseen.get(operator)
        return Analysis(
            operator=operator,
            verdict=Verdict.UNKNOWN,
            reason=Reason.METRICS_STALE if unseen and unseen.stale else Reason.METRICS_MISSING,
            detail=unseen.detail if unseen else "no metric source reported this operator",
        )
    if (pending := knowledge.pending(operator)) is not None:
        return Analysis(
            operator=operator,
            verdict=Verdict.SAME,
            reason=Reason.RECONFIGURING,
            detail=f"the change of {reading.at_s - pending.at_s:.0f} s ago has not settled",
            reading=reading,
        )
    return reading
