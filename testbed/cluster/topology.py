"""Topologies: the emulated nodes with class, address and capacity, and the delays between them.

A topology is a YAML file and a latency map (CSV); `read_topology` takes a path or a bundled name.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gesscale.common.yaml_text import read_yaml
from gesscale.errors import InputError
from gesscale.settings.problems import setting_problems
from gesscale.validation import located
from latency_map import Asymmetry, DelayKind, DelayUnit, LatencyMap, read_map

BUNDLED = Path(__file__).parent.parent / "topologies"
#: Short enough to be a part of the names of network devices.
CLUSTER_NAME = "[a-z][a-z0-9]{0,9}"

MAX_NODES = 200
CONTROL_HOST = 254


class NodeClass(StrEnum):
    """Emulated kinds of edge nodes."""

    PI3 = "pi3"
    PI4 = "pi4"
    NUC = "nuc"


#: Capacity relative to a Raspberry Pi 4, by class: speed of one core, as a replica has one slot. Rounded, from
#: clock rate times work per clock: a Pi 3's in-order Cortex-A53 at 1.2-1.4 GHz does about half the work of a Pi
#: 4's out-of-order Cortex-A72 at 1.5 GHz; a NUC's x86 core runs near 4 GHz and does more per clock. They are
#: defaults of an emulation, not measurements: a topology may set other ``weights``.
WEIGHTS: Mapping[NodeClass, float] = {NodeClass.PI3: 0.5, NodeClass.PI4: 1.0, NodeClass.NUC: 4.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeNode:
    """One emulated edge node."""

    name: str
    #: Its IPv4 address in the cluster's network.
    address: str
    node_class: NodeClass
    #: Its capacity relative to a Raspberry Pi 4.
    weight: float
    #: Slots of an executor on it; each has an equal part of its capacity.
    slots: int = 1
    #: Price of a replica on it, relative to a node of price 1.
    price: float = 1.0

    @property
    def host(self) -> int:
        """The last byte of its address, which identifies the node inside the relay."""
        return int(self.address.rsplit(".", 1)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The nodes of a cluster and the delays between every two of them."""

    name: str
    #: The /24 network of the nodes.
    subnet: ipaddress.IPv4Network
    #: In the order of the latency map.
    nodes: tuple[EdgeNode, ...]
    #: Round trips; complete.
    map: LatencyMap
    #: The node that runs the Spark drivers; it may hold replicas too.
    driver_node: str

    @property
    def control_address(self) -> str:
        """The address outside the nodes, at no delay from any of them."""
        return str(self.subnet[CONTROL_HOST])

    @property
    def driver(self) -> EdgeNode:
        """The node that runs the Spark drivers."""
        return self.node(self.driver_node)

    def node(self, name: str) -> EdgeNode:
        """Return a node by its name.

        Raises
        ------
        InputError
            If there is no such node.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        raise InputError(
            "topology-node-unknown", topology=self.name, node=name, nodes=[node.name for node in self.nodes]
        )

    def rtt_ms(self, first: str, second: str) -> float:
        """Return the round trip between two nodes, ms."""
        delay = self.map.delay_ms(first, second)
        assert delay is not None  # noqa: S101 - `read_topology` refuses maps with missing cells
        return delay


class _Latency(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    unit: DelayUnit
    kind: DelayKind
    asymmetry: Asymmetry = Asymmetry.REFUSE


class _TopologyFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=f"^{CLUSTER_NAME}$")]
    latency: _Latency
    driver_node: str
    subnet: ipaddress.IPv4Network = ipaddress.IPv4Network("10.77.0.0/24")
    node_class: NodeClass = NodeClass.PI4
    node_classes: dict[str, NodeClass] = {}
    weights: dict[NodeClass, Annotated[float, Field(gt=0, le=1000)]] = {}
    prices: dict[NodeClass, Annotated[float, Field(gt=0, le=1000)]] = {}
    slots: dict[NodeClass, Annotated[int, Field(ge=1, le=64)]] = {}


def read_topology(source: str) -> Topology:
    """Read a topology.

    Raises
    ------
    InputError
        If the file or its latency map cannot be read, or is invalid.
    """
    path, bundled = Path(source), BUNDLED / f"{source}.yaml"
    if not path.is_file() and bundled.is_file():
        path = bundled
    try:
        content = read_yaml(path)
        described = _TopologyFile.model_validate(content)
        latency = described.latency
        delays = read_map(path.parent / latency.file, unit=latency.unit, kind=latency.kind, asymmetry=latency.asymmetry)
    except ValidationError as error:
        raise InputError(located(setting_problems(error, (), _TopologyFile), "", str(path))) from error
    except OSError as error:
        bundled_names = sorted(file.stem for file in BUNDLED.glob("*.yaml"))
        raise InputError(
            "topology-unreadable", source=str(path), cause=error.strerror or str(error), bundled=bundled_names
        ) from error
    _require_usable(described, delays, str(path))
    weights = {**WEIGHTS, **described.weights}
    classes = {name: described.node_classes.get(name, described.node_class) for name in delays.names}
    nodes = tuple(
        EdgeNode(
            name=name,
            address=str(described.subnet[host]),
            node_class=classes[name],
            weight=weights[classes[name]],
            slots=described.slots.get(classes[name], 1),
            price=described.prices.get(classes[name], 1.0),
        )
        for host, name in enumerate(delays.names, start=1)
    )
    return Topology(
        name=described.name, subnet=described.subnet, nodes=nodes, map=delays, driver_node=described.driver_node
    )


def _require_usable(described: _TopologyFile, delays: LatencyMap, source: str) -> None:
    """Check that a cluster can be built from a topology and its latency map."""
    if described.subnet.prefixlen != 24 or not described.subnet.is_private:
        raise InputError("topology-subnet-invalid", source=source, place="subnet", got=str(described.subnet))
    if not 1 <= len(delays.names) <= MAX_NODES:
        raise InputError("topology-size-invalid", source=source, nodes=len(delays.names), max=MAX_NODES)
    for name in delays.names:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", name):
            raise InputError("node-name-invalid", source=source, got=name)
    named = {"driver_node": [described.driver_node], "node_classes": sorted(described.node_classes)}
    for place, nodes in named.items():
        if unknown := [node for node in nodes if node not in delays.names]:
            raise InputError("topology-node-unmapped", source=source, place=place, node=unknown[0], nodes=delays.names)
    if missing := delays.missing(delays.names):
        first, second = missing[0]
        raise InputError("topology-delays-missing", source=source, count=len(missing), first=first, second=second)
