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
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import yaml
from footprint.disk import Written, renewed_leases
from footprint.image import program
from footprint.resident import resident_mib
from footprint.served_batches import Batches
from footprint.world import WORLDS, api_server, connect_when_ready, fill

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.lease import LEASE_NAME
from gesscale.kubernetes.api.resources import LEASES, STREAM_AUTOSCALERS, Resource
from testbed.kubernetes.store import Store, StoreKind

CRDS = Resource(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
DEFAULT_WORLDS = ("small", "pi", "large")
CHANGED_SHARE = 0.1
ORDERS_AWAITED_S = 180.0
WARM_UP_S = 120.0
PERIOD_S = 60.0
PROBES_PORT = 28080
ROOT = Path(__file__).parents[1]


def requests_so_far() -> Counter[str]:
    """Return the controller's own count of requests by verb, kind and status."""
    with urlopen(f"http://127.0.0.1:{PROBES_PORT}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    counts: Counter[str] = Counter()
    for labels, value in re.findall(r"^gesscale_kubernetes_requests_total\{(.*)\} (\S+)$", text, re.MULTILINE):
        found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        counts[f"{found['verb']} {found['resource']} {found['code']}"] += int(float(value))
    return counts


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
