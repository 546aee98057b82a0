"""Measures the controller's memory, CPU and API requests with many operators, relative to one operator.

Run ``python benchmarks/controller_footprint.py [MINUTES [WORLD...]] [--root FOLDER]``. A real API server on loopback
(the program of `testbed.kubernetes.tools`) has these worlds in turn: a small one (1 operator, 3 nodes), ``pi`` (20
operators, 20 nodes) and a large one (50 operators on 100 nodes, 3,000 pods that take room). ``fleet`` has 1,000
operators on 1,000 nodes. Only 700 of the nodes are in the latency map, which a ConfigMap limits; it runs only on
request. Nodes and pods are objects only; no kubelet runs them. Each operator has a driver outside the cluster, whose
batches a local server reports; its load varies by a tenth, so that statuses are written as on a real stream. In each
world the controller runs as the Deployment of deploy/k3s starts it, with its environment and the default period of 60
s. After two minutes of warm-up it prints per world, for the following minutes: resident memory (at the end), CPU
seconds per minute, requests to the API server per minute by verb and kind (watches count once each time they are
opened), and the ratios of the last world to the first. It also prints the fewest requests that polling would need:
nodes, pods and resources listed once per period by each operator. At the end the load of every tenth operator becomes
1.5 times its capacity, and it prints the time until their orders were decided, seconds.

``--store kine`` has the store of k3s; ``--fsync-ms 0`` has etcd wait for the disk, a greater number makes each fsync of
the store slower. With ``--disk`` the store is in that folder, the root of a file system that only it uses. A lease of
each node is then renewed every 10 s, as kubelets do. It prints what is written to the device of the file system, MiB
per hour: for as many minutes without the controller, with it, and while it orders after the change of load; and how
long the renewals took meanwhile, ms.

With ``--root`` the controller runs in a folder with the files of its image, as from ``buildah mount``. An image for
another processor runs in qemu's user mode (``qemu-user-static`` and ``binfmt-support``). The memory is then without
that of qemu, and the CPU seconds and waits are those of qemu. Needs root.
"""

import argparse
import base64
import json
import os
import re
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import yaml
from footprint.image import program
from footprint.resident import resident_mib
from footprint.served_batches import Batches

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.credentials import connect
from gesscale.kubernetes.api.lease import LEASE_NAME
from gesscale.kubernetes.api.resources import CONFIG_MAPS, LEASES, NODES, PODS, STREAM_AUTOSCALERS, Resource
from testbed.kubernetes.store import Store, StoreKind
from testbed.kubernetes.tools import build

CRDS = Resource(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)
# operators, nodes, other pods, nodes in the latency map
WORLDS = {
    "small": (1, 3, 30, 3),
    "pi": (20, 20, 200, 20),
    "large": (50, 100, 3000, 100),
    "fleet": (1000, 1000, 1000, 700),
}
DEFAULT_WORLDS = ("small", "pi", "large")
CHANGED_SHARE = 0.1
ORDERS_AWAITED_S = 180.0
WARM_UP_S = 120.0
PERIOD_S = 60.0
NODE_LEASE_S = 10.0
API_PORT, STORE_PORT, PEER_PORT, PROBES_PORT = 26443, 22379, 22380, 28080
ROOT = Path(__file__).parents[1]


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


