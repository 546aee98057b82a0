"""A step, or a fault, turned into what is to be written: the status patch and the events."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gesscale.kubernetes.reporting.events import EventDraft, event_of_fault, events_of
from gesscale.kubernetes.reporting.status import ObservedStep, fault_status, new_status, settled_order
from gesscale.kubernetes.reporting.writing import merged, status_patch
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.translate import ResourceFault


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What is to be reported of one operator after a step.

    Attributes
    ----------
    status
        As the resource will hold it once the patch is written.
    patch
        For the status subresource, as a merge patch; None where nothing is worth a write.
    events
        Events; mostly none.
    settled
        The order, where this step found that it has settled or is given up.
    """

    status: Mapping[str, Any]
    patch: dict[str, Any] | None = None
    events: tuple[EventDraft, ...] = ()
    settled: OrderStatus | None = None


def report_step(old: Mapping[str, Any], seen: ObservedStep, now_s: float) -> StepReport:
    """Report what a step brought for one operator.

    Parameters
    ----------
    old
        The status as it stands in the resource.
    seen
        What the step brought.
    now_s
        Seconds since the epoch.
    """
    decision = seen.decision
    patch = status_patch(old, new_status(old, seen, now_s))
    status = merged(old, patch or {})
    settled = settled_order(old, seen.known, decision.operator)
    return StepReport(
        status=status, patch=patch, events=events_of(old, status, decision, settled), settled=settled
    )


def report_fault(old: Mapping[str, Any], fault: ResourceFault, generation: int, now_s: float) -> StepReport:
    """Report a resource that cannot be obeyed.

    Parameters
    ----------
    old
        The status as it stands in the resource.
    fault
        What is wrong with it.
    generation
        Of the resource.
    now_s
        Seconds since the epoch.
    """
    patch = status_patch(old, fault_status(old, fault, generation, now_s))
    return StepReport(
        status=merged(old, patch or {}), patch=patch, events=event_of_fault(old, fault, generation)
    )
