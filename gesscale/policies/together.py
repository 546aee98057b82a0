"""What policies share that judge all operators of a workflow together."""

from collections.abc import Mapping

from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Workflow
from gesscale.policies.sizing import SizeProposal

TOGETHER = "all operators are sized together"
"""Why one operator keeps the others from a change."""


def held_up(
    workflow: Workflow, readings: Mapping[str, OperatorReading], observation: WorkflowObservation
) -> SizeProposal | None:
    """Return why no operator can be sized while one cannot be judged.

    Parameters
    ----------
    workflow
        Its operators; the first in topological order that is missing is named.
    readings
        Of those that may be judged.
    observation
        Says whether the missing one was seen at all.

    Returns
    -------
    SizeProposal or None
        The proposal of each operator, for no change; None where all can be judged.
    """
    missing = next((name for name in workflow.topological_order if name not in readings), None)
    if missing is None:
        return None
    if missing in observation.readings:
        detail, reason = f"{missing} is still changing", Reason.RECONFIGURING
    else:
        detail, reason = f"there are no figures of {missing}", Reason.METRICS_MISSING
    return SizeProposal(replicas=None, detail=f"{detail}, and {TOGETHER}", reason=reason)
