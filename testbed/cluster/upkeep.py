"""``testbed up``, ``prepare``, ``check``, ``status``, ``down``: the local cluster."""

from collections import Counter

import typer

from gesscale.cli.output import Output, emit, stderr_console, table
from latency_map.shell import command_line
from testbed.cluster import lifecycle, privilege, relay_link, spark_archive, state
from testbed.cluster.check import check_pairs
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Role
from testbed.cluster.topology import read_topology
from testbed.emulation.report import emit_checks
from testbed.kubernetes import control_groups


def bring_up(*, topology: str, delays: DelayBackend, output: Output) -> None:
    """Bring a cluster up; does nothing where it is up and well."""
    wanted = read_topology(topology)
    privilege.enter()
    fresh = lifecycle.up(wanted, source=topology, delays=delays)
    stderr_console.print(
        f"cluster {wanted.name!r} is up" if fresh else f"cluster {wanted.name!r} was up already"
    )
    _show(wanted.name, output)


def prepare_once() -> None:
    """Make once what saves time later: the compiled relay, the archive of Spark's classes (half a minute)."""
    compiled = relay_link.compiled_relay(relay_link.find_compiler())
    stderr_console.print(
        "relay: compiled" if compiled else "relay: no C compiler here, the Python one will do"
    )
    made = spark_archive.prepare_archive()
    stderr_console.print(f"Spark's classes: {'archived' if made else 'archived already'}")


def check_delays(*, name: str | None, count: int, output: Output) -> None:
    """Measure every pair of nodes against the map; exits 3 beyond 2 ms or 5 %."""
    privilege.enter()
    _, topology = state.load(state.only_cluster(name))
    emit_checks(topology.name, check_pairs(topology, count=count), output)


def show_status(*, name: str | None, output: Output) -> None:
    """Show nodes and processes of a cluster; exits 3 where something is wrong with it."""
    privilege.enter()
    _show(state.only_cluster(name), output)


def take_down(*, name: str | None, all_: bool, output: Output) -> None:
    """Take a cluster down, and whatever a crash left of it; nothing to do is no error."""
    privilege.enter()
    names = state.cluster_names()
    if name is not None or (names and not all_):
        names = (state.only_cluster(name),)
    swept = {each: lifecycle.down(each) for each in names}
    for each in names:
        control_groups.remove(each)  # of a Kubernetes on it; elsewhere there are none
    privilege.release()
    rows = [(each, found.processes, found.network_parts) for each, found in swept.items()]
    emit(swept, output, [table("removed", ("cluster", "processes", "namespaces and devices"), rows)])


def _show(name: str, output: Output) -> None:
    present = lifecycle.status(name)
    topology = present.topology
    replicas = Counter(process.mark.node for process in present.running if process.mark.role is Role.EXECUTOR)
    nodes = [
        {
            "name": node.name,
            "address": node.address,
            "class": node.node_class,
            "weight": node.weight,
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
    columns = ("node", "address", "class", "weight", "to driver ms", "replicas")
    rows = [tuple(list(node.values())[:6]) for node in nodes]
    title = f"{name}: delays by {present.delays.value}, driver on {topology.driver_node}"
    emit(document, output, [table(title, columns, rows)])
    if present.problem:
        stderr_console.print(f"{name}: {present.problem}; run: testbed up {name}")
        raise typer.Exit(3)
