"""``testbed kubernetes``: the commands of a Kubernetes cluster on this machine."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.errors import ClusterError
from testbed.kubernetes.store import Store, StoreKind

if TYPE_CHECKING:
    from testbed.kubernetes.cluster import KubernetesTestBed

app = typer.Typer(
    name="kubernetes",
    help="A real Kubernetes cluster on an emulated edge: control plane and kubelets on this machine, without Docker.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

StoreOption = Annotated[StoreKind, typer.Option("--store", help="What stores the objects; k3s has kine on SQLite.")]
FsyncOption = Annotated[
    float | None, typer.Option("--fsync-ms", min=0, max=10_000, help="Delay of each fsync of the store. Needs strace.")
]
ClusterName = Annotated[str | None, typer.Argument(help="Name of the cluster; optional if only one is up.")]


@app.command(epilog="Example: testbed kubernetes build")
def build() -> None:
    """Build Kubernetes from source, once: takes some minutes and 4 GB of disk for Go's caches."""
    from testbed.kubernetes import tools

    if not tools.is_built():
        stderr_console.print("building Kubernetes from source; this takes some minutes, once")
    stderr_console.print(f"Kubernetes {tools.VERSION}: {tools.build()}")


@app.command(epilog="Example: testbed kubernetes up kube3")
def up(
    topology: Annotated[str, typer.Argument(help="A topology file, or the name of a bundled one.")] = "kube3",
    store: StoreOption = StoreKind.ETCD,
    fsync_ms: FsyncOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring a Kubernetes cluster up; do nothing if it is up with this store and healthy."""
    from testbed.cluster.topology import read_topology
    from testbed.kubernetes.cluster import up as bring_up

    _show(bring_up(read_topology(topology), Store(kind=store, fsync_ms=fsync_ms)), output)


@app.command(epilog="Example: testbed kubernetes demo")
def demo(
    folder: Annotated[Path, typer.Option(help="Folder for sink, logs, map and report; emptied first.")] = Path(
        "reports/kubernetes"
    ),
    store: StoreOption = StoreKind.ETCD,
    fsync_ms: FsyncOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all tables and the resource.")] = False,
) -> None:
    """Scale a day of taxi rides on five kubelets of this machine, and lose two of them, in about seven minutes.

    Exits 1 if a promise is broken.
    """
    import shutil

    from gesscale.cli.process_exit import end_as_ctrl_c_does
    from testbed.demo.on_kubernetes import run_demo
    from testbed.live.scenario import KUBE5

    _require_rights()
    end_as_ctrl_c_does()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not run_demo(KUBE5, folder, stderr_console, store=Store(kind=store, fsync_ms=fsync_ms), verbose=verbose):
        raise typer.Exit(1)


@app.command(epilog="Example: testbed kubernetes losses --kinds deleted,drained --repeats 3")
def losses(
    folder: Annotated[Path, typer.Option(help="Folder for records and logs; records are appended.")] = Path(
        "reports/losses"
    ),
    kinds: Annotated[
        str | None, typer.Option(help="Kinds of loss, separated by commas. Default: all.", show_default=False)
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Times that each kind is repeated.")] = 1,
    topology: Annotated[str, typer.Option(help="A topology file, or the name of a bundled one.")] = "kube5",
    away: Annotated[
        float, typer.Option(min=1, max=3600, help="How long the API server is away and a drained node cordoned, s.")
    ] = 60.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Lose nodes under a real query that needs two replicas; measure when both work again, and count every row.

    Exits 1 if a loss of this run leaves the query without a replica that it needs, or a row was lost or duplicated.
    """
    from gesscale.cli.process_exit import end_as_ctrl_c_does
    from testbed.chaos.loss_results import REPORT, losses_table, read_losses
    from testbed.chaos.losses import run_losses
    from testbed.chaos.plan import parse_faults
    from testbed.cluster.topology import read_topology
    from testbed.live.node_losses import NodeLoss
    from testbed.live.nodes import ProgressLog

    chosen = (parse_faults(kinds, NodeLoss, "--kinds") if kinds else tuple(NodeLoss)) * repeats
    _require_rights()
    end_as_ctrl_c_does()
    folder.mkdir(parents=True, exist_ok=True)
    records = run_losses(chosen, read_topology(topology), folder, ProgressLog(stderr_console), away_s=away)
    written = read_losses(folder)
    shown = losses_table(written)
    (folder / REPORT).write_text(shown.markdown())
    emit(written, output, [shown.for_terminal()])
    if len(records) < len(chosen) or not all(record.kept for record in records):
        raise typer.Exit(1)


@app.command(epilog="Example: testbed kubernetes status")
def status(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Show the nodes of a Kubernetes cluster; exits 3 if one is not ready."""
    from testbed.cluster import state
    from testbed.kubernetes.cluster import KubernetesTestBed

    _require_rights()
    _, topology = state.load(state.only_cluster(name))
    _show(KubernetesTestBed(topology=topology), output)


@app.command(epilog="Example: testbed kubernetes down")
def down(name: ClusterName = None, output: OutputOption = Output.TABLE) -> None:
    """Take a Kubernetes cluster down, and remove what a crash left of it; no error if there is nothing."""
    from testbed.cluster import state
    from testbed.kubernetes.cluster import down as take_down

    _require_rights()
    exists = name is not None or state.cluster_names()
    removed = {each: take_down(each) for each in ((state.only_cluster(name),) if exists else ())}
    rows = [(each, counts.processes, counts.network_parts, counts.control_groups) for each, counts in removed.items()]
    columns = ("cluster", "processes", "namespaces and devices", "control groups")
    emit(removed, output, [table("removed", columns, rows)])


def _require_rights() -> None:
    from testbed.kubernetes.tools import missing_rights

    if (missing := missing_rights()) is not None:
        raise ClusterError(missing.code, **missing.fields)


def _show(cluster: "KubernetesTestBed", output: Output) -> None:
    from testbed.kubernetes.control_plane import ready_nodes

    topology = cluster.topology
    try:
        ready = ready_nodes(cluster.api)
    except OSError as error:
        raise ClusterError(
            "api-server-unreachable",
            cluster=topology.name,
            cause=str(error),
            log=str(cluster.files.log("kube-apiserver")),
        ) from error
    nodes = [
        {
            "name": name,
            "address": cluster.address(name),
            "ready": ready.get(name, False),
            "rtt_to_control_plane_ms": topology.rtt_ms(name, topology.driver_node),
        }
        for name in cluster.node_names
    ]
    document = {
        "cluster": topology.name,
        "api_url": cluster.api.url,
        "kubeconfig": str(cluster.kubeconfig),
        "kubectl": str(cluster.kubectl),
        "control_plane_node": topology.driver_node,
        "store": asdict(cluster.store),
        "nodes": nodes,
    }
    title = f"{topology.name}: {cluster.api.url}, control plane on {topology.driver_node}, {cluster.store}"
    columns = ("node", "address", "ready", "to control plane ms")
    emit(document, output, [table(title, columns, [tuple(node.values()) for node in nodes])])
    stderr_console.print(f"use it: export KUBECONFIG={cluster.kubeconfig} PATH={cluster.kubectl.parent}:$PATH")
    if not all(node["ready"] for node in nodes):
        raise typer.Exit(3)
