"""A Kubernetes cluster on an emulated edge: bring it up, use it, break it, and take it down without leftovers."""

import contextlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.common.yaml_text import read_yaml
from gesscale.errors import ClusterError, InputError
from testbed.cluster import lifecycle, processes, state
from testbed.cluster.commands import run
from testbed.cluster.namespaces import DEVICE, inside, namespace
from testbed.cluster.topology import Topology
from testbed.kubernetes import control_groups
from testbed.kubernetes.control_plane import (
    ADMIN,
    API_SERVER,
    START_TIMEOUT_S,
    Api,
    Files,
    ready_nodes,
    start_control_plane,
    start_part,
    wait_for_accounts,
    wait_until,
)
from testbed.kubernetes.images import bundled_images, write_archive
from testbed.kubernetes.kubectl import run_kubectl
from testbed.kubernetes.network import PodNetwork, network_commands
from testbed.kubernetes.nodes import load_images, part_of, start_kubelet, start_node
from testbed.kubernetes.store import ETCD, Store
from testbed.kubernetes.tools import Tools, build, find_tools, missing_requirement


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesRemoved:
    """Counts of the parts of a Kubernetes cluster that were removed."""

    processes: int
    network_parts: int
    control_groups: int


def down(name: str) -> KubernetesRemoved:
    """Take a Kubernetes cluster and its namespaces down, or remove what a crash left; no error if there is nothing.

    Raises
    ------
    ClusterError
        If something cannot be removed.
    """
    removed = lifecycle.down(name)
    return KubernetesRemoved(
        processes=removed.processes, network_parts=removed.network_parts, control_groups=control_groups.remove(name)
    )


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesTestBed:
    """A running Kubernetes: its control plane on the topology's driver node, a kubelet on every other one."""

    topology: Topology
    #: The directory of this user's clusters when this was created.
    state_root: Path = field(default_factory=state.state_root)

    @property
    def files(self) -> Files:
        """Its files and logs."""
        return Files(directory=self.state_root / self.topology.name / "kubernetes")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; valid in this process, the nodes' namespaces and pods that mount it."""
        return self.files.kubeconfig(ADMIN)

    @property
    def api(self) -> Api:
        """The API server for pods, nodes and this process, with the administrator's token."""
        try:
            content = read_yaml(self.kubeconfig)
            url, token = content["clusters"][0]["cluster"]["server"], content["users"][0]["user"]["token"]
        except OSError as error:
            raise ClusterError("kubernetes-not-up", cluster=self.topology.name) from error
        return Api(url=url, authority=self.files.authority, token=token)

    @property
    def store(self) -> Store:
        """What stores its objects."""
        return Store.load(self.files.store)

    @property
    def kubectl(self) -> Path:
        """A kubectl of the cluster's version."""
        return build().parent / "kubectl"

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes that hold pods, in the order of the latency map."""
        return kubelet_nodes(self.topology)

    def address(self, node: str) -> str:
        """Return the address at which pods reach a node, the control plane's node included.

        Raises
        ------
        InputError
            If there is no such node.
        """
        return PodNetwork(topology=self.topology).address(self.topology.node(node).host)

    def in_control_plane(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a command on the control plane's node, with its delays to the others."""
        return inside(self.topology.name, self.topology.driver_node, command)

    def run_kubectl(self, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0) -> str:
        """Run kubectl as the administrator; see `testbed.kubernetes.kubectl.run_kubectl`."""
        return run_kubectl(self.kubectl, self.kubeconfig, *arguments, stdin=stdin, timeout_s=timeout_s)

    def load_image(self, archive: Path) -> None:
        """Import the images of an archive, made by ``docker save`` or `images.write_archive`, on every node.

        Raises
        ------
        ClusterError
            If a node cannot import them.
        """
        load_images(self.node_names, archive, tools=find_tools(), files=self.files)

    def cut_off(self, node: str) -> None:
        """Disconnect a node from the network; its pods keep running, and Kubernetes notices after some seconds.

        Raises
        ------
        InputError
            If it is not a node for pods.
        """
        self._set_link(node, "down")

    def reconnect(self, node: str) -> None:
        """Undo `cut_off`.

        Raises
        ------
        InputError
            If it is not a node for pods.
        """
        self._set_link(node, "up")

    def kill_api_server(self) -> None:
        """End the API server by SIGKILL; pods keep running."""
        running = processes.find(str(state.state_directory(self.topology.name)))
        parts = [each for each in running if each.mark.role is processes.Role.CONTROL_PLANE]
        processes.kill([each for each in parts if each.mark.operator == API_SERVER])

    def start_api_server(self) -> None:
        """Undo `kill_api_server`, and wait until it responds.

        Raises
        ------
        ClusterError
            If it does not in time.
        """
        start_part(self.topology, API_SERVER, program=build(), files=self.files)
        wait_until(
            lambda: self.api.get("/readyz") == "ok",
            what="API server",
            timeout_s=START_TIMEOUT_S,
            log=self.files.log(API_SERVER),
        )

    def kill_kubelet(self, node: str) -> None:
        """End the kubelet of a node by SIGKILL; its pods keep running.

        Raises
        ------
        ClusterError
            If none runs.
        """
        processes.kill([part_of(self.topology, node, "kubelet")])

    def start_kubelet(self, node: str) -> None:
        """Undo `kill_kubelet`.

        Raises
        ------
        ClusterError
            If the node has ended.
        """
        start_kubelet(self.topology, node, program=build(), tools=find_tools(), files=self.files)

    def kill_container(self, container: str) -> None:
        """End the processes of a container by SIGKILL, like a crash; its pod stays.

        Raises
        ------
        ClusterError
            If no node has this container.
        """
        control_groups.kill_container(self.topology.name, container.removeprefix("containerd://"))

    def not_ready(self) -> tuple[str, ...]:
        """Return the nodes that are not ready now.

        Raises
        ------
        OSError
            If the API server does not respond.
        """
        ready = ready_nodes(self.api)
        return tuple(name for name in self.node_names if not ready.get(name, False))

    def _set_link(self, node: str, direction: str) -> None:
        if node not in self.node_names:
            raise InputError("kubelet-node-unknown", node=node, nodes=self.node_names)
        run(("ip", "-n", namespace(self.topology.name, node), "link", "set", DEVICE, direction))


