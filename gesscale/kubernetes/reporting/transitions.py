"""Events of conditions that changed, with the reason and the message of the condition."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from gesscale.kubernetes.api.events import EventDraft, EventType
from gesscale.kubernetes.resource.conditions import POOL_BELOW_MAX
from gesscale.kubernetes.resource.parts import parse_instant_s
from gesscale.model.decision import Reason
from gesscale.wire import entries_of, text_of


def wording(text: Any) -> str:
    """Return a text without its figures."""
    return re.sub(r"\d+(\.\d+)?", "#", str(text or ""))


def transition_events(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[EventDraft]:
    """Yield the events between two statuses."""
    conditions, before = _conditions(new), _conditions(old)
    for name, now in conditions.items():
        was = before.get(name, {})
        compared = ("status", "reason", *(("message",) if name == "Ready" else ()))
        changed = any(wording(was.get(key)) != wording(now.get(key)) for key in compared)
        kind = _kind_of(name, now, was.get("status") == "True") if changed else None
        if kind is not None:
            yield _event_of(now, kind)


def _conditions(status: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {text_of(each, "type"): each for each in entries_of(status, "conditions") if isinstance(each, Mapping)}


def _event_of(condition: Mapping[str, Any], kind: EventType) -> EventDraft:
    reason, message = text_of(condition, "reason"), text_of(condition, "message")
    return EventDraft(kind, reason, message, wording(message))


#: Type of the event of a condition that has changed, by its type and status.
_KINDS = {
    ("Ready", "False"): EventType.WARNING,
    ("ScalingLimited", "True"): EventType.WARNING,
    ("Paused", "True"): EventType.NORMAL,
    ("Overridden", "True"): EventType.NORMAL,
    ("ModelFitted", "True"): EventType.NORMAL,
}
#: The same for the end of a condition that held.
_ENDS = {"Paused": EventType.NORMAL, "Overridden": EventType.NORMAL, "ModelFitted": EventType.WARNING}
#: Exceptions, by type and reason.
_BY_REASON: Mapping[tuple[str, str], EventType | None] = {
    ("Ready", Reason.METRICS_MISSING): EventType.NORMAL,  # a driver that starts; see `lasting_lack`
    ("Ready", Reason.REPLICA_LOST): None,  # `ReplicaEvents` names the nodes
    ("ScalingLimited", Reason.AT_MIN_REPLICAS): None,
    ("ScalingLimited", POOL_BELOW_MAX): EventType.WARNING,
    ("Paused", "PauseExpired"): EventType.WARNING,
    ("Overridden", "OverrideExpired"): EventType.WARNING,
}


def _kind_of(name: str, condition: Mapping[str, Any], held: bool) -> EventType | None:
    """Return the type of the event of a changed condition; None if it is not announced."""
    status, reason = str(condition.get("status")), str(condition.get("reason"))
    if status == "False" and held and name in _ENDS:
        return _ENDS[name]
    return _BY_REASON.get((name, reason), _KINDS.get((name, status)))


def lasting_lack(status: Mapping[str, Any], now_s: float, patience_s: float) -> Iterator[EventDraft]:
    """Yield the warning of metrics that are missing for longer than a driver takes to start; it is repeated."""
    condition = _conditions(status).get("MetricsAvailable", {})
    if condition.get("reason") == Reason.METRICS_MISSING:
        with suppress(KeyError, ValueError):
            if now_s - parse_instant_s(condition["lastTransitionTime"]) >= patience_s:
                yield _event_of(condition, EventType.WARNING)
