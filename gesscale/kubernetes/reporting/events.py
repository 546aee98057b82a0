"""Which transitions are worth an event. Said once when they happen: what lasts is in the conditions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gesscale.kubernetes.api.events import EventType, Incident
from gesscale.kubernetes.reporting.writing import moved
from gesscale.kubernetes.resource.groups import group_of
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.translate import ResourceFault
from gesscale.model.decision import Decision, OutcomeStatus, Reason, Verdict
from gesscale.words import in_words

_VETOES = {
    Reason.NO_CANDIDATE_NODE,
    Reason.DELAY_EATS_GAIN,
    Reason.LATENCY_MAP_MISSING,
    Reason.LATENCY_MAP_STALE,
    Reason.DELAY_UNKNOWN,
    Reason.CLUSTER_UNAVAILABLE,
}
_BLIND = {Reason.METRICS_MISSING, Reason.METRICS_STALE}
_ADVICE = {OutcomeStatus.NOT_ALLOWED, OutcomeStatus.REHEARSED}
_FAILURES = {OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED}
_NODES_NAMED = 6
UNRECORDED = "Unrecorded"
"""The reason of an order whose controller died before it could write down why."""


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event worth writing.

    Attributes
    ----------
    kind
        Whether people should look.
    reason
        What happened, in a word.
    message
        The same in a sentence.
    same
        What makes two of them the same; None for the message itself.
    """

    kind: EventType
    reason: Incident
    message: str
    same: str | None = None


def events_of(
    old: Mapping[str, Any], new: Mapping[str, Any], decision: Decision, settled: OrderStatus | None = None
) -> tuple[EventDraft, ...]:
    """Return what a step brought that is worth an event.

    Parameters
    ----------
    old, new
        The status before the step, and as it will stand after it is written: what both say alike is no event.
    decision
        Of the step.
    settled
        See `gesscale.kubernetes.reporting.status.settled_order`, for the old status.

    Returns
    -------
    tuple of Telling
        Mostly none.
    """
    before = group_of(old, "lastDecision")
    repeated = before.get("at") == group_of(new, "lastDecision").get("at")
    return (
        *(() if settled is None else (_end(settled, new),)),
        *(() if repeated else _change(before, old, new, decision)),
        *_standstill(before, decision),
        *_model(group_of(old, "model"), group_of(new, "model")),
    )


def event_of_fault(old: Mapping[str, Any], fault: ResourceFault, generation: int) -> tuple[EventDraft, ...]:
    """Return the event of a resource that cannot be obeyed; none where the old status says it of this generation.

    Parameters
    ----------
    old
        The status before.
    fault
        What is wrong.
    generation
        Of the resource.
    """
    said = group_of(old, "lastDecision").get("reason") == fault.reason.value
    if said and old.get("observedGeneration") == generation:
        return ()
    return (EventDraft(EventType.WARNING, Incident.INVALID_SPEC, fault.message),)


def change_sentence(decision: Decision) -> str:
    """Write a change as people ask for it: from, to, why, which nodes, load against MST.

    Where load and MST do not speak for the verdict by themselves, the policy's own words stand in their place.
    """
    plan, change = decision.plan, decision.plan.change
    nodes = [*(f"+{node}" for node in change.add), *(f"-{node}" for node in change.remove)] if change else []
    named = [*nodes[:_NODES_NAMED], f"{len(nodes) - _NODES_NAMED} more"]
    why = ", ".join([plan.reason.value, *(named if len(nodes) > _NODES_NAMED else nodes)])
    figures = _load_against_mst(decision) or plan.detail or decision.analysis.detail
    return f"replicas {len(plan.before)} -> {len(plan.placement)} ({why}): {figures}"


def _load_against_mst(decision: Decision) -> str:
    analysis, reading = decision.analysis, decision.analysis.reading
    if analysis.mst is None or reading is None or decision.plan.reason is not analysis.reason:
        return ""
    load = reading.throughput_rows_per_s if reading.input_rows_per_s is None else reading.input_rows_per_s
    mst = analysis.mst.mid
    sign = {Verdict.MORE: ">", Verdict.FEWER: "<"}.get(analysis.verdict)
    if sign is None or (load > mst) is not (sign == ">"):
        return ""
    return f"load {load:.0f} rows/s {sign} MST {mst:.0f}"


