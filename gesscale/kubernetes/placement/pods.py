"""Pods as the cluster describes them: what they take of a node, and which executor or driver they are.

Of a pod of 10 kB about half a kilobyte is kept: a cluster has thousands, and a Pi must hold them all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from sys import intern
from typing import Any

from pydantic import Field, ValidationError

from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import ONE_POD, ApiPart, Quantities, Room, room_of
from gesscale.words import first_fault

ORDER = "gesscale.dev/order"
"""Annotation of an executor: the order that it was started by."""
OVER = frozenset({"Succeeded", "Failed"})
_PROBLEM_CHARS = 300


class _Resources(ApiPart):
    requests: Quantities | None = None


class _Container(ApiPart):
    name: str = ""
    resources: _Resources | None = None
    restart_policy: str = ""


class Toleration(ApiPart):
    """A taint, or a kind of taints, that a pod does not mind."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class _PodSpec(ApiPart):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] | None = None
    overhead: Quantities | None = None
    resources: _Resources | None = None
    tolerations: tuple[Toleration, ...] | None = None


class _State(ApiPart):
    reason: str = ""
    message: str = ""


class _States(ApiPart):
    waiting: _State | None = None


class _ContainerStatus(ApiPart):
    name: str = ""
    resources: _Resources | None = None
    allocated_resources: Quantities | None = None
    state: _States | None = None


class _PodCondition(ApiPart):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _PodStatus(ApiPart):
    phase: str = ""
    ip: str = Field("", alias="podIP")
    conditions: tuple[_PodCondition, ...] | None = None
    container_statuses: tuple[_ContainerStatus, ...] | None = None
    init_container_statuses: tuple[_ContainerStatus, ...] | None = None


class _PodMetadata(ApiPart):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class PodObject(ApiPart):
    """A Pod as the API sends it."""

    metadata: _PodMetadata = _PodMetadata()
    spec: _PodSpec
    status: _PodStatus = _PodStatus()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecord:
    """What is kept of a Pod.

    Attributes
    ----------
    node
        Where it is bound to; empty where it waits for a node.
    phase
        Pending, Running, Succeeded, Failed or Unknown.
    ip
        Its address; empty where it has none yet.
    takes
        What the scheduler counts for it.
    ready
        Whether its Ready condition is true.
    leaving
        Whether it was asked to end.
    order
        The order that it was started by; empty where none.
    tolerations
        The taints that it does not mind.
    problem
        Why it does not run, in the scheduler's or the kubelet's words; empty where it does.
    """

    namespace: str
    name: str
    node: str = ""
    phase: str = ""
    ip: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    takes: Room = ONE_POD
    ready: bool = False
    leaving: bool = False
    order: str = ""
    tolerations: tuple[Toleration, ...] = ()
    problem: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended: it takes no room any more."""
        return self.phase in OVER


def read_pod(item: Mapping[str, Any]) -> PodRecord:
    """Read a Pod.

    Parameters
    ----------
    item
        As the API, or an item of ``kubectl get pods -A -o json``.

    Raises
    ------
    InputError
        It is none; the message names the field.
    """
    try:
        return record_of(PodObject.model_validate(item))
    except ValidationError as error:
        raise InputError(f"expected a Pod as the API describes it: {first_fault(error)}") from None


_SHARED: dict[object, Any] = {}
_SHARED_MAX = 10_000


def _shared(value: Any) -> Any:
    """Return an equal value that is kept already: thousands of pods have the same requests and tolerations."""
    if len(_SHARED) > _SHARED_MAX:
        _SHARED.clear()
    return _SHARED.setdefault(value, value)


def record_of(pod: PodObject) -> PodRecord:
    """Keep of a checked Pod what is needed."""
    metadata, status = pod.metadata, pod.status
    ready = any(each.type == "Ready" and each.status == "True" for each in status.conditions or ())
    return PodRecord(
        namespace=intern(metadata.namespace),
        name=metadata.name,
        node=intern(pod.spec.node_name),
        phase=intern(status.phase),
        ip=status.ip,
        labels={intern(key): intern(value) for key, value in (metadata.labels or {}).items()},
        takes=_shared(room_of(_requests(pod), pods=1)),
        ready=ready,
        leaving=metadata.deletion_timestamp is not None,
        order=intern((metadata.annotations or {}).get(ORDER, "")),
        tolerations=_shared(pod.spec.tolerations or ()),
        problem="" if ready or status.phase in OVER else _problem(status)[:_PROBLEM_CHARS],
    )


def _problem(status: _PodStatus) -> str:
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"{condition.reason}: {condition.message}"
    for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        if each.state is not None and each.state.waiting is not None and each.state.waiting.reason:
            return f"{each.state.waiting.reason} {each.state.waiting.message}".strip()
    return ""


def _requests(pod: PodObject) -> Quantities:
    """Return what the scheduler counts for a pod: init containers run one by one, sidecars stay.

    Requests of the whole pod go before those of its containers; while a container is resized in place, the larger
    of what it asks for and what it has counts.
    """
    spec = pod.spec
    whole = (spec.resources.requests if spec.resources else None) or {}
    overhead = spec.overhead or {}
    counted: Callable[[_Container, str], Decimal] = lambda part, what: _asked(part, what, pod.status)  # noqa: E731  # named for the two sums below
    amounts = {}
    for what in ("cpu", "memory"):
        own = whole[what] if what in whole else _peak(spec, what, counted)
        amounts[what] = own + overhead.get(what, Decimal())
    return amounts


def _peak(spec: _PodSpec, what: str, counted: Callable[[_Container, str], Decimal]) -> Decimal:
    sidecars = peak = Decimal()
    for part in spec.init_containers or ():
        own = counted(part, what)
        peak = max(peak, sidecars + own)
        sidecars += own if part.restart_policy == "Always" else 0
    return max(peak, sidecars + sum(counted(part, what) for part in spec.containers))


def _asked(part: _Container, what: str, status: _PodStatus) -> Decimal:
    asked = ((part.resources.requests if part.resources else None) or {}).get(what, Decimal())
    for each in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        if each.name and each.name == part.name:
            has = (each.resources.requests if each.resources else None) or {}
            return max(asked, has.get(what, asked), (each.allocated_resources or {}).get(what, asked))
    return asked
