"""Node objects of the API as records with their room; the only reader of Node objects."""

import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from sys import intern
from typing import Any

from gesscale.common.errors import InvalidValueError
from gesscale.common.logs import log_problem
from gesscale.common.text import truncated_repr
from gesscale.errors import InputError
from gesscale.kubernetes.resource.parts import parse_instant_s
from gesscale.wire import entries_of, group_of, text_of

_LOG = logging.getLogger(__name__)
_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d{1,2})|([KMGTPE]i)|([numkMGTPE]))?", re.ASCII)
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {letter: Decimal(1000) ** power for power, letter in enumerate("num kMGTPE", start=-3)}
_MIB = 1 << 20
_MAX_CHARACTERS, _MAX_BITS = 64, 200


def parse_quantity(value: object) -> Decimal:
    """Return a quantity as Kubernetes writes it.

    Raises
    ------
    InvalidValueError
        It is no quantity.
    """
    is_long = isinstance(value, int) and value.bit_length() > _MAX_BITS
    text = truncated_repr(value) if is_long or not isinstance(value, str | int | float | Decimal) else str(value)
    found = None if isinstance(value, bool) or len(text) > _MAX_CHARACTERS else _parse(text)
    if found is None:
        raise InvalidValueError("quantity-invalid", got=value)
    return found


@lru_cache(maxsize=4096)
def _parse(text: str) -> Decimal | None:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    number, exponent, binary, decimal = match.groups()
    return Decimal(number + (exponent or "")) * _BINARY.get(binary, 1) * _DECIMAL.get(decimal, 1)