def _end(order: OrderStatus, new: Mapping[str, Any]) -> EventDraft:
    before = "unknown" if order.before is None else order.before
    replicas = f"replicas {before} -> {len(order.placement)} ({order.reason or UNRECORDED})"
    took = in_words((order.settled_at_s or order.at_s) - order.at_s)
    if order.given_up:
        message = (
            f"{replicas}: not there after {took}, ordered {_listed(order.placement)}; "
            f"live are {_listed(new.get('placement') or ())}"
        )
        return EventDraft(EventType.WARNING, Incident.FAILED_RESCALE, message)
    message = f"{replicas}: settled after {took}, longest time without a finished batch {order.downtime_s or 0.0:.1f} s"
    return EventDraft(EventType.NORMAL, Incident.SUCCESSFUL_RESCALE, message)


def _listed(nodes: Iterable[str]) -> str:
    names = list(nodes)
    rest = f" and {len(names) - _NODES_NAMED} more" if len(names) > _NODES_NAMED else ""
    return ", ".join(names[:_NODES_NAMED]) + rest or "none"


def _change(
    before: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], decision: Decision
) -> Iterator[EventDraft]:
    """Yield what became of a plan that changes something."""
    status, sentence = decision.outcome.status, change_sentence(decision)
    if decision.acted:
        yield EventDraft(EventType.NORMAL, Incident.RESCALING, sentence)
    if status in _FAILURES and before.get("outcome") != status:
        message = f"{sentence}: {decision.outcome.detail or 'not all of it could be done'}"
        yield EventDraft(EventType.WARNING, Incident.FAILED_RESCALE, message, decision.outcome.detail)
    if status in _ADVICE and (before.get("outcome") != status or _advised(old) != _advised(new)):
        rehearsed = status is OutcomeStatus.REHEARSED
        done = "rehearsed, nothing is changed" if rehearsed else "advice only, nothing is changed"
        message = f"{sentence} ({done})"
        yield EventDraft(EventType.NORMAL, Incident.SCALING_REPORT, message)


def _advised(status: Mapping[str, Any]) -> Any:
    return group_of(status, "recommendation").get("placement")


def _standstill(before: Mapping[str, Any], decision: Decision) -> Iterator[EventDraft]:
    """Yield why nothing changes though something is wanted, when the reason is a new one."""
    plan, was = decision.plan, before.get("reason")
    if plan.reason == was:
        return
    detail = plan.detail or decision.analysis.detail
    said = f"{plan.reason.value}: {detail}", plan.reason.value
    if was == Reason.PAUSED:
        yield EventDraft(EventType.NORMAL, Incident.RESUMED, "the pause has ended", "")
    if plan.reason is Reason.PAUSED:
        yield EventDraft(EventType.NORMAL, Incident.PAUSED, detail, "")
    elif plan.reason in _BLIND:
        yield EventDraft(EventType.WARNING, Incident.METRICS_MISSING, *said)
    elif plan.reason is Reason.OVERRIDDEN:
        yield EventDraft(EventType.NORMAL, Incident.OVERRIDDEN, detail, "")
    elif plan.change is None and decision.analysis.verdict in {Verdict.MORE, Verdict.FEWER}:
        if plan.reason is Reason.AT_MAX_REPLICAS:
            yield EventDraft(EventType.WARNING, Incident.SCALING_LIMITED, *said)
        elif plan.reason in _VETOES:
            yield EventDraft(EventType.WARNING, Incident.SCALING_VETOED, *said)


def _model(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[EventDraft]:
    if not new.get("calibrated") or not _refitted(old, new):
        return
    parameters = ", ".join(f"{name} {value:g}" for name, value in _parameters(new).items())
    message = f"law {new['law']}: {parameters}, from {new['readings']} readings"
    yield EventDraft(EventType.NORMAL, Incident.MODEL_REFITTED, message, str(new["law"]))


def _refitted(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    if not old.get("calibrated") or old.get("law") != new["law"]:
        return True
    was, now = _parameters(old), _parameters(new)
    return was.keys() != now.keys() or any(moved(was[name], now[name]) for name in now)


def _parameters(model: Mapping[str, Any]) -> dict[str, float]:
    named = {name: model[name] for name in ("alpha", "beta", "gamma") if name in model}
    return named | dict(model.get("parameters") or {})
