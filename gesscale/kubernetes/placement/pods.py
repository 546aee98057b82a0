"""Pod objects of the API as records: their requests, and which executor or driver they are.

About half a kilobyte of a pod of 10 kB is kept: a Raspberry Pi must hold thousands of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from sys import intern
from typing import Any

from gesscale.kubernetes.placement.nodes import ONE_POD, Quantities, Room, amounts_of, members_of, room_of, texts_of
from gesscale.wire import group_of, text_of

#: Annotation of an executor: the order that started it.
ORDER = "gesscale.dev/order"
ENDED_PHASES = frozenset({"Succeeded", "Failed"})
_PROBLEM_CHARS = 300
_POD = "Pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration of a pod."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecord:
    """The kept part of a Pod."""

    namespace: str
    name: str
    #: The node it is bound to; empty while unscheduled.
    node: str = ""
    #: Pending, Running, Succeeded, Failed or Unknown.
    phase: str = ""
    #: Its address; empty while it has none.
    ip: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Its requests as the scheduler counts them.
    requests: Room = ONE_POD
    #: Whether its Ready condition is true.
    ready: bool = False
    #: Whether it is terminating.
    terminating: bool = False
    #: The order that started it; empty if none.
    order: str = ""
    #: Its tolerations.
    tolerations: tuple[Toleration, ...] = ()
    #: Reason why it does not run, as reported by the scheduler or the kubelet; empty if it runs.
    problem: str = ""

    @property
    def ended(self) -> bool:
        """Whether it has ended and takes no room any more."""
        return self.phase in ENDED_PHASES


_SHARED: dict[object, Any] = {}
_SHARED_MAX = 10_000


def _shared(value: Any) -> Any:
    """Return an equal value that is already kept: thousands of pods share requests and tolerations."""
    if len(_SHARED) > _SHARED_MAX:
        _SHARED.clear()
    return _SHARED.setdefault(value, value)


def read_pod(item: Mapping[str, Any]) -> PodRecord:
    """Read a Pod; the API server has validated the types of its members.

    Raises
    ------
    InputError
        It is no Pod; the error has the field.
    """
    metadata, spec, status = (group_of(item, part) for part in ("metadata", "spec", "status"))
    conditions, phase = members_of(status, "conditions"), text_of(status, "phase")
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    tolerations = tuple(
        Toleration(
            key=text_of(each, "key"),
            operator=text_of(each, "operator", "Equal"),
            value=text_of(each, "value"),
            effect=text_of(each, "effect"),
        )
        for each in members_of(spec, "tolerations")
    )
    return PodRecord(
        namespace=intern(text_of(metadata, "namespace")),
        name=text_of(metadata, "name"),
        node=intern(text_of(spec, "nodeName")),
        phase=intern(phase),
        ip=text_of(status, "podIP"),
        labels=texts_of(metadata, "labels"),
        requests=_shared(room_of(_requests(spec, status), pods=1)),
        ready=ready,
        terminating=metadata.get("deletionTimestamp") is not None,
        order=intern(text_of(group_of(metadata, "annotations"), ORDER)),
        tolerations=_shared(tolerations),
        problem="" if ready or phase in ENDED_PHASES else _problem(status, conditions)[:_PROBLEM_CHARS],
    )


def _problem(status: Mapping[str, Any], conditions: Iterable[Mapping[str, Any]]) -> str:
    for condition in conditions:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"{text_of(condition, 'reason')}: {text_of(condition, 'message')}"
    for each in _containers(status, "initContainerStatuses", "containerStatuses"):
        waiting = group_of(group_of(each, "state"), "waiting")
        if reason := text_of(waiting, "reason"):
            return f"{reason} {text_of(waiting, 'message')}".strip()
    return ""


def _requests(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Quantities:
    """Return the requests of a pod as the scheduler counts them: init containers run one by one, sidecars stay.

    Requests of the whole pod take precedence over those of its containers. While a container is resized in place, the
    larger of its requests and its allocation counts.
    """
    whole, overhead = _requested(spec), amounts_of(spec, "overhead", _POD)
    running = {
        text_of(each, "name"): each for each in _containers(status, "initContainerStatuses", "containerStatuses")
    }
    inits = [(each, _counted(each, running)) for each in members_of(spec, "initContainers")]
    others = [_counted(each, running) for each in members_of(spec, "containers")]
    nothing, amounts = Decimal(), {}
    for what in ("cpu", "memory"):
        sidecars = peak = nothing
        for part, counted in inits:
            own = counted.get(what, nothing)
            peak = max(peak, sidecars + own)
            sidecars += own if part.get("restartPolicy") == "Always" else 0
        peak = max(peak, sidecars + sum(counted.get(what, nothing) for counted in others))
        amounts[what] = whole.get(what, peak) + overhead.get(what, nothing)
    return amounts


def _counted(part: Mapping[str, Any], running: Mapping[str, Mapping[str, Any]]) -> Quantities:
    """Return the larger of a container's requests and its allocation."""
    requested, state = _requested(part), running.get(text_of(part, "name"), {})
    has = (_requested(state), amounts_of(state, "allocatedResources", _POD))
    nothing = Decimal()
    return {what: max(each.get(what, nothing) for each in (requested, *has)) for what in {*requested, *has[0], *has[1]}}


def _requested(part: Mapping[str, Any]) -> Quantities:
    return amounts_of(group_of(part, "resources"), "requests", _POD)


def _containers(status: Mapping[str, Any], *lists: str) -> Iterator[Mapping[str, Any]]:
    return chain.from_iterable(members_of(status, each) for each in lists)
