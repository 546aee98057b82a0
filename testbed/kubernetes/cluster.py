"""Bringing a Kubernetes up on an emulated edge, using it, and taking it down so that nothing stays behind."""

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
    start_api_server,
    start_control_plane,
    wait_for_accounts,
    wait_until,
)
from testbed.kubernetes.images import bundled_images, write_archive
from testbed.kubernetes.kubectl import run_kubectl
from testbed.kubernetes.network import PodNetwork, network_commands
from testbed.kubernetes.nodes import load_images, part_of, start_kubelet, start_node
from testbed.kubernetes.tools import Tools, build, find_tools, obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesRemoved:
    """What was found of a cluster and removed."""

    processes: int
    network_parts: int
    control_groups: int


def down(name: str) -> KubernetesRemoved:
    """Take a Kubernetes and its namespaces down, also what is left of one that crashed; nothing is no error.

    Raises
    ------
    ClusterError
        Where something cannot be removed.
    """
    swept = lifecycle.down(name)
    return KubernetesRemoved(
        processes=swept.processes, network_parts=swept.network_parts, control_groups=control_groups.remove(name)
    )


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesTestBed:
    """A Kubernetes that is up: its control plane on the topology's driver node, a kubelet on every other one."""

    topology: Topology
    #: The directory of this user's clusters when it was opened.
    state_root: Path = field(default_factory=state.state_root)

    @property
    def files(self) -> Files:
        """Where it keeps its files and logs."""
        return Files(directory=self.state_root / self.topology.name / "kubernetes")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; good in this process, in the nodes' namespaces, and in mounted pods."""
        return self.files.kubeconfig(ADMIN)

    @property
    def api(self) -> Api:
        """The API server, as the administrator asks it."""
        try:
            content = read_yaml(self.kubeconfig)
            url, token = content["clusters"][0]["cluster"]["server"], content["users"][0]["user"]["token"]
        except OSError as error:
            raise ClusterError(
                f"cluster {self.topology.name!r} has no Kubernetes; run: testbed kubernetes up"
            ) from error
        return Api(url=url, authority=self.files.authority, token=token)

    @property
    def api_url(self) -> str:
        """Where the API server is, for pods, nodes and this process alike."""
        return self.api.url

    @property
    def authority(self) -> Path:
        """The certificates by which clients know the API server (Spark: ``authenticate.caCertFile``)."""
        return self.files.authority

    @property
    def token(self) -> str:
        """The administrator's token."""
        return self.api.token

    @property
    def kubectl(self) -> Path:
        """A kubectl of the cluster's own version."""
        return build().parent / "kubectl"

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes that hold pods, in the order of the latency map."""
        return kubelet_nodes(self.topology)

    def address(self, node: str) -> str:
        """Return a node's address as pods reach it; also that of the control plane's node.

        Raises
        ------
        InputError
            Where there is no such node.
        """
        return PodNetwork(topology=self.topology).address(self.topology.node(node).host)

    def in_control_plane(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a command where the control plane is, with its delays to the nodes."""
        return inside(self.topology.name, self.topology.driver_node, command)

    def run_kubectl(self, *arguments: str, given: str | None = None, timeout_s: float = 60.0) -> str:
        """Run kubectl as the administrator; see `testbed.kubernetes.kubectl.run_kubectl`."""
        return run_kubectl(self.kubectl, self.kubeconfig, *arguments, given=given, timeout_s=timeout_s)

    def load_image(self, archive: Path) -> None:
        """Give every node the images of an archive made by ``docker save`` or `images.write_archive`.

        Raises
        ------
        ClusterError
            Where a node does not take them.
        """
        load_images(self.node_names, archive, tools=find_tools(), files=self.files)

    def cut_off(self, node: str) -> None:
        """Take a node off the network; its pods run on, and Kubernetes finds out after some seconds.

        Raises
        ------
        InputError
            Where it is not a node that holds pods.
        """
        self._set_link(node, "down")

    def reconnect(self, node: str) -> None:
        """Undo `cut_off`.

        Raises
        ------
        InputError
            Where it is not a node that holds pods.
        """
        self._set_link(node, "up")

    def kill_api_server(self) -> None:
        """End the API server by SIGKILL; pods run on."""
        found = processes.find(str(state.state_directory(self.topology.name)))
        parts = [each for each in found if each.mark.role is processes.Role.CONTROL_PLANE]
        processes.kill([each for each in parts if each.mark.operator == API_SERVER])

    def start_api_server(self) -> None:
        """Undo `kill_api_server`, and wait until it answers.

        Raises
        ------
        ClusterError
            Where it does not in time.
        """
        start_api_server(self.topology, program=build(), files=self.files)
        wait_until(
            lambda: self.api.get("/readyz") == "ok",
            what="the API server is ready again",
            timeout_s=START_TIMEOUT_S,
            look_at=self.files.log(API_SERVER),
        )

    def kill_kubelet(self, node: str) -> None:
        """End the kubelet of a node by SIGKILL; its pods run on.

        Raises
        ------
        ClusterError
            Where none runs.
        """
        processes.kill([part_of(self.topology, node, "kubelet")])

    def start_kubelet(self, node: str) -> None:
        """Undo `kill_kubelet`.

        Raises
        ------
        ClusterError
            Where the node has ended.
        """
        start_kubelet(self.topology, node, program=build(), tools=find_tools(), files=self.files)

    def kill_container(self, container: str) -> None:
        """End the processes of a container by SIGKILL, as a crash does; its pod stays.

        Raises
        ------
        ClusterError
            Where no node has it.
        """
        control_groups.kill_container(self.topology.name, container.removeprefix("containerd://"))

    def not_ready(self) -> tuple[str, ...]:
        """Return the nodes that are not ready now.

        Raises
        ------
        OSError
            Where the API server does not answer.
        """
        ready = ready_nodes(self.api)
        return tuple(name for name in self.node_names if not ready.get(name, False))

    def _set_link(self, node: str, direction: str) -> None:
        if node not in self.node_names:
            raise InputError(f"expected a node that holds pods ({', '.join(self.node_names)}), got {node!r}")
        run(("ip", "-n", namespace(self.topology.name, node), "link", "set", DEVICE, direction))


