"""A Kubernetes that was taken down, or whose starter was killed, leaves nothing on the machine."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import until

from testbed.cluster import namespaces, processes, state
from testbed.cluster.topology import Topology, read_topology
from testbed.kubernetes import control_groups
from testbed.kubernetes.cluster import kubernetes_up
from testbed.kubernetes.images import BUSYBOX
from testbed.kubernetes.network import outside_device

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.usefixtures("possible")]


@pytest.fixture
def topology_file(tmp_path: Path, free_subnet: str) -> Path:
    """Return the file of a hub and one node, under a name of this process's own."""
    (tmp_path / "map.csv").write_text(",hub,a\nhub,0,5\na,5,0\n")
    file = tmp_path / "topology.yaml"
    file.write_text(
        f"name: d{os.getpid()}\nlatency: {{file: map.csv, unit: ms, kind: rtt}}\n"
        f"driver_node: hub\nsubnet: {free_subnet}\n"
    )
    return file


@pytest.fixture
def topology(topology_file: Path) -> Topology:
    return read_topology(str(topology_file))


def assert_nothing_left(topology: Topology) -> None:
    name, directory = topology.name, state.state_directory(topology.name)
    devices = subprocess.check_output(("ip", "link"), text=True)
    assert namespaces.find_namespaces(name) == ()
    assert outside_device(name) not in devices
    assert namespaces.control_device(name) not in devices
    assert processes.find(str(directory)) == ()
    assert members_of_groups(name) == []
    assert control_groups.find_groups(name) == ()
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()
    assert not directory.exists()


def members_of_groups(name: str) -> list[str]:
    """Return the processes in control groups of a cluster, the only sign of its containers."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and f"/gesscale-{name}-" in (entry / "cgroup").read_text():
                found.append(entry.name)
        except OSError:  # already gone
            continue
    return found


def test_down_ends_running_containers_and_removes_everything(topology: Topology) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stays"},
        "spec": {"containers": [{"name": "main", "image": BUSYBOX, "command": ["sleep", "86400"]}]},
    }
    with kubernetes_up(topology) as cluster:
        cluster.run_kubectl("create", "-f", "-", stdin=json.dumps(pod))
        cluster.run_kubectl("wait", "--for=condition=Ready", "pod/stays", "--timeout=180s", timeout_s=200)
        assert len(members_of_groups(topology.name)) >= 2  # the container and its pause
    assert_nothing_left(topology)


def test_down_removes_what_a_killed_starter_left(topology_file: Path, topology: Topology) -> None:
    command = (sys.executable, "-m", "testbed", "kubernetes", "up", str(topology_file))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as starter:
        until(lambda: control_plane_runs(topology), "the control plane runs", 400)
        starter.send_signal(signal.SIGKILL)
    down = (sys.executable, "-m", "testbed", "kubernetes", "down", topology.name)
    done = subprocess.run(down, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert_nothing_left(topology)


def control_plane_runs(topology: Topology) -> bool:
    found = processes.find(str(state.state_directory(topology.name)))
    return any(process.mark.operator == "kube-apiserver" for process in found)
