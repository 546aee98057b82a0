"""``latency-map plan``: the scripts that give real nodes the round trips of a map."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, Symmetry, Unit
from gesscale.cli.output import stderr_console
from gesscale.errors import InputError
from latency_map.emulate import DEVICE

if TYPE_CHECKING:
    from latency_map.emulate.hosts import Host
    from latency_map.emulate.plan import EmulationPlan, NodePlan

#: Most bytes of a file: some thousand nodes, as kubectl prints them.
MAX_BYTES = 64 << 20

app = typer.Typer()


@app.command(
    rich_help_panel="Decide and emulate by it",
    epilog="Example: gesscale latency-map plan map.json --addresses hosts.csv --directory scripts",
)
def plan(
    file: MapFile,
    *,
    addresses: Annotated[
        Path,
        typer.Option(
            metavar="HOSTS",
            help="Where the nodes are: CSV with name and address, or the output of kubectl get nodes -o json.",
        ),
    ],
    directory: Annotated[Path, typer.Option(help="Where apply-NODE.sh and undo-NODE.sh of every node are written.")],
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    device: Annotated[str, typer.Option(help="The nodes' network device, where the hosts do not say it.")] = DEVICE,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave pairs without a round trip and nodes without a host alone.")
    ] = False,
    keep_for: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Each node undoes it by itself after this long: 90s, 30m, 2h."),
    ] = None,
    pod_networks: Annotated[
        bool,
        typer.Option(
            "--pod-networks", help="Of kubectl's nodes, delay pods' own addresses too: for flannel's host-gw."
        ),
    ] = False,
) -> None:
    """Write scripts by which each node delays its packets to every other as the map says, and stops it.

    Half of each round trip is added on either side; packets to other addresses are not touched.
    """
    from gesscale.cli.latency_map.map_files import load_map
    from latency_map.emulate.plan import plan_emulation

    undo_after_s = None if keep_for is None else _parse_time_s(keep_for)
    latencies = load_map(file, unit, kind, asymmetry)
    hosts = read_hosts(addresses, device, pod_networks=pod_networks)
    planned = plan_emulation(latencies, hosts, skip_missing=skip_missing)
    _print_left_out(planned)
    _write_scripts(planned.nodes, directory, undo_after_s)


def read_hosts(file: Path, device: str, *, pod_networks: bool = False) -> "tuple[Host, ...]":
    """Read a file of hosts, or what ``kubectl get nodes -o json`` prints, of which pod networks are taken if asked.

    Raises
    ------
    LatencyMapError
        It is none.
    InputError
        It cannot be read, or is not what kubectl prints.
    """
    from gesscale.common.yaml_text import read_text
    from latency_map.emulate.hosts import parse_hosts
    from latency_map.formats.json_text import parse_json

    try:
        text = read_text(file, max_bytes=MAX_BYTES)
    except OSError as error:
        raise InputError(f"{file}: expected a file of hosts: {error.strerror}") from None
    if not text.lstrip().startswith("{"):
        return parse_hosts(text, str(file), device=device)
    content = parse_json(text, str(file))
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise InputError(f"{file}: expected what kubectl get nodes -o json prints, got JSON without items")
    return tuple(_to_host(item, str(file), device, pod_networks=pod_networks) for item in items)


def _to_host(item: Any, source: str, device: str, *, pod_networks: bool) -> "Host":
    """Return a node of Kubernetes as a machine in a network, at its internal address."""
    from gesscale.kubernetes.placement.nodes import read_node
    from latency_map.emulate.hosts import Host

    try:
        node = read_node(item)
    except InputError as error:
        raise InputError(f"{source}: expected what kubectl get nodes -o json prints: {error}") from None
    if not node.address:
        raise InputError(f"{source}: expected an address of type InternalIP for node {node.name!r}, got none")
    networks = node.pod_networks if pod_networks else ()
    return Host(name=node.name, address=node.address, device=device, networks=networks)


def _parse_time_s(text: str) -> int:
    """Return whole seconds of a duration such as ``90s``, ``30m`` or ``2h``."""
    from gesscale.fields import parse_duration_s

    try:
        return round(parse_duration_s(text, min_s=1.0))
    except ValueError as error:
        raise InputError(f"--for: {error}") from None


def _print_left_out(planned: "EmulationPlan") -> None:
    """Say on stderr what a plan cannot do."""
    for first, second in planned.skipped:
        stderr_console.print(f"warning: {first} - {second} has no round trip in the map and stays as it is")
    for name in planned.unused:
        stderr_console.print(f"warning: {name} is left alone: it is not in both the map and the hosts")


def _write_scripts(nodes: "tuple[NodePlan, ...]", directory: Path, undo_after_s: int | None) -> None:
    from latency_map.emulate.script import ScriptAction, render_script, script_name

    directory.mkdir(parents=True, exist_ok=True)
    for node in nodes:
        for action in ScriptAction:
            script = directory / script_name(action, node.host.name)
            script.write_text(render_script(node, action, undo_after_s=undo_after_s), encoding="utf-8")
            script.chmod(0o755)
    stderr_console.print(f"wrote {2 * len(nodes)} scripts to {directory}: run apply-NODE.sh on each node as root")
