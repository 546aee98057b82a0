"""Files that say what nodes there are, and where: lists of ours, or what ``kubectl get nodes -o json`` writes."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gesscale.cli.output import stderr_console
from gesscale.common.text import glimpse
from gesscale.common.yaml_text import parse_yaml, read_text
from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import NodeRecord, Quantity, Room, read_node
from gesscale.kubernetes.placement.pods import PodRecord, read_pod
from gesscale.words import first_fault
from latency_map.choose.candidates import Candidate
from latency_map.emulate.hosts import Host, parse_hosts
from latency_map.formats.json_text import parse_json

MAX_BYTES = 64 << 20
"""Most bytes of a file: some thousand pods, as kubectl prints them."""

_SOME_NODES = "expected a list of nodes, each with a name, or the output of kubectl get nodes -o json"
_SOME_PODS = "expected the output of kubectl get pods -A -o json"

_ZONE = "topology.kubernetes.io/zone"

T = TypeVar("T")


class NodeRow(BaseModel):
    """A node of the list; only its name is needed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    ready: bool = True
    schedulable: bool = True
    free_cpus: Quantity | None = None
    free_memory: Quantity | None = None
    arch: str | None = None
    zone: str | None = None
    labels: dict[str, str] = {}
    remark: str = ""

    def candidate(self) -> Candidate:
        """Return the node as it can be judged; its zone is one of its labels."""
        zone = {} if self.zone is None else {"zone": self.zone}
        return Candidate(
            name=self.name,
            weight=self.weight,
            ready=self.ready,
            schedulable=self.schedulable,
            free_cpus=None if self.free_cpus is None else float(self.free_cpus),
            free_memory_bytes=None if self.free_memory is None else float(self.free_memory),
            arch=self.arch,
            labels={**zone, **self.labels},
            remark=self.remark,
        )


def read_nodes(file: Path, pods: Path | None) -> tuple[Candidate, ...]:
    """Read what nodes there are; say on stderr where they are taken to be empty.

    Parameters
    ----------
    file
        A list of `NodeRow` in YAML or JSON, or the output of ``kubectl get nodes -o json``.
    pods
        The output of ``kubectl get pods -A -o json``, for the room that is taken; None where it is not known.

    Raises
    ------
    InputError
        A file cannot be read, is not of that form, or names a node twice.
    """
    document = _read(file)
    if isinstance(document, dict):
        if pods is None:
            stderr_console.print(
                f"note: the nodes of {file} are taken to be empty; --pods says what takes room there"
            )
        taking = () if pods is None else _items(read_pod, _read(pods), pods, _SOME_PODS)
        nodes = _to_candidates(_items(read_node, document, file, _SOME_NODES), taking)
    elif pods is not None:
        message = (
            f"{pods}: expected it together with the output of kubectl get nodes -o json, got a list in {file}"
        )
        raise InputError(f"{message}; state free_cpus and free_memory there")
    else:
        nodes = [row.candidate() for row in _rows(document, file)]
    names = [node.name for node in nodes]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"{file}: expected every node once, got {', '.join(twice)} twice"
        raise InputError(message)
    return tuple(nodes)


def read_hosts(file: Path, device: str, *, pod_networks: bool = False) -> tuple[Host, ...]:
    """Read a file of hosts, or what ``kubectl get nodes -o json`` prints.

    Parameters
    ----------
    pod_networks
        Take the pod network of each Kubernetes node too: needed where pods' packets are not wrapped into
        packets between nodes, as with flannel's host-gw.

    Raises
    ------
    InputError
        It cannot be read, or is none.
    """
    try:
        text = read_text(file, max_bytes=MAX_BYTES)
    except OSError as error:
        message = f"{file}: expected a file of hosts: {error.strerror}"
        raise InputError(message) from None
    if (nodes := _kubectl_items(text)) is None:
        return parse_hosts(text, str(file), device=device)
    return tuple(_to_host(each, str(file), device, pod_networks=pod_networks) for each in nodes)


def _rows(document: object, file: Path) -> list[NodeRow]:
    try:
        return TypeAdapter(list[NodeRow]).validate_python(document)
    except ValidationError as error:
        message = f"{file}: {_SOME_NODES}; {first_fault(error)}"
        raise InputError(message) from None


def _items(read: Callable[[Mapping[str, Any]], T], document: object, file: Path, expected: str) -> list[T]:
    """Read the items of a list that kubectl has printed."""
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        message = f"{file}: {expected}; got {glimpse(document)}"
        raise InputError(message)
    try:
        return [read(item) for item in items]
    except InputError as error:
        message = f"{file}: {expected}; {error}"
        raise InputError(message) from None


def _read(file: Path) -> object:
    try:
        return _parse_listing(read_text(file, max_bytes=MAX_BYTES), str(file))
    except OSError as error:
        message = f"{file}: {error.strerror or error}; name an existing file"
        raise InputError(message) from None


def _parse_listing(text: str, source: str) -> Any:
    """Read JSON, as kubectl prints it, or else YAML."""
    return parse_json(text, source) if text.lstrip().startswith("{") else parse_yaml(text, source)


def _to_candidates(nodes: Iterable[NodeRecord], pods: Iterable[PodRecord]) -> list[Candidate]:
    """Judge nodes by what the cluster says of them; without pods they are taken to be empty.

    A node weighs as much as it has free CPUs. One with a taint NoSchedule or NoExecute takes no new work.
    """
    taken: dict[str, Room] = {}
    for pod in pods:
        if not pod.over:
            taken[pod.node] = taken.get(pod.node, Room()) + pod.takes
    return [_candidate(node, taken.get(node.name, Room())) for node in nodes]


def _candidate(node: NodeRecord, taken: Room) -> Candidate:
    zone = {"zone": node.labels[_ZONE]} if _ZONE in node.labels else {}
    free = None if node.room is None else node.room.without(taken)
    return Candidate(
        name=node.name,
        weight=free.cpu_m / 1000 if free else 0.0,
        ready=not node.unready,
        schedulable=not node.closed,
        free_cpus=free.cpu_m / 1000 if free else None,
        free_memory_bytes=float(free.memory_bytes) if free else None,
        arch=node.architecture or None,
        labels={**zone, **node.labels},
        remark=node.unready or node.closed,
    )


def _kubectl_items(text: str) -> list[Any] | None:
    """Return the items of a list that kubectl has printed; None where the text is none."""
    if "items" not in text:
        return None
    try:
        content = _parse_listing(text, "")
    except InputError:
        return None
    items = content.get("items") if isinstance(content, dict) else None
    return items if isinstance(items, list) else None


def _to_host(item: Mapping[str, Any], source: str, device: str, *, pod_networks: bool) -> Host:
    """Return a node of ``kubectl get nodes -o json`` as a machine in a network, at its internal address."""
    try:
        node = read_node(item)
    except InputError as error:
        message = f"{source}: expected what kubectl get nodes -o json prints: {error}"
        raise InputError(message) from None
    if not node.address:
        message = f"{source}: expected an address of type InternalIP for node {node.name!r}, got none"
        raise InputError(message)
    networks = node.pod_networks if pod_networks else ()
    return Host(name=node.name, address=node.address, device=device, networks=networks)
