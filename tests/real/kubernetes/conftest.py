"""One Kubernetes for all tests here: three kubelets on this machine, or whatever GESSCALE_TEST_KUBECONFIG names."""

import contextlib
import ipaddress
import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
import yaml
from controlled_world import World, define

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.credentials import connect
from testbed.cluster import state
from testbed.cluster.topology import Topology, read_topology
from testbed.kubernetes.cluster import KubernetesTestBed, down, kubernetes_up
from testbed.kubernetes.kubectl import create_namespace, run_kubectl
from testbed.kubernetes.store import Store, StoreKind
from testbed.kubernetes.tools import build, missing_requirement

FOREIGN = "GESSCALE_TEST_KUBECONFIG"
STORE, FSYNC_MS = "GESSCALE_TEST_STORE", "GESSCALE_TEST_FSYNC_MS"
"""kine on SQLite, as in k3s, unless these name another store or a slower disk."""
BUNDLED = "kube3"
OWN_NAMES = r"[kd](\d+)"
"""Clusters of a test process: the one that is shared, and those that a test takes down."""


@dataclass(frozen=True)
class ForeignCluster:
    """An external cluster: tests that need access below its API are skipped."""

    kubeconfig: Path

    @property
    def kubectl(self) -> Path:
        return build().parent / "kubectl"

    @property
    def api(self) -> SimpleNamespace:
        clusters = yaml.safe_load(self.kubeconfig.read_text())["clusters"]
        return SimpleNamespace(url=str(clusters[0]["cluster"]["server"]))

    @property
    def node_names(self) -> tuple[str, ...]:
        items = json.loads(self.run_kubectl("get", "nodes", "-o", "json"))["items"]
        return tuple(item["metadata"]["name"] for item in items)

    def run_kubectl(self, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0) -> str:
        return run_kubectl(self.kubectl, self.kubeconfig, *arguments, stdin=stdin, timeout_s=timeout_s)

    def in_control_plane(self, command: Sequence[str]) -> NoReturn:
        self._skip(f"running {command[0]} next to the control plane")

    def cut_off(self, node: str) -> NoReturn:
        self._skip(f"cutting off {node}")

    def reconnect(self, node: str) -> NoReturn:
        self._skip(f"reconnecting {node}")

    def kill_api_server(self) -> NoReturn:
        self._skip("killing the API server")

    def start_api_server(self) -> NoReturn:
        self._skip("starting the API server")

    def kill_kubelet(self, node: str) -> NoReturn:
        self._skip(f"killing the kubelet of {node}")

    def start_kubelet(self, node: str) -> NoReturn:
        self._skip(f"starting the kubelet of {node}")

    def load_image(self, archive: Path) -> NoReturn:
        self._skip(f"loading {archive.name} into nodes")

    def address(self, node: str) -> NoReturn:
        self._skip(f"the address of {node}")

    @property
    def store(self) -> NoReturn:
        self._skip("a known store")

    @property
    def topology(self) -> NoReturn:
        self._skip("a known latency map")

    @staticmethod
    def _skip(what: str) -> NoReturn:
        pytest.skip(f"{what} needs our own cluster; {FOREIGN} names another one")


def own_topology(folder: Path) -> Topology:
    """Return the bundled topology under a name and on a subnet of this process's own."""
    bundled = read_topology(BUNDLED)
    name = f"k{os.getpid()}"
    described = {
        "name": name,
        "latency": {"file": f"{name}.csv", "unit": "ms", "kind": "rtt"},
        "driver_node": bundled.driver_node,
        "subnet": unused_subnet(),
    }
    names = [node.name for node in bundled.nodes]
    rows = [",".join(("", *names))]
    rows += [
        ",".join((first, *(str(bundled.rtt_ms(first, second) if first != second else 0) for second in names)))
        for first in names
    ]
    (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(described))
    return read_topology(str(file))


def unused_subnet() -> str:
    shown = subprocess.run(("ip", "-j", "-4", "address"), capture_output=True, text=True, timeout=20, check=True)
    used = {
        ipaddress.IPv4Interface(f"{each['local']}/24").network
        for device in json.loads(shown.stdout)
        for each in device.get("addr_info", ())
    }
    candidates = (ipaddress.IPv4Network(f"10.77.{third}.0/24") for third in range(220, 250))
    return str(next(network for network in candidates if network not in used))


def sweep_crashed() -> None:
    """Take down what test runs that were killed left behind."""
    for name in state.cluster_names():
        owner = re.fullmatch(OWN_NAMES, name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            down(name)


@pytest.fixture(scope="session")
def possible() -> None:
    """Skip if no Kubernetes can be brought up on this machine."""
    if (missing := missing_requirement()) is not None:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesTestBed | ForeignCluster]:
    """Yield the cluster; it is shared, so each test uses its own `namespace`."""
    if foreign := os.environ.get(FOREIGN):
        yield ForeignCluster(Path(foreign))
        return
    if (missing := missing_requirement()) is not None:
        pytest.skip(str(missing))
    sweep_crashed()
    delay = os.environ.get(FSYNC_MS)
    store = Store(kind=StoreKind(os.environ.get(STORE, "kine")), fsync_ms=float(delay) if delay else None)
    with kubernetes_up(own_topology(tmp_path_factory.mktemp("kubernetes")), store) as own:
        yield own


@pytest.fixture
def free_subnet() -> str:
    """Return a /24 network that no device of this machine uses."""
    return unused_subnet()


@pytest.fixture
def namespace(cluster: KubernetesTestBed | ForeignCluster) -> Iterator[str]:
    """Yield a new namespace of the cluster, deleted afterwards with all in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    create_namespace(cluster.run_kubectl, name)
    yield name
    with contextlib.suppress(Exception):  # the cluster may be gone with the test
        cluster.run_kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def admin(cluster: KubernetesTestBed | ForeignCluster) -> Iterator[Connection]:
    """Yield a connection with an administrator's rights."""
    connection = connect(cluster.kubeconfig)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def defined(cluster: KubernetesTestBed | ForeignCluster, admin: Connection) -> KubernetesTestBed | ForeignCluster:
    """Return the cluster, which serves StreamAutoscalers."""
    define(cluster, admin)
    return cluster


@pytest.fixture
def world(defined: KubernetesTestBed | ForeignCluster, namespace: str, tmp_path: Path) -> Iterator[World]:
    """Yield operators in a namespace of their own."""
    with World(defined, namespace, tmp_path) as opened:
        yield opened
