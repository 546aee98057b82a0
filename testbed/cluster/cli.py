"""``testbed up``, ``check``, ``status``, ``down``: the commands of the local cluster."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, report_problems, stderr_console, table
from gesscale.common.errors import Problem
from testbed.cluster.delay_backend import DelayBackend
from testbed.kubernetes.cli import ClusterName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testbed.cluster.check import PairCheck

app = typer.Typer()


@app.command(epilog="Example: testbed up edge8")
def up(
    topology: Annotated[str, typer.Argument(help="A topology file, or the name of a bundled one.")] = "edge8",
    delays: Annotated[DelayBackend, typer.Option(help="Mechanism that delays packets.")] = DelayBackend.AUTO,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring a cluster up; do nothing if it is up and healthy."""
    from testbed.cluster import lifecycle, privilege
    from testbed.cluster.topology import read_topology

    described = read_topology(topology)
    privilege.enter()
    fresh = lifecycle.up(described, delays_by=delays)
    stderr_console.print(f"cluster {described.name} is up" if fresh else f"cluster {described.name} was up already")
    _show(described.name, output)


@app.command(epilog="Example: testbed check -o json")
def check(
    name: ClusterName = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Echoes per pair of nodes.")] = 5,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the delay of every pair of nodes with the map; exits 3 beyond 2 ms or 5 %."""
    from testbed.cluster import privilege, state
    from testbed.cluster.check import check_pairs

    privilege.enter()
    _, topology = state.load(state.only_cluster(name))
    _emit_checks(topology.name, check_pairs(topology, count=count), output)


@app.command(epilog="Example: testbed status")
def status(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Show nodes and processes of a cluster; exits 3 if it is unhealthy."""
    from testbed.cluster import privilege, state

    privilege.enter()
    _show(state.only_cluster(name), output)


@app.command(epilog="Example: testbed down --all")
def down(
    name: ClusterName = None,
    all_: Annotated[bool, typer.Option("--all", help="All clusters of this user.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take a cluster down, and remove the leftovers of a crash; succeeds if there is nothing to remove."""
    from testbed.cluster import lifecycle, privilege, state
    from testbed.kubernetes import control_groups

    privilege.enter()
    names = state.cluster_names()
    if name is not None or (names and not all_):
        names = (state.only_cluster(name),)
    removed = {each: lifecycle.down(each) for each in names}
    for each in names:
        control_groups.remove(each)  # only a Kubernetes cluster has some
    privilege.release()
    rows = [(each, counts.processes, counts.network_parts) for each, counts in removed.items()]
    emit(removed, output, [table("removed", ("cluster", "processes", "namespaces and devices"), rows)])


def _show(name: str, output: Output) -> None:
    from collections import Counter

    from gesscale.common.shell import command_line
    from testbed.cluster import lifecycle
    from testbed.cluster.namespaces import inside
    from testbed.cluster.processes import Role

    present = lifecycle.status(name)
    topology = present.topology
    replicas = Counter(process.mark.node for process in present.running if process.mark.role is Role.EXECUTOR)
    nodes = [
        {
            "name": node.name,
            "address": node.address,
            "class": node.node_class,
            "weight": node.weight,
            "price": node.price,
            "rtt_to_driver_ms": topology.rtt_ms(node.name, topology.driver_node),
            "replicas": replicas[node.name],
            "enter": command_line(inside(name, node.name, ())),
        }
        for node in topology.nodes
    ]
    document = {
        "cluster": name,
        "delays": present.delays,
        "problem": present.problem or None,
        "driver_node": topology.driver_node,
        "control_address": topology.control_address,
        "nodes": nodes,
        "processes": [
            {"pid": p.pid, "role": p.mark.role, "node": p.mark.node, "operator": p.mark.operator}
            for p in present.running
        ],
    }
    columns = ("node", "address", "class", "weight", "price", "to driver ms", "replicas")
    rows = [tuple(list(node.values())[:7]) for node in nodes]
    title = f"{name}: delays by {present.delays.value}, driver on {topology.driver_node}"
    emit(document, output, [table(title, columns, rows)])
    if present.problem:
        report_problems(Problem("cluster-unhealthy", {"cluster": name, "cause": present.problem}))
        raise typer.Exit(3)


def _emit_checks(name: str, pairs: "Sequence[PairCheck]", output: Output) -> None:
    """Write the measured pairs to stdout; exit 3 if one is out of tolerance."""
    wrong = [pair for pair in pairs if not pair.ok]
    columns = ("from", "to", "map ms", "median ms", "error ms", "min ms", "spread ms", "lost", "ok")
    documents = [{"from": pair.first, "to": pair.second} | asdict(pair) for pair in pairs]
    shown = ("from", "to", "expected_ms", "measured_ms", "error_ms", "min_ms", "spread_ms", "lost")
    rows = [(*(each[name] for name in shown), "yes" if each["ok"] else "NO") for each in documents]
    for each in documents:
        del each["first"], each["second"]
    document = {"cluster": name, "ok": not wrong, "pairs": documents}
    emit(document, output, [table(f"round trips of {name}", columns, rows)])
    if wrong:
        noisy = sum(pair.min_ok for pair in wrong)
        report_problems(Problem("delays-off-map", {"wrong": len(wrong), "pairs": len(pairs), "noisy": noisy}))
        raise typer.Exit(3)
