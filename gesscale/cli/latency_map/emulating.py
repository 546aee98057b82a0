"""``gesscale latency-map plan``: the tc commands that give real nodes the round trips of a map."""

from pathlib import Path

import typer
from rich.table import Table

from gesscale.cli.latency_map.planning import parse_time_s, plan_for, print_left_out, read_hosts
from gesscale.cli.latency_map.reading import load_map, plain_errors
from gesscale.cli.latency_map.use import PlanForm
from gesscale.cli.output import Output, emit, stderr_console, table
from gesscale.common.text import command_line
from gesscale.errors import InputError
from latency_map import LatencyMap
from latency_map.emulate.hosts import Host, number_hosts
from latency_map.emulate.plan import EmulationPlan, NodePlan
from latency_map.emulate.script import ScriptAction, render_script, script_name
from latency_map.emulate.tc import ROOT, apply_commands, undo_commands
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit


def write_plan(
    *,
    file: Path,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    asymmetry: Asymmetry | None,
    addresses: Path | None,
    subnet: str | None,
    device: str,
    measured: Path | None,
    rate_mbit: int,
    skip_missing: bool,
    keep_for: str | None,
    pod_networks: bool,
    node: str | None,
    undo: bool,
    directory: Path | None,
    output: PlanForm,
) -> None:
    """Write the tc commands with which each node delays its packets to every other as the map says."""
    undo_after_s = None if keep_for is None else parse_time_s(keep_for)
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        hosts = _hosts(latencies, addresses, subnet, device, pod_networks=pod_networks)
        planned = plan_for(
            latencies, hosts, measured=measured, rate_mbit=rate_mbit, skip_missing=skip_missing
        )
        chosen = planned.nodes if node is None else (planned.node(node),)
    print_left_out(planned)
    if directory is not None:
        _write_scripts(chosen, directory, undo_after_s)
    action = ScriptAction.UNDO if undo else ScriptAction.APPLY
    if output is PlanForm.SH:
        if len(chosen) > 1:
            message = (
                "--output sh: expected one node, as every node has a script of its own; name it with --node"
            )
            raise InputError(message + ", or write all of them with --directory")
        typer.echo(render_script(chosen[0], action, undo_after_s=undo_after_s), nl=False)
    elif directory is None or output is not PlanForm.TABLE:
        if output is PlanForm.TABLE:
            stderr_console.print(
                "the commands: --output sh --node NODE, or --directory DIR for the scripts of all nodes"
            )
        tables = [_undo_table(chosen)] if undo else [_node_table(each) for each in chosen]
        emit(_document(planned, chosen), Output(output.value), tables)


def _hosts(
    latencies: LatencyMap, addresses: Path | None, subnet: str | None, device: str, *, pod_networks: bool
) -> tuple[Host, ...]:
    if (addresses is None) == (subnet is None):
        message = "expected one of --addresses HOSTS and --subnet NETWORK, so that nodes can be distinguished"
        raise InputError(message)
    if addresses is not None:
        return read_hosts(addresses, device, pod_networks=pod_networks)
    return number_hosts(latencies.names, subnet or "", device=device)


def _write_scripts(nodes: tuple[NodePlan, ...], directory: Path, undo_after_s: int | None) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for node in nodes:
        for action in ScriptAction:
            script = directory / script_name(action, node.host.name)
            script.write_text(render_script(node, action, undo_after_s=undo_after_s), encoding="utf-8")
            script.chmod(0o755)
    stderr_console.print(
        f"wrote {2 * len(nodes)} scripts to {directory}: run apply-NODE.sh on each node as root"
    )


def _node_table(node: NodePlan) -> Table:
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


def _undo_table(nodes: tuple[NodePlan, ...]) -> Table:
    rows = [(node.host.name, command_line(command)) for node in nodes for command in undo_commands(node)]
    return table("what takes the delays away", ("node", "command"), rows)


def _document(planned: EmulationPlan, nodes: tuple[NodePlan, ...]) -> dict[str, object]:
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
