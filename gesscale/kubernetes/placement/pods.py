"""Pods as the cluster describes them: what they take of a node, and which executor or driver they are.

Of a pod of 10 kB about half a kilobyte is kept: a cluster has thousands, and a Pi must hold them all.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from sys import intern
from typing import Any

from gesscale.kubernetes.placement.nodes import ONE_POD, Quantities, Room, amounts_of, members_of, room_of, texts_of
from gesscale.wire import group_of, text_of

#: Annotation of an executor: the order that it was started by.
ORDER = "gesscale.dev/order"
OVER = frozenset({"Succeeded", "Failed"})
_PROBLEM_CHARS = 300
_POD = "a Pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A taint, or a kind of taints, that a pod does not mind."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecord:
    """What is kept of a Pod."""

    namespace: str
    name: str
    #: Where it is bound to; empty where it waits for a node.
    node: str = ""
    #: Pending, Running, Succeeded, Failed or Unknown.
    phase: str = ""
    #: Its address; empty where it has none yet.
    ip: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    #: What the scheduler counts for it.
    takes: Room = ONE_POD
    #: Whether its Ready condition is true.
    ready: bool = False
    #: Whether it was asked to end.
    leaving: bool = False
    #: The order that it was started by; empty where none.
    order: str = ""
    #: The taints that it does not mind.
    tolerations: tuple[Toleration, ...] = ()
    #: Why it does not run, in the scheduler's or the kubelet's words; empty where it does.
    problem: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended: it takes no room any more."""
        return self.phase in OVER


_SHARED: dict[object, Any] = {}
_SHARED_MAX = 10_000


def _shared(value: Any) -> Any:
    """Return an equal value that is kept already: thousands of pods have the same requests and tolerations."""
    if len(_SHARED) > _SHARED_MAX:
        _SHARED.clear()
    return _SHARED.setdefault(value, value)


def read_pod(item: Mapping[str, Any]) -> PodRecord:
    """Read a Pod, whose members are of their types, as the API server has seen to that.

    Raises
    ------
    InputError
        It is none; the message names the field.
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
        takes=_shared(room_of(_requests(spec, status), pods=1)),
        ready=ready,
        leaving=metadata.get("deletionTimestamp") is not None,
        order=intern(text_of(group_of(metadata, "annotations"), ORDER)),
        tolerations=_shared(tolerations),
        problem="" if ready or phase in OVER else _problem(status, conditions)[:_PROBLEM_CHARS],
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
    """Return what the scheduler counts for a pod: init containers run one by one, sidecars stay.

    Requests of the whole pod go before those of its containers; while a container is resized in place, the larger
    of what it asks for and what it has counts.
    """
    whole, overhead = _asked(spec), amounts_of(spec, "overhead", _POD)
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
    """Return what counts of a container: what it asks for, or what it has where that is more."""
    asked, state = _asked(part), running.get(text_of(part, "name"), {})
    has = (_asked(state), amounts_of(state, "allocatedResources", _POD))
    nothing = Decimal()
    return {what: max(each.get(what, nothing) for each in (asked, *has)) for what in {*asked, *has[0], *has[1]}}


def _asked(part: Mapping[str, Any]) -> Quantities:
    return amounts_of(group_of(part, "resources"), "requests", _POD)


def _containers(status: Mapping[str, Any], *lists: str) -> Iterator[Mapping[str, Any]]:
    return chain.from_iterable(members_of(status, each) for each in lists)
