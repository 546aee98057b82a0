"""What the cluster emulates: nodes with a class, an address and a capacity, and the delays between them.

A topology is a YAML file next to a latency map (CSV); `read_topology` takes a path or a bundled name.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
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
#: Names that fit into those of network devices.
CLUSTER_NAME = "[a-z][a-z0-9]{0,9}"

MAX_NODES = 200
CONTROL_HOST = 254


class NodeClass(StrEnum):
    """The kinds of edge node that are emulated."""

    PI3 = "pi3"
    PI4 = "pi4"
    NUC = "nuc"


#: Capacity against a Raspberry Pi 4, by class: speed of one core, as a replica has one slot. Rounded, from
#: clock times work per clock: a Pi 3's in-order Cortex-A53 at 1.2-1.4 GHz does about half the work of a Pi
#: 4's out-of-order Cortex-A72 at 1.5 GHz; a NUC's x86 core runs near 4 GHz and does more per clock. They are
#: defaults of an emulation, not measurements: a topology may set its own ``weights``.
WEIGHTS: Mapping[NodeClass, float] = {NodeClass.PI3: 0.5, NodeClass.PI4: 1.0, NodeClass.NUC: 4.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeNode:
    """One emulated edge node."""

    name: str
    #: Its IPv4 address in the cluster's network.
    address: str
    node_class: NodeClass
    #: Its capacity against a Raspberry Pi 4.
    weight: float

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
            Where there is none of that name.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        names = ", ".join(node.name for node in self.nodes)
        raise InputError(f"topology {self.name!r} has no node {name!r}; its nodes are {names}")

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


def read_topology(source: str) -> Topology:
    """Read a topology.

    Raises
    ------
    InputError
        Where the file or its latency map cannot be read, or says what cannot be.
    """
    path, bundled = Path(source), BUNDLED / f"{source}.yaml"
    if not path.is_file() and bundled.is_file():
        path = bundled
    try:
        content = read_yaml(path, "file")
        described = _TopologyFile.model_validate(content)
        latency = described.latency
        delays = read_map(path.parent / latency.file, unit=latency.unit, kind=latency.kind, asymmetry=latency.asymmetry)
    except ValidationError as error:
        raise InputError(located(setting_problems(error, (), _TopologyFile), "", str(path))) from error
    except OSError as error:
        names = ", ".join(sorted(file.stem for file in BUNDLED.glob("*.yaml")))
        raise InputError(
            f"topology {path}: {error.strerror or error}; choose one of {names}, or name a YAML file"
        ) from error
    except InputError as error:
        raise InputError(f"topology {path}: {error}") from error
    return _topology(described, delays)


def _topology(described: _TopologyFile, delays: LatencyMap) -> Topology:
    if fault := next(_faults(described, delays), ""):
        raise InputError(f"topology {described.name!r}: {fault}")
    weights = {**WEIGHTS, **described.weights}
    classes = {name: described.node_classes.get(name, described.node_class) for name in delays.names}
    nodes = tuple(
        EdgeNode(
            name=name, address=str(described.subnet[host]), node_class=classes[name], weight=weights[classes[name]]
        )
        for host, name in enumerate(delays.names, start=1)
    )
    return Topology(
        name=described.name, subnet=described.subnet, nodes=nodes, map=delays, driver_node=described.driver_node
    )


def _faults(described: _TopologyFile, delays: LatencyMap) -> Iterator[str]:
    """Yield what a cluster cannot be made of."""
    names = ", ".join(delays.names)
    if described.subnet.prefixlen != 24 or not described.subnet.is_private:
        yield f"expected a private /24 network as subnet, got {described.subnet}"
    if not 1 <= len(delays.names) <= MAX_NODES:
        yield f"expected 1 to {MAX_NODES} nodes, got {len(delays.names)}"
    for name in delays.names:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", name):
            yield f"node {name!r}: expected a name of at most 63 letters, digits, '.', '_' and '-'"
    if described.driver_node not in delays.names:
        yield f"driver_node {described.driver_node!r} is not in the latency map; name one of {names}"
    if unknown := sorted(set(described.node_classes) - set(delays.names)):
        yield f"node_classes names {', '.join(unknown)}, which the latency map lacks; its nodes are {names}"
    if missing := delays.missing(delays.names):
        yield (
            f"a cluster needs every delay, the latency map lacks {len(missing)}, "
            f"the first between {missing[0][0]!r} and {missing[0][1]!r}; fill these cells"
        )
