"""A real API server on loopback, and the objects of a world: nodes, pods, operators, a latency map."""

import base64
import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import yaml

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.credentials import connect
from gesscale.kubernetes.api.resources import CONFIG_MAPS, NODES, PODS, STREAM_AUTOSCALERS, Resource
from testbed.kubernetes.store import Store, StoreKind
from testbed.kubernetes.tools import build

NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)
# operators, nodes, other pods, nodes in the latency map
WORLDS = {
    "small": (1, 3, 30, 3),
    "pi": (20, 20, 200, 20),
    "large": (50, 100, 3000, 100),
    "fleet": (1000, 1000, 1000, 700),
}
API_PORT, STORE_PORT, PEER_PORT = 26443, 22379, 22380


@contextmanager
def api_server(folder: Path, store: Store, disk: Path) -> Iterator[Path]:
    """Run a store with its data on a disk, and an API server, until the context ends; yield a kubeconfig."""
    program, token = build(), secrets.token_hex(16)
    key, public = folder / "sa.key", folder / "sa.pub"
    subprocess.run(("openssl", "genrsa", "-out", key, "2048"), check=True, capture_output=True)
    subprocess.run(("openssl", "rsa", "-in", key, "-pubout", "-out", public), check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    url, peer = f"http://127.0.0.1:{STORE_PORT}", ("--peer-url", f"http://127.0.0.1:{PEER_PORT}")
    stored = (program, store.kind, "--data-dir", disk / "store", "--client-url", url)
    commands = (
        store.command((*stored, *(peer if store.kind is StoreKind.ETCD else ())), folder / "fsync.log"),
        (
            *(program, "kube-apiserver", "--etcd-servers", url, "--bind-address=127.0.0.1"),
            *(f"--secure-port={API_PORT}", "--endpoint-reconciler-type=none", "--cert-dir", folder / "certs"),
            *("--service-cluster-ip-range=10.96.0.0/16", "--token-auth-file", folder / "tokens.csv"),
            *("--service-account-key-file", public, "--service-account-signing-key-file", key),
            "--service-account-issuer=https://kubernetes.default.svc",
            *("--disable-admission-plugins=ServiceAccount", "--authorization-mode=RBAC"),
        ),
    )
    logs = [(folder / f"{part}.log").open("w") for part in ("store", "api")]
    running = [
        subprocess.Popen(tuple(map(str, command)), stdout=log, stderr=log)
        for command, log in zip(commands, logs, strict=True)
    ]
    kubeconfig = folder / "kubeconfig"
    cluster = {"server": f"https://127.0.0.1:{API_PORT}", "certificate-authority-data": _certificate(folder)}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": token}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        )
    )
    try:
        yield kubeconfig
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)


def _certificate(folder: Path, tries: int = 240) -> str:
    """Return the self-signed certificate of the API server in base 64."""
    file = folder / "certs/apiserver.crt"
    for _ in range(tries):
        if file.exists() and (content := file.read_bytes()):
            return base64.b64encode(content).decode()
        time.sleep(0.5)
    raise SystemExit(f"the API server made no certificate: {file}")


def connect_when_ready(connect_: Path, tries: int = 120) -> Connection:
    """Wait until the API server answers, and return a connection."""
    cause = ""
    for _ in range(tries):
        try:
            connection = connect(connect_)
            next(connection.pages(NAMESPACES))
        except Exception as error:  # noqa: BLE001 - it is not ready yet
            cause = str(error)
            time.sleep(0.5)
        else:
            return connection
    raise SystemExit(f"the API server did not come up: {cause}")


def fill(connection: Connection, world: str, batches_port: int) -> None:
    """Create the objects of a world."""
    operators, nodes, pods, mapped = WORLDS[world]
    names = [f"{world}-{index:03d}" for index in range(nodes)]
    connection.create(NAMESPACES, {"metadata": {"name": world}})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda index: _node(connection, names[index], index), range(nodes)))
        list(pool.map(lambda index: _pod(connection, world, f"other-{index}", names[index % nodes], {}), range(pods)))
    # One digit per delay on large maps, because a ConfigMap is limited to 1 MiB.
    longest = 90 if mapped <= 100 else 9
    delays = [
        [1 + 5 * abs(row - column) % longest if row != column else 0 for column in range(mapped)]
        for row in range(mapped)
    ]
    table = "\n".join(
        [
            "node," + ",".join(names[:mapped]),
            *(f"{name},{','.join(map(str, row))}" for name, row in zip(names, delays, strict=False)),
        ]
    )
    connection.create(CONFIG_MAPS, {"metadata": {"name": "map"}, "data": {"latency.csv": table}}, namespace=world)
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda index: _operator(connection, world, index, names[index % mapped], batches_port), range(operators)
            )
        )


def _operator(connection: Connection, world: str, index: int, node: str, batches_port: int) -> None:
    operator = f"operator-{index}"
    labels = {"spark-role": "executor", "gesscale.dev/autoscaler": operator}
    _pod(connection, world, f"{operator}-exec-1", node, labels)
    spec = {
        "driver": {"node": node, "metricsUrl": f"http://127.0.0.1:{batches_port}/{node}/{operator}"},
        "latencyMap": {"source": "ConfigMap", "configMap": {"name": "map", "unit": "ms", "kind": "rtt"}},
        "mode": "Act",
    }
    body = {
        "apiVersion": STREAM_AUTOSCALERS.api_version,
        "kind": STREAM_AUTOSCALERS.kind,
        "metadata": {"name": operator},
        "spec": spec,
    }
    connection.create(STREAM_AUTOSCALERS, body, namespace=world)


def _node(connection: Connection, name: str, index: int) -> None:
    room = {"cpu": "4", "memory": "4Gi", "pods": "110"}
    labels = {"kubernetes.io/arch": "arm64", "kubernetes.io/hostname": name}
    connection.create(NODES, {"metadata": {"name": name, "labels": labels}})
    status = {
        "allocatable": room,
        "capacity": room,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "addresses": [{"type": "InternalIP", "address": f"10.0.{index // 250}.{1 + index % 250}"}],
    }
    connection.patch(NODES, name, {"status": status}, subresource="status")
    connection.patch(NODES, name, {"spec": {"taints": None}})


def _pod(connection: Connection, namespace: str, name: str, node: str, labels: dict[str, str]) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "20m", "memory": "20Mi"}}}
    connection.create(
        PODS,
        {"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node, "containers": [container]}},
        namespace=namespace,
    )
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    connection.patch(PODS, name, {"status": status}, namespace=namespace, subresource="status")