Quantities = Mapping[str, Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Requests of pods, or allocatable room of a node, in whole units as the scheduler counts."""

    #: Thousandths of a CPU.
    cpu_m: int = 0
    #: Bytes, and number of pods (memory_bytes, pods).
    memory_bytes: int = 0
    pods: int = 0

    def __add__(self, other: "Room") -> "Room":
        return Room(
            cpu_m=self.cpu_m + other.cpu_m,
            memory_bytes=self.memory_bytes + other.memory_bytes,
            pods=self.pods + other.pods,
        )

    def without(self, taken: "Room") -> "Room":
        """Return the difference; never less than zero."""
        return Room(
            cpu_m=max(0, self.cpu_m - taken.cpu_m),
            memory_bytes=max(0, self.memory_bytes - taken.memory_bytes),
            pods=max(0, self.pods - taken.pods),
        )

    def lack(self, free: "Room", whole: "Room") -> str:
        """Describe with figures what does not fit; empty if all fits.

        Examples
        --------
        >>> Room(cpu_m=1000, pods=1).lack(Room(cpu_m=400, pods=9), Room(cpu_m=3800, pods=110))
        'requests 1 CPU, 0.4 of 3.8 free'
        """
        lacks = []
        if self.cpu_m > free.cpu_m:
            requested, left, total = (each.cpu_m / 1000 for each in (self, free, whole))
            lacks.append(f"requests {requested:.4g} CPU, {left:.4g} of {total:.4g} free")
        if self.memory_bytes > free.memory_bytes:
            requested, left, total = (each.memory_bytes / _MIB for each in (self, free, whole))
            lacks.append(f"requests {requested:.0f} MiB, {left:.0f} of {total:.0f} free")
        if self.pods > free.pods:
            lacks.append(f"already runs {whole.pods - free.pods} of at most {whole.pods} pods")
        return "; ".join(lacks)


#: A pod without requests.
ONE_POD = Room(pods=1)


def room_of(amounts: Quantities, pods: int | None = None) -> Room:
    """Return amounts as room, fractions rounded up.

    Parameters
    ----------
    amounts
        ``cpu`` and ``memory``, and ``pods`` if the next is None; a missing one is 0.
    pods
        Number of pods; None to take it from the amounts.
    """
    nothing = Decimal()
    return Room(
        cpu_m=_up(amounts.get("cpu", nothing) * 1000),
        memory_bytes=_up(amounts.get("memory", nothing)),
        pods=_up(amounts.get("pods", nothing)) if pods is None else pods,
    )


def _up(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_CEILING))


#: Annotation or label with a node's capacity relative to a node of weight 1.
WEIGHT = "gesscale.dev/weight"
#: Annotation or label with the price of a replica on a node, relative to a node of price 1.
PRICE = "gesscale.dev/node-price"
ARCHITECTURE = "kubernetes.io/arch"
CLOSING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_FIGURE_MAX = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str

    @property
    def text(self) -> str:
        """The taint as kubectl writes it, such as ``gpu=yes:NoSchedule``."""
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """The kept part of a Node."""

    name: str
    #: Of type InternalIP, in the node's order.
    addresses: tuple[str, ...] = ()
    #: Of its pods, as CIDR.
    pod_networks: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Such as ``arm64``; empty if not known.
    architecture: str = ""
    #: Allocatable to pods; None while the kubelet has not reported it.
    room: Room | None = None
    #: Reason why it is not ready; empty if it is.
    unready: str = ""
    #: Since when it is not ready, seconds since the epoch; None if unknown.
    unready_since_s: float | None = None
    #: Whether it is cordoned.
    cordoned: bool = False
    #: Taints with effect NoSchedule or NoExecute.
    taints: tuple[Taint, ...] = ()
    #: Its capacity, and its price, relative to a node of weight and price 1 (weight, price).
    weight: float = 1.0
    price: float = 1.0

    @property
    def address(self) -> str:
        """The address that its replicas report; empty without one."""
        return self.addresses[0] if self.addresses else ""

    def closed_to(self, tolerated: Callable[[Taint], bool]) -> str:
        """Return why it accepts no new pod with these tolerations; empty if it does."""
        if self.cordoned:
            return "cordoned"
        taints = [taint.text for taint in self.taints if not tolerated(taint)]
        return f"taint not tolerated: {', '.join(taints)}" if taints else ""


def read_node(item: Mapping[str, Any]) -> NodeRecord:
    """Read a Node; the API server has validated the types of its members.

    Raises
    ------
    InputError
        It is no Node; the error has the field.
    """
    metadata, spec, status = (group_of(item, part) for part in ("metadata", "spec", "status"))
    name, labels = name_of(item, "Node"), texts_of(metadata, "labels")
    figures = {**labels, **texts_of(metadata, "annotations")}
    addresses = members_of(status, "addresses")
    taints = (
        Taint(key=text_of(each, "key"), value=text_of(each, "value"), effect=text_of(each, "effect"))
        for each in members_of(spec, "taints")
    )
    ready = next((each for each in members_of(status, "conditions") if each.get("type") == "Ready"), None)
    return NodeRecord(
        name=name,
        addresses=tuple(text_of(each, "address") for each in addresses if each.get("type") == "InternalIP"),
        pod_networks=tuple(
            each for each in entries_of(spec, "podCIDRs") or [spec.get("podCIDR")] if isinstance(each, str)
        ),
        labels=labels,
        architecture=text_of(group_of(status, "nodeInfo"), "architecture", labels.get(ARCHITECTURE, "")),
        room=room_of(amounts_of(status, "allocatable", "Node")) if status.get("allocatable") else None,
        unready=_unready(ready),
        unready_since_s=_since_s(ready),
        cordoned=spec.get("unschedulable") is True,
        taints=tuple(each for each in taints if each.effect in CLOSING_EFFECTS and each.key != _UNSCHEDULABLE),
        weight=_figure(name, WEIGHT, figures.get(WEIGHT, "1")),
        price=_figure(name, PRICE, figures.get(PRICE, "1")),
    )


def name_of(item: object, kind: str) -> str:
    """Return the name of an object.

    Raises
    ------
    InputError
        It has no name.
    """
    if name := text_of(group_of(item, "metadata"), "name"):
        return name
    raise InputError("object-without-name", kind=kind, got=item)


def texts_of(group: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return a mapping of texts, such as labels, with interned strings."""
    texts = group_of(group, name).items()
    return {intern(key): intern(value) for key, value in texts if isinstance(key, str) and isinstance(value, str)}


def members_of(group: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list."""
    return [each for each in entries_of(group, name) if isinstance(each, Mapping)]


def amounts_of(group: Mapping[str, Any], name: str, kind: str) -> Quantities:
    """Return the amounts of CPUs, memory and pods in a group.

    Raises
    ------
    InputError
        One of them is no quantity.
    """
    amounts = group_of(group, name)
    try:
        return {what: parse_quantity(amounts[what]) for what in ("cpu", "memory", "pods") if what in amounts}
    except InvalidValueError as error:
        raise InputError(error.code, place=f"{kind}.{name}", **error.fields) from None


def _unready(ready: Mapping[str, Any] | None) -> str:
    """Return why the node is not ready; empty if it is."""
    if ready is None:
        return "no Ready condition"
    status = text_of(ready, "status")
    cause = f"{text_of(ready, 'reason')} {text_of(ready, 'message')}".strip()
    return "" if status == "True" else f"Ready is {status}: {cause or 'no reason'}"


def _since_s(ready: Mapping[str, Any] | None) -> float | None:
    with suppress(InvalidValueError):
        if ready is not None and ready.get("status") != "True":
            return parse_instant_s(ready.get("lastTransitionTime"))
    return None


@lru_cache(maxsize=4096)
def _figure(node: str, key: str, text: str) -> float:
    """Return the figure in a node's annotation or label; 1 with a warning, once, if it is invalid."""
    with suppress(ValueError):
        figure = float(text)
        if 0 < figure <= _FIGURE_MAX:
            return figure
    log_problem(_LOG, logging.WARNING, "node-figure-invalid", node=node, place=key, got=text, max=_FIGURE_MAX)
    return 1.0


#: With this share of unready nodes, and more than two of them, kube-controller-manager stops evictions: it takes its
#: own view of the nodes as broken (--unhealthy-zone-threshold).
_BROKEN_SHARE, _BROKEN_NODES = 0.55, 2


def is_view_broken(nodes: Mapping[str, NodeRecord]) -> bool:
    """Return whether the control plane is at fault, not the nodes: too many are NotReady at the same time."""
    unready = sum(bool(node.unready) for node in nodes.values())
    return 0 < unready == len(nodes) or (unready > _BROKEN_NODES and unready >= _BROKEN_SHARE * len(nodes))


def why_left(node: NodeRecord | None, *, is_view_broken: bool) -> str:
    """Return why a node can hold no pod, not even one that runs; empty if it can."""
    if node is None:
        return "the node was deleted"
    return "" if is_view_broken else node.unready
