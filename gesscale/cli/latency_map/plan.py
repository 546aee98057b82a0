"""``latency-map plan``: the tc commands that give real nodes the round trips of a map."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, Symmetry, Unit
from gesscale.cli.output import Output, emit, stderr_console, table
from gesscale.errors import InputError
from latency_map.emulate import DEVICE, RATE_MBIT

if TYPE_CHECKING:
    from rich.table import Table

    from latency_map import LatencyMap
    from latency_map.emulate.plan import EmulationPlan, NodePlan

app = typer.Typer()


class PlanForm(StrEnum):
    """How a plan is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    SH = "sh"


@app.command(
    rich_help_panel="Decide and emulate by it",
    epilog="Example: gesscale latency-map plan map.json --addresses hosts.csv --directory scripts",
)
def plan(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    addresses: Annotated[
        Path | None,
        typer.Option(
            metavar="HOSTS",
            help="Where the nodes are: CSV or YAML, name and address; or the output of kubectl get nodes -o json.",
        ),
    ] = None,
    subnet: Annotated[
        str | None, typer.Option(help="Or a network whose addresses they have in their order.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="The nodes' network device, where the hosts do not say it.")
    ] = DEVICE,
    measured: Annotated[
        Path | None,
        typer.Option(metavar="MAP", help="The real network's own round trips, which are taken off."),
    ] = None,
    rate_mbit: Annotated[
        int, typer.Option(help="Limit to each other node, Mbit/s; above your links.")
    ] = RATE_MBIT,
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing", help="Leave pairs without a round trip and nodes without a host alone."
        ),
    ] = False,
    keep_for: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="Each node undoes it by itself after this long: 90s, 30m, 2h."
        ),
    ] = None,
    pod_networks: Annotated[
        bool,
        typer.Option(
            "--pod-networks", help="Of kubectl's nodes, delay pods' own addresses too: for flannel's host-gw."
        ),
    ] = False,
    node: Annotated[str | None, typer.Option(help="Of this node only.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Write what takes the delays away.")] = False,
    directory: Annotated[
        Path | None, typer.Option(help="Write apply-NODE.sh and undo-NODE.sh of every node there.")
    ] = None,
    output: Annotated[
        PlanForm,
        typer.Option("--output", "-o", help="How the result is written; sh is the script of one node."),
    ] = PlanForm.TABLE,
) -> None:
    """Write the tc commands with which each node delays its packets to every other as the map says.

    Half of each round trip is added on either side; packets to other addresses are not touched.
    """
    from gesscale.cli.latency_map.nodes_file import read_hosts
    from gesscale.cli.latency_map.reading import load_map
    from latency_map.emulate.hosts import number_hosts
    from latency_map.emulate.plan import tc_plan
    from latency_map.emulate.script import ScriptAction, render_script

    undo_after_s = None if keep_for is None else _parse_time_s(keep_for)
    latencies = load_map(file, unit, kind, asymmetry)
    if (addresses is None) == (subnet is None):
        message = "expected one of --addresses HOSTS and --subnet NETWORK, so that nodes can be distinguished"
        raise InputError(message)
    if addresses is not None:
        hosts = read_hosts(addresses, device, pod_networks=pod_networks)
    else:
        hosts = number_hosts(latencies.names, subnet or "", device=device)
    own = None if measured is None else _load_measured(measured)
    planned = tc_plan(latencies, hosts, own=own, rate_mbit=rate_mbit, skip_missing=skip_missing)
    chosen = planned.nodes if node is None else (planned.node(node),)
    _print_left_out(planned)
    if directory is not None:
        _write_scripts(chosen, directory, undo_after_s)
    if output is PlanForm.SH:
        if len(chosen) > 1:
            message = (
                "--output sh: expected one node, as every node has a script of its own; name it with --node"
            )
            raise InputError(message + ", or write all of them with --directory")
        action = ScriptAction.UNDO if undo else ScriptAction.APPLY
        typer.echo(render_script(chosen[0], action, undo_after_s=undo_after_s), nl=False)
    elif directory is None or output is not PlanForm.TABLE:
        if output is PlanForm.TABLE:
            stderr_console.print(
                "the commands: --output sh --node NODE, or --directory DIR for the scripts of all nodes"
            )
        tables = [_undo_table(chosen)] if undo else [_node_table(each) for each in chosen]
        emit(_document(planned, chosen), Output(output.value), tables)


def _parse_time_s(text: str) -> int:
    """Return seconds of a time such as ``90s``, ``30m`` or ``2h``."""
    match = re.fullmatch(r"(\d{1,6})([smh]?)", text.strip())
    seconds = int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    if not seconds:
        message = f"expected a time such as 90s, 30m or 2h, got {text!r}"
        raise InputError(message)
    return seconds


def _load_measured(file: Path) -> "LatencyMap":
    from gesscale.cli.latency_map.reading import load_map
    from latency_map import Asymmetry, LatencyMapError

    try:
        return load_map(file, None, None, Asymmetry.MEAN)
    except LatencyMapError as error:
        message = (
            f"--measured: {error}; a map that gesscale latency-map import or measure wrote says all of it"
        )
        raise LatencyMapError(message) from None


def _print_left_out(planned: "EmulationPlan") -> None:
    """Say on stderr what a plan cannot do."""
    for pair in planned.too_fast:
        stderr_console.print(
            f"warning: {pair.first} - {pair.second} cannot be met: {pair.asked_ms:g} ms are asked, the network"
            f" itself has {pair.own_ms:g} ms"
        )
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
    stderr_console.print(
        f"wrote {2 * len(nodes)} scripts to {directory}: run apply-NODE.sh on each node as root"
    )


def _node_table(node: "NodePlan") -> "Table":
    from latency_map.emulate.tc import ROOT

    columns = ("to", "address", "round trip ms", "own ms", "added here ms", "class")
    rows = [
        (
            delay.to.name,
            " ".join(delay.to.destinations),
            delay.asked_ms,
            delay.own_ms,
            delay.one_way_us / 1000,
            f"{ROOT}{delay.class_id:x}",
        )
        for delay in node.delays
    ]
    host = node.host
    return table(f"{host.name} ({host.address}, {host.device}) delays what it sends", columns, rows)


def _undo_table(nodes: "tuple[NodePlan, ...]") -> "Table":
    from gesscale.common.text import command_line
    from latency_map.emulate.tc import undo_commands

    rows = [(node.host.name, command_line(command)) for node in nodes for command in undo_commands(node)]
    return table("what takes the delays away", ("node", "command"), rows)


def _document(planned: "EmulationPlan", nodes: "tuple[NodePlan, ...]") -> dict[str, object]:
    from gesscale.common.text import command_line
    from latency_map.emulate.tc import apply_commands, undo_commands

    return {
        "nodes": [
            {
                "node": node.host.name,
                "address": node.host.address,
                "device": node.host.device,
                "delays": [
                    {
                        "to": delay.to.name,
                        "destinations": delay.to.destinations,
                        "rtt_ms": delay.asked_ms,
                        "own_ms": delay.own_ms,
                        "added_ms": delay.one_way_us / 1000,
                    }
                    for delay in node.delays
                ],
                "apply": [command_line(command) for command in apply_commands(node)],
                "undo": [command_line(command) for command in undo_commands(node)],
            }
            for node in nodes
        ],
        "too_fast": planned.too_fast,
        "skipped": planned.skipped,
        "unused": planned.unused,
    }
