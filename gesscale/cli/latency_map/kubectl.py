"""What ``kubectl get nodes -o json`` and ``kubectl get pods -A -o json`` say of nodes and their room."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

from latency_map.choose.candidates import Candidate

_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([KMGTPE]i)|([numkMGTPE]))?")
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {letter: Decimal(1000) ** power for power, letter in enumerate("num kMGTPE", start=-3)}
_ZONE = "topology.kubernetes.io/zone"
_ARCH = "kubernetes.io/arch"
_CLOSED = {"NoSchedule", "NoExecute"}
_OVER = {"Succeeded", "Failed"}


def parse_quantity(value: object) -> Decimal:
    """Return a quantity as Kubernetes writes it.

    Parameters
    ----------
    value
        A number, or text such as ``3800m``, ``1843Mi``, ``2G`` or ``1e3``.

    Returns
    -------
    Decimal
        CPUs or bytes, at least 0; exact, so that what is taken can be subtracted.

    Raises
    ------
    ValueError
        It is no such quantity.
    """
    match = _QUANTITY.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        message = f"expected a quantity such as 3800m or 1843Mi, got {value!r:.40}"
        raise ValueError(message)
    number, exponent, binary, decimal = match.groups()
    return Decimal(number + (exponent or "")) * _BINARY.get(binary, 1) * _DECIMAL.get(decimal, 1)


Quantity = Annotated[Decimal, BeforeValidator(parse_quantity)]
Quantities = dict[str, Quantity]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class _Metadata(_Part):
    name: str
    labels: dict[str, str] = {}


class _Taint(_Part):
    key: str
    effect: str


class _NodeSpec(_Part):
    unschedulable: bool = False
    taints: list[_Taint] = []


class _Condition(_Part):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _System(_Part):
    architecture: str | None = None


class _NodeStatus(_Part):
    allocatable: Quantities = {}
    conditions: list[_Condition] = []
    node_info: _System = _System()


class _Node(_Part):
    metadata: _Metadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _Resources(_Part):
    requests: Quantities = {}


class _Container(_Part):
    resources: _Resources = _Resources()
    restart_policy: str = ""


class _PodSpec(_Part):
    node_name: str = ""
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    overhead: Quantities = {}


class _PodStatus(_Part):
    phase: str = ""


class _Pod(_Part):
    spec: _PodSpec
    status: _PodStatus = _PodStatus()


class KubectlNodes(_Part):
    """The output of ``kubectl get nodes -o json``."""

    items: list[_Node]


class KubectlPods(_Part):
    """The output of ``kubectl get pods -A -o json``."""

    items: list[_Pod]


def to_candidates(nodes: KubectlNodes, pods: KubectlPods | None) -> list[Candidate]:
    """Judge nodes by what the cluster says of them.

    Parameters
    ----------
    nodes
        The nodes.
    pods
        What takes room on them; None to take them as empty.

    Returns
    -------
    list of Candidate
        A node weighs as much as it has free CPUs. One with a taint NoSchedule or NoExecute takes no new work.
    """
    taken: dict[str, Quantities] = {}
    for pod in pods.items if pods else ():
        if pod.status.phase not in _OVER:
            on_node = taken.setdefault(pod.spec.node_name, {})
            for what, amount in _requests(pod.spec).items():
                on_node[what] = on_node.get(what, Decimal()) + amount
    return [_candidate(node, taken.get(node.metadata.name, {})) for node in nodes.items]


def _candidate(node: _Node, taken: Mapping[str, Decimal]) -> Candidate:
    room = {
        what: float(max(Decimal(), amount - taken.get(what, 0)))
        for what, amount in node.status.allocatable.items()
    }
    labels = node.metadata.labels
    zone = {"zone": labels[_ZONE]} if _ZONE in labels else {}
    unready, closed = _unready(node.status.conditions), _closed(node.spec)
    return Candidate(
        name=node.metadata.name,
        weight=room.get("cpu", 0.0),
        ready=not unready,
        schedulable=not closed,
        free_cpus=room.get("cpu"),
        free_memory_bytes=room.get("memory"),
        arch=node.status.node_info.architecture or labels.get(_ARCH),
        labels={**zone, **labels},
        remark=unready or closed,
    )


def _unready(conditions: Iterable[_Condition]) -> str:
    """Return why the node is not ready; nothing where it is."""
    for condition in conditions:
        if condition.type == "Ready":
            said = f"{condition.reason} {condition.message}".strip()
            return "" if condition.status == "True" else f"Ready is {condition.status}: {said or 'no reason'}"
    return "it has no Ready condition"


def _closed(spec: _NodeSpec) -> str:
    """Return why the node takes no new work; nothing where it does."""
    if spec.unschedulable:
        return "it is cordoned"
    taints = [f"{taint.key}:{taint.effect}" for taint in spec.taints if taint.effect in _CLOSED]
    return f"it has the taint {', '.join(taints)}" if taints else ""


def _requests(spec: _PodSpec) -> Quantities:
    """Return what the scheduler counts for a pod: init containers run one by one, sidecars stay."""
    names = {what for part in (*spec.containers, *spec.init_containers) for what in part.resources.requests}
    return {what: _request(spec, what) for what in names | spec.overhead.keys()}


def _request(spec: _PodSpec, what: str) -> Decimal:
    sidecars = peak = Decimal()
    for part in spec.init_containers:
        own = part.resources.requests.get(what, Decimal())
        peak = max(peak, sidecars + own)
        sidecars += own if part.restart_policy == "Always" else 0
    main = sum(part.resources.requests.get(what, Decimal()) for part in spec.containers)
    return max(peak, sidecars + main) + spec.overhead.get(what, 0)
