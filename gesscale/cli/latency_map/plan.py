"""``latency-map plan``: scripts that give real nodes the round trips of a map."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, Symmetry, Unit
from gesscale.cli.output import stderr_console, warn
from gesscale.common.errors import Problem, cause_of
from gesscale.errors import InputError
from latency_map.emulate import DEVICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from latency_map.emulate.hosts import Host
    from latency_map.emulate.plan import EmulationPlan, NodePlan

#: Largest size of a file in bytes: some thousand nodes in the output of kubectl.
MAX_BYTES = 64 << 20

#: Annotations of flannel, after its prefix: the addresses to which it sends the packets of a node's pods.
_FLANNEL_ADDRESSES = ("public-ip", "public-ip-overwrite", "public-ipv6", "public-ipv6-overwrite")

app = typer.Typer()


@app.command(
    rich_help_panel="Use a map",
    epilog="Example: gesscale latency-map plan map.json --addresses hosts.csv --directory scripts",
)
def plan(
    file: MapFile,
    *,
    addresses: Annotated[
        Path,
        typer.Option(
            metavar="HOSTS",
            help="Addresses of the nodes: CSV with name and address, or the output of kubectl get nodes -o json.",
        ),
    ],
    directory: Annotated[Path, typer.Option(help="Directory for apply-NODE.sh and undo-NODE.sh of every node.")],
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    device: Annotated[str, typer.Option(help="Network device of the nodes, if the hosts do not state it.")] = DEVICE,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Skip pairs without a round trip and nodes without a host.")
    ] = False,
    keep_for: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Time after which each node removes the delays: 90s, 30m, 2h."),
    ] = None,
    pod_networks: Annotated[
        bool,
        typer.Option(
            "--pod-networks", help="Also delay the pod addresses of the nodes of kubectl: for host-gw of flannel."
        ),
    ] = False,
) -> None:
    """Write scripts for each node that delay its packets to the others as in the map, and remove the delays.

    Each side adds half of a round trip; packets to other addresses are not delayed.
    """
    from gesscale.cli.latency_map.map_files import load_survey, map_of
    from latency_map.emulate.plan import plan_emulation

    undo_after_s = None if keep_for is None else _parse_time_s(keep_for)
    imported = load_survey(file, unit, kind)
    latencies = map_of(imported, file, asymmetry)
    hosts = read_hosts(addresses, device, pod_networks=pod_networks)
    planned = plan_emulation(latencies, hosts, skip_missing=skip_missing)
    warn(_halved(imported.notes))
    _warn_of_skipped(planned)
    _write_scripts(planned.nodes, directory, undo_after_s)


def read_hosts(file: Path, device: str, *, pod_networks: bool = False) -> "tuple[Host, ...]":
    """Read a CSV file of hosts, or the output of ``kubectl get nodes -o json``, optionally with its pod networks.

    Raises
    ------
    LatencyMapError
        The CSV file is invalid.
    InputError
        The file cannot be read, or is not the output of kubectl.
    """
    from gesscale.common.yaml_text import read_text
    from latency_map.emulate.hosts import parse_hosts
    from latency_map.formats.json_text import parse_json

    try:
        text = read_text(file, max_bytes=MAX_BYTES)
    except OSError as error:
        raise InputError("hosts-unreadable", source=str(file), cause=cause_of(error)) from None
    if not text.lstrip().startswith("{"):
        return parse_hosts(text, str(file), device=device)
    content = parse_json(text, str(file))
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise InputError("kubectl-nodes-invalid", source=str(file), cause="it has no items")
    return tuple(_to_host(item, str(file), device, pod_networks=pod_networks) for item in items)


def _to_host(item: Any, source: str, device: str, *, pod_networks: bool) -> "Host":
    """Return the host of a Kubernetes node, with all addresses to which other nodes send."""
    from gesscale.kubernetes.placement.nodes import read_node, texts_of
    from gesscale.wire import group_of
    from latency_map.emulate.hosts import Host

    try:
        node = read_node(item)
    except InputError as error:
        raise InputError("kubectl-nodes-invalid", source=source, cause=str(error)) from None
    if not node.address:
        raise InputError("kubectl-address-missing", source=source, node=node.name)
    annotations = texts_of(group_of(item, "metadata"), "annotations")
    of_flannel = [text for key, text in annotations.items() if key.rpartition("/")[2] in _FLANNEL_ADDRESSES]
    first, *others = dict.fromkeys((*node.addresses, *of_flannel))
    networks = (*others, *(node.pod_networks if pod_networks else ()))
    return Host(name=node.name, address=first, device=device, networks=networks)


def _parse_time_s(text: str) -> int:
    """Parse a duration such as ``90s``, ``30m`` or ``2h`` to whole seconds."""
    from gesscale.fields import parse_duration_s

    try:
        return round(parse_duration_s(text, min_s=1.0))
    except ValueError as error:
        raise InputError("duration-option-invalid", source="--for", cause=str(error)) from None


def _halved(notes: "Sequence[Problem]") -> "Iterator[Problem]":
    """Yield a warning if one-way delays differ by direction: each direction gets half of their sum."""
    pairs = sum(note.fields["asymmetric_pairs"] for note in notes if note.code == "import-delays-combined")
    if pairs:
        yield Problem("emulation-directions-halved", {"count": pairs})


def _warn_of_skipped(planned: "EmulationPlan") -> None:
    """Report the pairs and nodes that a plan omits."""
    warn(Problem("emulation-pair-skipped", {"first": a, "second": b}) for a, b in planned.skipped)
    warn(Problem("emulation-node-skipped", {"node": name}) for name in planned.unused)


def _write_scripts(nodes: "tuple[NodePlan, ...]", directory: Path, undo_after_s: int | None) -> None:
    from latency_map.emulate.script import ScriptAction, render_script, script_name

    directory.mkdir(parents=True, exist_ok=True)
    for node in nodes:
        for action in ScriptAction:
            script = directory / script_name(action, node.host.name)
            script.write_text(render_script(node, action, undo_after_s=undo_after_s), encoding="utf-8")
            script.chmod(0o755)
    stderr_console.print(f"wrote {2 * len(nodes)} scripts to {directory}: run apply-NODE.sh on each node as root")
