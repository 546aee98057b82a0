"""A node: containerd and a kubelet in a network namespace, with separate mounts and process numbers.

The first process of a node ends when both have ended; the kernel then ends all containers and removes all mounts of
the node, even if the process that started it has crashed.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

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
from testbed.kubernetes.tools import Tools

MEMORY_BYTES = 4 << 30
START_TIMEOUT_S = 240.0
_HIDDEN = ("/run", "/var/lib", "/var/log")
_SOCKET_PATH_LIMIT = 107
_SCRIPT = """\
cd "$1"
mount --bind lib /var/lib
mount --bind log /var/log
mount -t tmpfs tmpfs /run
mkdir /run/netns
hostname "$2"
"$3" --config containerd.toml >containerd.log 2>&1 &
until [ -e "$5" ]; do sleep 0.1; done
"$4" kubelet --config kubelet.yaml --kubeconfig "$5" --hostname-override "$2" --node-ip "$6" >kubelet.log 2>&1 &
wait
"""
_KUBELET_SCRIPT = """\
cd "$1"
exec "$4" kubelet --config kubelet.yaml --kubeconfig "$5" --hostname-override "$2" --node-ip "$6" >>kubelet.log 2>&1
"""
#: Namespaces of a node.
_OWN = ("mount", "uts", "ipc", "pid", "net")
_WITHOUT_FLOOR = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
)


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
    plugins = json.dumps(pod_network_settings(network.pods(node.host)))
    (directory / "cni" / "10-pods.conflist").write_text(plugins, encoding="utf-8")
    group = control_groups.create(topology.name, name)
    settings = kubelet_settings(
        directory, group, host_memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    )
    (directory / "kubelet.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    own = ("unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
    command = (*own, "sh", "-ec", _SCRIPT, "node", *_arguments(topology, name, program, tools, files))
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
        (*enter, "sh", "-ec", _KUBELET_SCRIPT, "node", *arguments),
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
    return f"""\
version = 2
root = "{directory}/containerd"
state = "/run/containerd"

[grpc]
  address = "{_socket(directory)}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{directory}/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{tools.plugins}"
    conf_dir = "{directory}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "{tools.runc}"
"""


def pod_network_settings(pods: str) -> dict[str, Any]:
    """Return the network plugins' configuration: a bridge per node, addresses from its own network."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "mtu": TUNNEL_MTU,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


def kubelet_settings(directory: Path, group: str, *, host_memory_bytes: int) -> Mapping[str, Any]:
    """Return the configuration of a node's kubelet."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": group,
        "clusterDNS": [NAMES_SERVICE],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": f"unix://{_socket(directory)}",
        "evictionHard": dict.fromkeys(_WITHOUT_FLOOR, "0%"),
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": False,
        "nodeLeaseDurationSeconds": 4,
        "nodeStatusUpdateFrequency": "1s",
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
