"""``testbed``, also ``gesscale testbed``: the commands of the local cluster."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.ending import end_as_ctrl_c_does
from gesscale.cli.output import Output, console, emit, stderr_console, table
from gesscale.errors import InputError
from latency_map.shell import command_line
from testbed.cluster import lifecycle, privilege, relay_link, spark_archive, state
from testbed.cluster.check import check_pairs
from testbed.cluster.lifecycle import DelayBackend
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Role
from testbed.cluster.topology import read_topology
from testbed.emulation.cli import apply
from testbed.emulation.report import emit_checks
from testbed.kubernetes import control_groups
from testbed.kubernetes.cli import ClusterName, OutputOption
from testbed.kubernetes.cli import app as kubernetes_app
from testbed.league.command import league

app = typer.Typer(
    name="testbed",
    help="Emulated edge nodes on this machine: network namespaces, a delay between every two of them; and the\n"
    "delays of a map on real nodes.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 a check failed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def up(
    topology: Annotated[str, typer.Argument(help="A topology file, or the name of a bundled one.")] = "edge8",
    delays: Annotated[DelayBackend, typer.Option(help="What makes the delays.")] = DelayBackend.AUTO,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring a cluster up; does nothing where it is up and well."""
    wanted = read_topology(topology)
    privilege.enter()
    fresh = lifecycle.up(wanted, source=topology, delays=delays)
    stderr_console.print(
        f"cluster {wanted.name!r} is up" if fresh else f"cluster {wanted.name!r} was up already"
    )
    _show(wanted.name, output)


@app.command()
def prepare() -> None:
    """Make once what saves time later: the compiled relay, the archive of Spark's classes (half a minute)."""
    compiled = relay_link.compiled_relay(relay_link.find_compiler())
    stderr_console.print(
        "relay: compiled" if compiled else "relay: no C compiler here, the Python one will do"
    )
    made = spark_archive.prepare_archive()
    stderr_console.print(f"Spark's classes: {'archived' if made else 'archived already'}")


@app.command()
def check(
    name: ClusterName = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Echoes per pair of nodes.")] = 5,
    output: OutputOption = Output.TABLE,
) -> None:
    """Measure every pair of nodes against the map; exits 3 beyond 2 ms or 5 %."""
    privilege.enter()
    _, topology = state.load(state.only_cluster(name))
    emit_checks(topology.name, check_pairs(topology, count=count), output)


@app.command()
def status(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Show nodes and processes of a cluster; exits 3 where something is wrong with it."""
    privilege.enter()
    _show(state.only_cluster(name), output)


@app.command()
def down(
    name: ClusterName = None,
    all_: Annotated[bool, typer.Option("--all", help="All clusters of this user.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
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


@app.command()
def workflow(
    *,
    policy: Annotated[
        str | None, typer.Option(help="The policy that scales. Default: gesscale2.", show_default=False)
    ] = None,
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    seconds: Annotated[float, typer.Option(min=60, help="Seconds the day is compressed into.")] = 240.0,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            help="Settings that an earlier run left, its policy included.",
            show_default=False,
        ),
    ] = None,
    reports: Annotated[Path, typer.Option(help="Where the report folder goes.")] = Path("reports"),
) -> None:
    """Scale two Spark operators, joined by a real Kafka broker, through one compressed day (six minutes).

    Exits 3 where a row was lost or doubled.
    """
    from testbed.demo.scenario import WORKFLOW
    from testbed.demo.show import make_folder, play

    if config is not None and policy is not None:
        message = "workflow: expected --policy or --config, got both; change analyze.policy in the file"
        raise InputError(message)
    privilege.enter()
    end_as_ctrl_c_does()
    scenario = replace(WORKFLOW, policy=policy or WORKFLOW.policy, topology=topology, day_s=seconds)
    folder = make_folder(reports)
    kept = play(scenario, folder, console, config)
    console.print(
        f"once more with these settings: testbed workflow --config {folder}/gesscale.yaml", highlight=False
    )
    if not kept:
        raise typer.Exit(3)


@app.command()
def nexmark(
    query: Annotated[str, typer.Argument(help="q1, q2, q3, q5, q8 or q11.")] = "q5",
    policy: Annotated[str, typer.Option(help="The policy that scales.")] = "gesscale2",
    topology: Annotated[str, typer.Option(help="A topology file, or a bundled one's name.")] = "edge8",
    seconds: Annotated[float, typer.Option(min=60, help="Seconds that the day lasts.")] = 240.0,
    reports: Annotated[Path, typer.Option(help="Where the report folder goes.")] = Path("reports"),
) -> None:
    """Scale a query of Nexmark, with state, through a day, and compare its result with a batch, row for row.

    Exits 3 unless it was scaled up and down and every row is there once.
    """
    from testbed.demo.show import make_folder
    from testbed.nexmark.queries import query_named
    from testbed.nexmark.show import NexmarkDay, play

    day = NexmarkDay(query=query_named(query), policy=policy, topology=topology, day_s=seconds)
    privilege.enter()
    end_as_ctrl_c_does()
    if not play(day, make_folder(reports), console):
        raise typer.Exit(3)


app.command()(apply)
app.command()(league)
app.add_typer(kubernetes_app)


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


def main() -> None:
    """Run ``testbed``."""
    from gesscale.cli.app import run

    run(app)
