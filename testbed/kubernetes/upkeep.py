"""``testbed kubernetes``: the commands of a Kubernetes on this machine."""

import shutil
from pathlib import Path

import typer

from gesscale.cli.ending import end_as_ctrl_c_does
from gesscale.cli.explain_resource import say_how_to_look
from gesscale.cli.output import Output, emit, stderr_console, table
from gesscale.errors import ClusterError
from testbed.cluster import state
from testbed.cluster.topology import read_topology
from testbed.kubernetes import build as building
from testbed.kubernetes import cluster as clusters
from testbed.kubernetes import sweeping
from testbed.kubernetes.api import ready_nodes
from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.kubernetes.tools import lacking_rights


def build_once() -> None:
    """Build Kubernetes from its sources, once; some minutes, and 4 GB of Go's caches on disk."""
    if not building.is_built():
        stderr_console.print("building Kubernetes from its sources: some minutes, once")
    stderr_console.print(f"Kubernetes {building.VERSION}: {building.build()}")


def bring_up(*, topology: str, output: Output) -> None:
    """Bring a Kubernetes up; does nothing where it is up and well."""
    wanted = read_topology(topology)
    _show(clusters.up(wanted, source=topology), output)


def play_demo(*, folder: Path) -> None:
    """Scale a day of taxi rides on three kubelets of this machine; about eight minutes. Exits 1 at a broken promise."""
    from testbed.demo.on_kubernetes import play
    from testbed.live.scenario import KUBE3

    _require_rights()
    end_as_ctrl_c_does()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not play(KUBE3, folder, stderr_console):
        raise typer.Exit(1)


def show_status(*, name: str | None, output: Output) -> None:
    """Show the nodes of a Kubernetes; exits 3 where one is not ready."""
    _require_rights()
    _, topology = state.load(state.only_cluster(name))
    _show(KubernetesTestBed(topology=topology), output)


def take_down(*, name: str | None, output: Output) -> None:
    """Take a Kubernetes down, and whatever a crash left of it; nothing to do is no error."""
    _require_rights()
    there = name is not None or state.cluster_names()
    swept = {each: sweeping.down(each) for each in ((state.only_cluster(name),) if there else ())}
    rows = [(each, got.processes, got.network_parts, got.control_groups) for each, got in swept.items()]
    columns = ("cluster", "processes", "namespaces and devices", "control groups")
    emit(swept, output, [table("removed", columns, rows)])


def _require_rights() -> None:
    lacking = lacking_rights()
    if lacking:
        message = f"no Kubernetes can be used here: it {lacking}"
        raise ClusterError(message)


def _show(cluster: KubernetesTestBed, output: Output) -> None:
    topology = cluster.topology
    try:
        ready = ready_nodes(cluster.api)
    except OSError as error:
        message = (
            f"the API server of cluster {topology.name!r} does not answer: {error}; look at "
            f"{cluster.files.log('kube-apiserver')}, or: testbed kubernetes down {topology.name}"
        )
        raise ClusterError(message) from error
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
        "api_url": cluster.api_url,
        "kubeconfig": str(cluster.kubeconfig),
        "kubectl": str(cluster.kubectl),
        "control_plane_node": topology.driver_node,
        "nodes": nodes,
    }
    title = f"{topology.name}: {cluster.api_url}, control plane on {topology.driver_node}"
    columns = ("node", "address", "ready", "to control plane ms")
    emit(document, output, [table(title, columns, [tuple(node.values()) for node in nodes])])
    stderr_console.print(
        f"use it: export KUBECONFIG={cluster.kubeconfig} PATH={cluster.kubectl.parent}:$PATH"
    )
    stderr_console.print("where the controller runs in it (kubectl apply -k deploy/k3s):")
    say_how_to_look()
    if not all(node["ready"] for node in nodes):
        raise typer.Exit(3)