def kubelet_nodes(topology: Topology) -> tuple[str, ...]:
    """Return the nodes of a topology that hold pods: all but its driver node, which runs the control plane."""
    return tuple(node.name for node in topology.nodes if node.name != topology.driver_node)


@contextlib.contextmanager
def kubernetes_up(topology: Topology, store: Store = ETCD) -> Iterator[KubernetesTestBed]:
    """Run a Kubernetes cluster within the context, after removing leftovers of an earlier one.

    Raises
    ------
    ClusterError
        If it cannot be built; everything is cleaned up.
    """
    down(topology.name)
    cluster = up(topology, store)
    try:
        yield cluster
    finally:
        down(topology.name)


def up(topology: Topology, store: Store = ETCD) -> KubernetesTestBed:
    """Bring a Kubernetes cluster up and leave it running; do nothing if it is up with this store and healthy.

    Raises
    ------
    ClusterError
        If it cannot be built; everything is cleaned up.
    """
    cluster = KubernetesTestBed(topology=topology)
    if _is_healthy(cluster) and cluster.store == store:
        return cluster
    if (missing := missing_requirement()) is not None:
        raise ClusterError(missing.code, **missing.fields)
    if not kubelet_nodes(topology):
        raise ClusterError("kubelet-nodes-missing", topology=topology.name, driver_node=topology.driver_node)
    program, tools = build(), find_tools()
    down(topology.name)
    try:
        lifecycle.up(topology)
        with state.locked():
            _build(cluster, store, program, tools)
    except BaseException:
        down(topology.name)
        raise
    return cluster


def _is_healthy(cluster: KubernetesTestBed) -> bool:
    """Return whether a cluster is up with this topology, and all its nodes are ready."""
    try:
        present = lifecycle.status(cluster.topology.name)
        return not present.problem and present.topology == cluster.topology and not cluster.not_ready()
    except (ClusterError, OSError):
        return False


def _build(cluster: KubernetesTestBed, store: Store, program: Path, tools: Tools) -> None:
    topology, files, names = cluster.topology, cluster.files, cluster.node_names
    files.directory.mkdir(exist_ok=True)
    for command in network_commands(topology, names):
        run(command)
    for name in names:
        start_node(topology, name, program=program, tools=tools, files=files)
    archive = files.directory / "images.tar"
    machine = platform.machine()
    write_archive(archive, bundled_images(tools.busybox), architecture=_ARCHITECTURES.get(machine, machine))
    api = start_control_plane(topology, names, store=store, program=program, files=files)
    load_images(names, archive, tools=tools, files=files)
    wait_until(
        lambda: not cluster.not_ready(),
        what="all kubelets",
        timeout_s=START_TIMEOUT_S,
        log=files.node(names[0]) / "kubelet.log",
    )
    wait_for_accounts(api, files)