def kubelet_nodes(topology: Topology) -> tuple[str, ...]:
    """Return the nodes of a topology that hold pods: all but its driver node, which has the control plane."""
    return tuple(node.name for node in topology.nodes if node.name != topology.driver_node)


@contextlib.contextmanager
def kubernetes_up(topology: Topology) -> Iterator[KubernetesTestBed]:
    """Bring a Kubernetes up for as long as the context lasts; what is left of an earlier one goes first.

    Raises
    ------
    ClusterError
        Where it cannot be built; nothing of it stays behind.
    """
    down(topology.name)
    cluster = up(topology)
    try:
        yield cluster
    finally:
        down(topology.name)


def up(topology: Topology) -> KubernetesTestBed:
    """Bring a Kubernetes up that stays; does nothing where it is up and well.

    Raises
    ------
    ClusterError
        Where it cannot be built; nothing of it stays behind.
    """
    cluster = KubernetesTestBed(topology=topology)
    if not describe_fault(cluster):
        return cluster
    why = obstacle()
    if why:
        raise ClusterError(f"no Kubernetes can be brought up here: it {why}")
    if not kubelet_nodes(topology):
        raise ClusterError(
            f"topology {topology.name!r}: expected more nodes than its driver node, to hold pods; got none"
        )
    program, tools = build(), find_tools()
    down(topology.name)
    try:
        lifecycle.up(topology)
        with state.locked():
            _build(cluster, program, tools)
    except BaseException:
        down(topology.name)
        raise
    return cluster


def describe_fault(cluster: KubernetesTestBed) -> str:
    """Return what is wrong with a cluster; empty where it is up and all its nodes are ready."""
    try:
        present = lifecycle.status(cluster.topology.name)
        if present.problem or present.topology != cluster.topology:
            return present.problem or "another topology of its name is up"
        missing = cluster.not_ready()
    except (ClusterError, OSError) as error:
        return str(error)
    return f"not ready: {', '.join(missing)}" if missing else ""


def _build(cluster: KubernetesTestBed, program: Path, tools: Tools) -> None:
    topology, files, names = cluster.topology, cluster.files, cluster.node_names
    files.directory.mkdir(exist_ok=True)
    for command in network_commands(topology, names):
        run(command)
    for name in names:
        start_node(topology, name, program=program, tools=tools, files=files)
    archive = files.directory / "images.tar"
    machine = platform.machine()
    write_archive(archive, bundled_images(tools.busybox), architecture=_ARCHITECTURES.get(machine, machine))
    api = start_control_plane(topology, names, program=program, files=files)
    load_images(names, archive, tools=tools, files=files)
    wait_until(
        lambda: not cluster.not_ready(),
        what="every node is ready",
        timeout_s=START_TIMEOUT_S,
        look_at=files.node(names[0]) / "kubelet.log",
    )
    wait_for_accounts(api, files)
