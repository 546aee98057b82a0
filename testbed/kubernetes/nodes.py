"""A node: containerd and a kubelet in a network namespace, with separate mounts and process numbers.

The first process of a node ends when both have ended; the kernel then ends all containers and removes all mounts of
the node, even if the process that started it has crashed.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from gesscale.common.yaml_text import read_yaml
from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.kubernetes import control_groups
from testbed.kubernetes.control_plane import Files, wait_until
from testbed.kubernetes.images import PAUSE
from testbed.kubernetes.network import NAMES_SERVICE, TUNNEL_MTU, PodNetwork
from testbed.kubernetes.tools import CONFIG, Tools

MEMORY_BYTES = 4 << 30
START_TIMEOUT_S = 240.0
_HIDDEN = ("/run", "/var/lib", "/var/log")
_SOCKET_PATH_LIMIT = 107
#: Namespaces of a node.
_OWN = ("mount", "uts", "ipc", "pid", "net")


def start_node(topology: Topology, name: str, *, program: Path, tools: Tools, files: Files) -> None:
    """Start a node; its kubelet starts once its kubeconfig is there.

    Raises
    ------
    ClusterError
        If it cannot be started.
    """
    directory, node = files.node(name), topology.node(name)
    _require_usable(directory)
    for folder in ("lib", "log", "cni"):
        (directory / folder).mkdir(parents=True)
    network = PodNetwork(topology=topology)
    (directory / "resolv.conf").touch()
    (directory / "containerd.toml").write_text(
        containerd_settings(directory, tools, snapshotter=_snapshotter(directory)), encoding="utf-8"
    )
    plugins = (CONFIG / "pods.conflist").read_text().replace("TUNNEL_MTU", str(TUNNEL_MTU))
    plugins = plugins.replace("PODS", network.pods(node.host))
    (directory / "cni" / "10-pods.conflist").write_text(plugins, encoding="utf-8")
    group = control_groups.create(topology.name, name)
    settings = kubelet_settings(
        directory, group, host_memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    )
    (directory / "kubelet.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    own = ("unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
    arguments = _arguments(topology, name, program, tools, files)
    command = (*own, "sh", "-ec", (CONFIG / "node.sh").read_text(), "node", *arguments)
    processes.start(
        inside(topology.name, name, command),
        Mark(cluster=str(state_directory(topology.name)), role=Role.NODE, node=name),
        environment={**processes.base_environment(), "PATH": tools.path},
        log=directory / "node.log",
    )


def start_kubelet(topology: Topology, name: str, *, program: Path, tools: Tools, files: Files) -> None:
    """Start the kubelet of a node again, in the namespaces of its running containerd.

    Raises
    ------
    ClusterError
        If the node has ended, or the kubelet cannot be started.
    """
    containerd = part_of(topology, name, "containerd")
    enter = ("nsenter", f"--target={containerd.pid}", *(f"--{each}" for each in _OWN), "--")
    arguments = _arguments(topology, name, program, tools, files)
    processes.start(
        (*enter, "sh", "-ec", (CONFIG / "kubelet.sh").read_text(), "node", *arguments),
        Mark(cluster=str(state_directory(topology.name)), role=Role.NODE, node=name),
        environment={**processes.base_environment(), "PATH": tools.path},
        log=files.node(name) / "kubelet-again.log",
    )


def _arguments(topology: Topology, name: str, program: Path, tools: Tools, files: Files) -> tuple[str, ...]:
    """Return the arguments of the scripts."""
    address = PodNetwork(topology=topology).address(topology.node(name).host)
    return tuple(map(str, (files.node(name), name, tools.containerd, program, files.kubeconfig(name), address)))


def part_of(topology: Topology, name: str, part: str) -> Process:
    """Return the process of a node's kubelet or containerd.

    Raises
    ------
    ClusterError
        If it does not run.
    """
    for process in processes.find(str(state_directory(topology.name))):
        if process.mark.role is Role.NODE and process.mark.node == name:
            words = _command_line(process.pid)
            if part in (Path(words[0]).name, *words[1:2]):
                return process
    raise ClusterError("node-part-stopped", node=name, part=part)


def _command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:  # it has just ended
        return [""]


def load_images(names: Iterable[str], archive: Path, *, tools: Tools, files: Files) -> None:
    """Import the images of an archive on several nodes in parallel.

    Raises
    ------
    ClusterError
        If a node cannot import them.
    """
    loading = {}
    for name in names:
        socket = _socket(files.node(name))
        wait_until(
            socket.exists,
            what=f"containerd of {name}",
            timeout_s=START_TIMEOUT_S,
            log=files.node(name) / "containerd.log",
        )
        command = (str(tools.ctr), "--address", str(socket), "-n", "k8s.io", "images", "import", str(archive))
        loading[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for name, process in loading.items():
        try:
            written, _ = process.communicate(timeout=START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            written, _ = process.communicate()
        if process.returncode != 0:
            raise ClusterError("images-not-imported", node=name, source=str(archive), cause=written.strip())


def containerd_settings(directory: Path, tools: Tools, *, snapshotter: str) -> str:
    """Return the configuration file of a node's containerd."""
    template = (CONFIG / "containerd.toml").read_text()
    return template.format(
        directory=directory, socket=_socket(directory), pause=PAUSE, tools=tools, snapshotter=snapshotter
    )


def kubelet_settings(directory: Path, group: str, *, host_memory_bytes: int) -> Mapping[str, Any]:
    """Return the configuration of a node's kubelet."""
    return {
        **read_yaml(CONFIG / "kubelet.yaml"),
        "cgroupRoot": group,
        "clusterDNS": [NAMES_SERVICE],
        "containerRuntimeEndpoint": f"unix://{_socket(directory)}",
        "resolvConf": str(directory / "resolv.conf"),
        "systemReserved": {"memory": str(max(0, host_memory_bytes - MEMORY_BYTES))},
    }


def _socket(directory: Path) -> Path:
    return directory / "containerd.sock"


def _snapshotter(directory: Path) -> str:
    """Return ``overlayfs`` if it works on this file system, otherwise ``native``; in a container it often fails."""
    trial = directory / "trial"
    layers = {name: trial / name for name in ("lowerdir", "upperdir", "workdir")}
    for folder in layers.values():
        folder.mkdir(parents=True)
    options = ",".join(f"{name}={folder}" for name, folder in layers.items())
    command = ("unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, str(trial))
    try:
        run(command)
    except ClusterError:
        return "native"
    return "overlayfs"


def _require_usable(directory: Path) -> None:
    hidden = next((each for each in _HIDDEN if directory.is_relative_to(each)), None)
    too_long = len(os.fsencode(f"{_socket(directory)}.ttrpc")) > _SOCKET_PATH_LIMIT
    if hidden:
        raise ClusterError("node-directory-hidden", source=str(directory), hidden=hidden)
    if too_long:
        raise ClusterError("socket-path-long", source=str(directory))