def requests_so_far() -> Counter[str]:
    """Return the controller's own count of requests by verb, kind and status."""
    with urlopen(f"http://127.0.0.1:{PROBES_PORT}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    counts: Counter[str] = Counter()
    for labels, value in re.findall(r"^gesscale_kubernetes_requests_total\{(.*)\} (\S+)$", text, re.MULTILINE):
        found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        counts[f"{found['verb']} {found['resource']} {found['code']}"] += int(float(value))
    return counts


@contextmanager
def renewed_leases(connection: Connection, nodes: list[str]) -> Iterator[list[float]]:
    """Renew the lease of each node as its kubelet does, until the context ends; yield how long each renewal took, s."""
    took_s: list[float] = []
    ended = threading.Event()
    where = {"namespace": "kube-node-lease"}
    for node in nodes:
        connection.create(LEASES, {"metadata": {"name": node}, "spec": {"leaseDurationSeconds": 40}}, **where)

    def renew() -> None:
        while True:
            for node in nodes:
                if ended.wait(NODE_LEASE_S / len(nodes)):
                    return
                now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                began_s = time.monotonic()
                connection.patch(LEASES, node, {"spec": {"holderIdentity": node, "renewTime": now}}, **where)
                took_s.append(time.monotonic() - began_s)

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        yield took_s
    finally:
        ended.set()
        renewing.join()


class Written:
    """Counts what is written to the device of a file system, from its creation on."""

    def __init__(self, disk: Path) -> None:
        self.disk, self.began_s = disk, time.monotonic()
        self.began = self._bytes()

    def _bytes(self) -> int:
        subprocess.run(("sync", "--file-system", self.disk), check=True)
        device = self.disk.stat().st_dev
        sectors = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()[6]
        return 512 * int(sectors)

    def mib_per_hour(self) -> float:
        """Return the rate so far."""
        written = self._bytes() - self.began
        return round(written / 2**20 * 3600 / (time.monotonic() - self.began_s), 1)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> dict[str, float]:
    """Return the resident memory of a process now and its peak; the latter includes that of qemu."""
    status = Path(f"/proc/{pid}/status").read_text()
    (max_kib,) = re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return {"now": resident_mib(pid), "most": round(int(max_kib) / 1024, 1)}


def orders_after_change(connection: Connection, world: str, operators: int) -> dict[str, object]:
    """Change the load of 10 % of the operators, and return the time until their orders were decided, seconds."""
    changed = range(0, operators, round(1 / CHANGED_SHARE))
    Batches.change = Batches.newest() + 1
    Batches.changed = frozenset(f"operator-{index}" for index in changed)
    began_s = time.time()
    ordered: dict[str, float] = {}
    while len(ordered) < len(changed) and time.time() < began_s + ORDERS_AWAITED_S:
        time.sleep(10.0)
        for page in connection.pages(STREAM_AUTOSCALERS, namespace=world, page_size=100):
            for item in page["items"]:
                at = item.get("status", {}).get("order", {}).get("at")
                at_s = datetime.fromisoformat(at).timestamp() if at else 0.0
                name = item["metadata"]["name"]
                if name in Batches.changed and at_s > began_s:
                    ordered.setdefault(name, at_s - began_s)
    Batches.changed = frozenset()
    return {"changed": len(changed), "ordered": len(ordered), **spread(list(ordered.values()))}


def spread(values: list[float]) -> dict[str, float]:
    """Return how many values there are, and their distribution."""
    ordered = sorted(values)
    if not ordered:
        return {"n": 0}
    found = {
        "n": len(ordered),
        "median": statistics.median(ordered),
        "min": ordered[0],
        "95th_percentile": ordered[int(0.95 * len(ordered))],
        "max": ordered[-1],
    }
    return {key: round(each, 1) for key, each in found.items()}


def leader_terms(connection: Connection) -> int:
    """Return how often a controller began to lead."""
    leases = (each for page in connection.pages(LEASES) for each in page["items"])
    (lease,) = (each for each in leases if each["metadata"]["name"] == LEASE_NAME)
    return int(lease["spec"]["leaseTransitions"])


def deployed_environment() -> dict[str, str]:
    """Return the environment of the controller's Deployment, which affects the memory of libraries."""
    deployment = yaml.safe_load((ROOT / "deploy/k3s/controller/deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


def measure(
    connection: Connection, kubeconfig: Path, world: str, minutes: float, root: Path | None, disk: Path | None
) -> dict[str, object]:
    """Run the controller over one world and return its figures."""
    disk_mib_per_h = {}
    if disk:
        written = Written(disk)
        time.sleep(60 * minutes)
        disk_mib_per_h["without_controller"] = written.mib_per_hour()
    seen_there = kubeconfig if root is None else "/" / kubeconfig.relative_to(root)
    command = (
        *(*program("gesscale", root), "run", "--kubernetes", "--kubeconfig", str(seen_there)),
        *("--namespace", world, "--lease-namespace", world, "--listen", f"127.0.0.1:{PROBES_PORT}"),
        *("--allow-target", "127.0.0.1"),
    )
    with (kubeconfig.parent / f"{world}.log").open("w") as log:
        environment = os.environ | deployed_environment()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        time.sleep(WARM_UP_S)
        before, used_s, began_s = requests_so_far(), cpu_s(process.pid), time.monotonic()
        written = Written(disk) if disk else None
        time.sleep(60 * minutes)
        if written and disk:
            disk_mib_per_h["with_controller"] = written.mib_per_hour()
            written = Written(disk)
        passed_min = (time.monotonic() - began_s) / 60
        asked = requests_so_far() - before
        figures = {
            "memory_mib": memory_mib(process.pid),
            "cpu_s_per_min": round((cpu_s(process.pid) - used_s) / passed_min, 2),
            "requests_per_min": round(sum(asked.values()) / passed_min, 1),
            "by_kind_per_min": {kind: round(count / passed_min, 2) for kind, count in asked.most_common()},
            "threads": len(list(Path(f"/proc/{process.pid}/task").iterdir())),
        }
        print(world, json.dumps(figures), file=sys.stderr, flush=True)
        figures["order_s_after_change"] = orders_after_change(connection, world, WORLDS[world][0])
        if written:
            disk_mib_per_h["while_it_orders"] = written.mib_per_hour()
            figures["disk_mib_per_hour"] = disk_mib_per_h
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    operators = WORLDS[world][0]
    return {**figures, "polling_would_ask_per_min_at_least": 3 * operators * 60 / PERIOD_S}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", type=float, nargs="?", default=5.0)
    parser.add_argument("worlds", nargs="*", default=list(DEFAULT_WORLDS), help=", ".join(WORLDS))
    parser.add_argument("--root", type=Path, help="a folder with the files of the controller's image")
    parser.add_argument("--store", type=StoreKind, default=StoreKind.ETCD, help=", ".join(StoreKind))
    parser.add_argument("--fsync-ms", type=float, help="how much longer each fsync of the store takes")
    parser.add_argument("--disk", type=Path, help="the root of a file system that only the store uses")
    asked = parser.parse_args()
    minutes, worlds = asked.minutes, asked.worlds
    if unknown := set(worlds) - set(WORLDS):
        parser.error(f"expected worlds of {', '.join(WORLDS)}, got {', '.join(sorted(unknown))}")
    root = asked.root.resolve() if asked.root else None
    server = ThreadingHTTPServer(("127.0.0.1", 0), Batches)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with (
        tempfile.TemporaryDirectory(dir=root and root / "tmp") as name,
        api_server(
            Path(name), Store(kind=asked.store, fsync_ms=asked.fsync_ms), asked.disk or Path(name)
        ) as kubeconfig,
        ExitStack() as stack,
    ):
        connection = connect_when_ready(kubeconfig)
        definition = yaml.safe_load((ROOT / "deploy/k3s/crd/streamautoscalers.yaml").read_text())
        connection.create(CRDS, definition)
        time.sleep(5.0)
        results = {}
        for world in worlds:
            fill(connection, world, server.server_port)
            if asked.disk:
                nodes = [f"{world}-{index:03d}" for index in range(WORLDS[world][1])]
                renewals_s = stack.enter_context(renewed_leases(connection, nodes))
            results[world] = measure(connection, kubeconfig, world, minutes, root, asked.disk)
            if asked.disk:
                results[world]["node_lease_ms"] = spread([1000 * each for each in renewals_s])
                results[world]["terms"] = leader_terms(connection)
            print(world, json.dumps(results[world]), file=sys.stderr)
    small, large = results[worlds[0]], results[worlds[-1]]
    ratios = {
        "memory": round(large["memory_mib"]["now"] / small["memory_mib"]["now"], 2),
        **{key: round(large[key] / small[key], 1) for key in ("cpu_s_per_min", "requests_per_min") if small[key]},
    }
    print(json.dumps({"minutes": minutes, **results, "last_to_first": ratios}, indent=2))


if __name__ == "__main__":
    main()
