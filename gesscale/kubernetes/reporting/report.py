"""Report of a step or of a fault: the status patch and the events."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gesscale.formatting import format_duration
from gesscale.kubernetes.api.events import EventDraft, EventType, Incident
from gesscale.kubernetes.reporting.status import ObservedStep, fault_status, new_status, settled_order
from gesscale.kubernetes.reporting.transitions import lasting_lack, transition_events
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.parts import parse_instant_s
from gesscale.kubernetes.resource.translate import ResourceFault
from gesscale.model.decision import Decision, OutcomeStatus
from gesscale.wire import group_of

#: Share of a period after which a step writes figures again: steps are not exactly a period apart.
_DUE_SHARE = 0.9
MOVED_SHARE = 0.05
_ALIKE_MS = 1.0
_OURS_OF_ORDER = ("reason", "before", "settledAt", "givenUp", "downtimeSeconds")
#: Members of the status that wait for a period; any other difference is written at once.
_FIGURES = frozenset(
    {
        *("load", "rowAge", "mst", "ndMaxMs", "heldOutErrorPercent", "readings"),
        *("candidates", "count", "message", "memo", "ageSeconds"),
    }
)
_READINGS, _DECIDED_AT = ("memory", "readings"), ("lastDecision", "at")


def status_patch(old: Mapping[str, Any], new: Mapping[str, Any], period_s: float) -> dict[str, Any] | None:
    """Return the merge patch from one status to the next; None if it has only newer figures within a period."""
    if _age_s(old, new) < _DUE_SHARE * period_s and not _differs_in_state(old, new):
        return None
    patch = _merge_patch(_ours(old), _ours(new))
    if "order" not in new:
        patch.pop("order", None)
    return patch or None


def apply_merge_patch(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch, as the API server does (RFC 7386).

    Examples
    --------
    >>> apply_merge_patch({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None}, "d": [2]})
    {'a': {'c': 2}, 'd': [2]}
    """
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = apply_merge_patch(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := _merge_patch(before, value):
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


def _ours(status: Mapping[str, Any]) -> dict[str, Any]:
    ours = {key: value for key, value in status.items() if key != "order"}
    order = group_of(status, "order")
    if found := {key: order[key] for key in _OURS_OF_ORDER if key in order}:
        ours["order"] = found
    return ours


def _age_s(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    """Return the age of the old status; infinite if its time is not known."""
    try:
        written_s = parse_instant_s(old["lastDecision"]["at"])
        return abs(parse_instant_s(new["lastDecision"]["at"]) - written_s)
    except (KeyError, TypeError, ValueError):
        return float("inf")


def _differs_in_state(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    before, after = dict(_leaves(old)), dict(_leaves(new))
    return any(_is_urgent(path, before.get(path), after.get(path)) for path in {*before, *after})


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the leaves of a status by path; the readings of the memory as a whole."""
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif path != _READINGS and _are_rows(value):
        inner = enumerate(value)
    if not inner or not value:
        yield path, value
    for key, member in inner:
        yield from _leaves(member, (*path, key))


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)


def _is_urgent(path: tuple[str | int, ...], old: Any, new: Any) -> bool:
    """Return whether a difference is more than newer figures; a reading of a new placement changes decisions."""
    if old == new or path == _DECIDED_AT:
        return False
    if path == _READINGS and _are_rows(old) and _are_rows(new):
        return any(not any(_is_alike(each, known) for known in old) for each in new)
    return _FIGURES.isdisjoint(path)


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    same = all(one.get(key) == other.get(key) for key in ("saturated", "replicas"))
    here, there = one.get("ndMaxMs", 0.0), other.get("ndMaxMs", 0.0)
    return same and abs(here - there) <= max(_ALIKE_MS, MOVED_SHARE * abs(there))


_ADVICE = {OutcomeStatus.NOT_ALLOWED, OutcomeStatus.REHEARSED}
#: Reason of an order whose controller died before it wrote the reason.
UNRECORDED = "Unrecorded"


def events_of(
    old: Mapping[str, Any], new: Mapping[str, Any], step: ObservedStep, now_s: float, settled: OrderStatus | None = None
) -> tuple[EventDraft, ...]:
    """Return the events of a step."""
    before = group_of(old, "lastDecision")
    repeated = before.get("at") == group_of(new, "lastDecision").get("at")
    return (
        *(() if settled is None else (_end(settled, new),)),
        *(() if repeated else _change(before, old, new, step.decision)),
        *transition_events(old, new),
        *lasting_lack(new, now_s, step.spec.monitor.stale_after_s),
    )


def _end(order: OrderStatus, new: Mapping[str, Any]) -> EventDraft:
    before = "unknown" if order.before is None else order.before
    replicas = f"replicas {before} -> {len(order.placement)} ({order.reason or UNRECORDED})"
    took = format_duration((order.settled_at_s or order.at_s) - order.at_s)
    if order.given_up:
        message = (
            f"{replicas}: not complete after {took}; ordered: {', '.join(order.placement)}; "
            f"live: {', '.join(new.get('placement') or ['none'])}"
        )
        return EventDraft(EventType.WARNING, Incident.FAILED_RESCALE, message)
    message = f"{replicas}: settled after {took}, downtime {order.downtime_s or 0.0:.1f} s"
    return EventDraft(EventType.NORMAL, Incident.SUCCESSFUL_RESCALE, message)


def _change(
    before: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], decision: Decision
) -> Iterator[EventDraft]:
    """Yield the events of a plan with a change."""
    status, sentence = decision.outcome.status, decision.sentence
    if decision.acted:
        yield EventDraft(EventType.NORMAL, Incident.RESCALING, sentence)
    if status in _ADVICE and (before.get("outcome") != status or _advised(old) != _advised(new)):
        rehearsed = status is OutcomeStatus.REHEARSED
        effect = "dry run, nothing changed" if rehearsed else "recommendation only, nothing changed"
        message = f"{sentence} ({effect})"
        yield EventDraft(EventType.NORMAL, Incident.SCALING_REPORT, message)


def _advised(status: Mapping[str, Any]) -> Any:
    return group_of(status, "recommendation").get("placement")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """Report on one operator after a step."""

    #: The status after the patch.
    status: Mapping[str, Any]
    #: Merge patch of the status subresource; None if nothing is worth a write.
    patch: dict[str, Any] | None = None
    #: Events; mostly none.
    events: tuple[EventDraft, ...] = ()
    #: The order, if this step found that it has settled or timed out.
    settled: OrderStatus | None = None


def report_step(old: Mapping[str, Any], step: ObservedStep, now_s: float) -> StepReport:
    """Report one operator after a step."""
    decision = step.decision
    patch = status_patch(old, new_status(old, step, now_s), step.spec.monitor.period_s)
    status = apply_merge_patch(old, patch or {})
    settled = settled_order(old, step.known, decision.operator)
    return StepReport(
        status=status,
        patch=patch,
        events=(*step.incidents, *events_of(old, status, step, now_s, settled)),
        settled=settled,
    )


def report_fault(old: Mapping[str, Any], fault: ResourceFault, generation: int, now_s: float) -> StepReport:
    """Report an invalid resource."""
    new, last = fault_status(old, fault, generation, now_s), group_of(old, "lastDecision")
    if {**new["lastDecision"], "at": last.get("at")} == last:
        new["lastDecision"] = last  # known since then
    patch = status_patch(old, new, 0.0)
    status = apply_merge_patch(old, patch or {})
    return StepReport(status=status, patch=patch, events=tuple(transition_events(old, status)))
