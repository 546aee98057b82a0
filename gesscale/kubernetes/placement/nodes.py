"""Nodes as the cluster describes them: the only reading of Node objects, for the controller and the command line."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gesscale.common.text import glimpse
from gesscale.errors import InputError
from gesscale.kubernetes.placement.quantity import Quantities, Room, room_of
from gesscale.words import first_fault

WEIGHT = "gesscale.dev/weight"
"""Annotation or label with a node's capacity against a node of weight 1."""
ARCHITECTURE = "kubernetes.io/arch"
CLOSING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_WEIGHT_MAX = 1000.0


class ApiPart(BaseModel):
    """A part of an object of the API, as its JSON; what is not read is left out, and null is absent."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class Taint(ApiPart):
    """What keeps pods off a node that do not tolerate it."""

    key: str
    value: str = ""
    effect: str

    @property
    def text(self) -> str:
        """As kubectl writes it, such as ``gpu=yes:NoSchedule``."""
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


class _Metadata(ApiPart):
    name: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _NodeSpec(ApiPart):
    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None
    pod_networks: tuple[str, ...] | None = Field(None, alias="podCIDRs")


class _Condition(ApiPart):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Address(ApiPart):
    type: str
    address: str


class _System(ApiPart):
    architecture: str = ""


class _NodeStatus(ApiPart):
    allocatable: Quantities | None = None
    conditions: tuple[_Condition, ...] | None = None
    addresses: tuple[_Address, ...] | None = None
    node_info: _System = _System()


class NodeObject(ApiPart):
    """A Node as the API sends it."""

    metadata: _Metadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """What is kept of a Node.

    Attributes
    ----------
    addresses
        Of type InternalIP, in the node's order.
    pod_networks
        Of its pods, as CIDR.
    architecture
        Such as ``arm64``; empty where it is not known.
    room
        What pods may take of it; None where it has not said yet.
    unready
        Why it does not work, in a sentence; empty where it does.
    cordoned
        Whether somebody has closed it.
    taints
        Those that close it to pods that do not tolerate them.
    weight
        Its capacity against a node of weight 1.
    remark
        What is wrong with the weight that it states; empty where nothing is.
    """

    name: str
    addresses: tuple[str, ...] = ()
    pod_networks: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str = ""
    room: Room | None = None
    unready: str = ""
    cordoned: bool = False
    taints: tuple[Taint, ...] = ()
    weight: float = 1.0
    remark: str = ""

    @property
    def address(self) -> str:
        """The address that its replicas report; empty where it has none."""
        return self.addresses[0] if self.addresses else ""

    @property
    def closed(self) -> str:
        """Why it takes no new pod that tolerates nothing; empty where it does."""
        return self.closed_to(lambda _taint: False)

    def closed_to(self, tolerated: Callable[[Taint], bool]) -> str:
        """Return why it takes no new pod that tolerates some taints; empty where it does."""
        if self.cordoned:
            return "it is cordoned"
        taints = [taint.text for taint in self.taints if not tolerated(taint)]
        return f"it has the taint {', '.join(taints)}" if taints else ""


def read_node(item: Mapping[str, Any]) -> NodeRecord:
    """Read a Node.

    Parameters
    ----------
    item
        As the API, or an item of ``kubectl get nodes -o json``.

    Raises
    ------
    InputError
        It is none; the message names the field.
    """
    try:
        return record_of(NodeObject.model_validate(item))
    except ValidationError as error:
        raise InputError(f"expected a Node as the API describes it: {first_fault(error)}") from None


def record_of(node: NodeObject) -> NodeRecord:
    """Keep of a checked Node what is needed."""
    metadata, spec, status = node.metadata, node.spec, node.status
    labels = {intern(key): intern(value) for key, value in (metadata.labels or {}).items()}
    weight, remark = _weight({**labels, **(metadata.annotations or {})}.get(WEIGHT))
    return NodeRecord(
        name=metadata.name,
        addresses=tuple(each.address for each in status.addresses or () if each.type == "InternalIP"),
        pod_networks=spec.pod_networks or (),
        labels=labels,
        architecture=status.node_info.architecture or labels.get(ARCHITECTURE, ""),
        room=None if status.allocatable is None else room_of(status.allocatable),
        unready=_unready(status.conditions or ()),
        cordoned=spec.unschedulable,
        taints=tuple(
            each
            for each in spec.taints or ()
            if each.effect in CLOSING_EFFECTS and each.key != _UNSCHEDULABLE
        ),
        weight=weight,
        remark=remark,
    )


def _unready(conditions: Iterable[_Condition]) -> str:
    """Return why the node is not ready; nothing where it is."""
    for condition in conditions:
        if condition.type == "Ready":
            said = f"{condition.reason} {condition.message}".strip()
            return "" if condition.status == "True" else f"Ready is {condition.status}: {said or 'no reason'}"
    return "it has no Ready condition"


def _weight(text: str | None) -> tuple[float, str]:
    if text is None:
        return 1.0, ""
    try:
        weight = float(text)
    except ValueError:
        weight = float("nan")
    if 0 < weight <= _WEIGHT_MAX:
        return weight, ""
    return (
        1.0,
        f"{WEIGHT}: expected a number above 0, at most {_WEIGHT_MAX:g}, got {glimpse(text)}; 1 is taken",
    )
