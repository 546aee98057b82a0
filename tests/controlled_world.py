"""A namespace of a real cluster with controlled operators, whose drivers and executors are not Spark.

A driver here is a local server that serves batches like ``gesscale.spark``, and a thread that applies orders with
busybox pods. What Spark does is tested with Spark; here it is the controller that is under test.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import yaml
from waiting import until

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.credentials import connect
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.lease import LEASE_NAME
from gesscale.kubernetes.api.resources import CONFIG_MAPS, LEASES, PODS, STREAM_AUTOSCALERS, Resource
from testbed.free_port import free_port
from testbed.kubernetes.images import BUSYBOX

ROOT = Path(__file__).parents[1]
NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)
ROWS_PER_REPLICA = 500
PERIOD_S = 2.0
SLO_S = 5.0
"""A short objective, so that a test need not wait a minute until a replica pays off."""


@dataclass
class Operator:
    """Runs a batch each second with the offered rows, at most 500 per executor."""

    name: str
    offered: int
    executors: tuple[str, ...]
    applies: bool = True
    batches: list[dict] = field(default_factory=list)
    backlog: int = 0
    offered_total: int = 0
    processed_total: int = 0

    def run_batch(self, ended_at_s: float) -> None:
        cap = ROWS_PER_REPLICA * len(self.executors)
        if not cap:
            return
        self.offered_total += self.offered
        rows = min(cap, self.backlog + self.offered)
        self.backlog += self.offered - rows
        self.processed_total += rows
        seconds = rows / cap
        self.batches.append(
            {
                "batch_id": len(self.batches),
                "started_at_s": ended_at_s - seconds,
                "ended_at_s": ended_at_s,
                "rows": rows,
                "seconds": seconds,
                "trigger_s": 1.0,
                "cap_rows": cap,
                "cap_rows_per_replica": ROWS_PER_REPLICA,
                "offered_rows_total": float(self.offered_total),
                "processed_rows_total": self.processed_total,
                "backlog_rows": float(self.backlog),
                "replicas": len(self.executors),
                "hosts": list(self.executors),
                "hosts_at_start": list(self.executors),
            }
        )

    def document(self) -> dict:
        now_s = time.time()
        return {
            "apiVersion": "gesscale.dev/v1",
            "app": self.name,
            "operator": self.name,
            "query": "q",
            "now_s": now_s,
            "active": True,
            "last_progress_at_s": now_s,
            "cap_rows": None,
            "trigger_s": 1.0,
            "listener_errors": 0,
            "batches": self.batches[-100:],
        }


_ENDED = {"settledAt", "givenUp", "downtimeSeconds"}


class World:
    """One namespace with its operators."""

    def __init__(self, cluster, namespace: str, folder: Path) -> None:
        self.cluster, self.namespace, self.folder = cluster, namespace, folder
        self.nodes = tuple(cluster.node_names)
        self.admin = connect(cluster.kubeconfig)
        self.operators: dict[str, Operator] = {}
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threads = (self._server.serve_forever, self._run_batches, self._apply_orders)
        self._threads = [threading.Thread(target=target, daemon=True) for target in threads]

    def __enter__(self) -> "World":
        topology = self.cluster.topology
        names = [node.name for node in topology.nodes]
        rows = [
            ",".join((one, *("0" if one == other else str(topology.rtt_ms(one, other)) for other in names)))
            for one in names
        ]
        table = "\n".join((",".join(("node", *names)), *rows))
        self.admin.create(
            CONFIG_MAPS, {"metadata": {"name": "map"}, "data": {"latency.csv": table}}, namespace=self.namespace
        )
        given_back = {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}
        lease = {"metadata": {"name": LEASE_NAME}, "spec": given_back}  # a new one is not led by for 15 s
        self.admin.create(LEASES, lease, namespace=self.namespace)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join(20)
        self.admin.close()

    def add(
        self, name: str, *, offered: int = 750, on: tuple[str, ...] = (), applies: bool = True, **spec: object
    ) -> Operator:
        """Start an operator with executors on some nodes, by default on the first, and create its resource."""
        operator = Operator(name, offered, executors=(), applies=applies)
        for node in on or self.nodes[:1]:
            self.start_executor(name, node)
        self.operators[name] = operator
        self.create(name, **spec)
        return operator

    def create(self, name: str, **spec: object) -> None:
        self.admin.create(
            STREAM_AUTOSCALERS,
            {
                "apiVersion": STREAM_AUTOSCALERS.api_version,
                "kind": STREAM_AUTOSCALERS.kind,
                "metadata": {"name": name},
                "spec": {**self.common(name), **spec},
            },
            namespace=self.namespace,
        )

    def common(self, name: str) -> dict:
        driver = {"node": self.cluster.topology.driver_node, "metricsUrl": f"{self.url}/{name}"}
        return {
            "driver": driver,
            "maxReplicas": 2,
            "mode": "Act",
            "latencyMap": {"source": "ConfigMap", "configMap": {"name": "map", "unit": "ms", "kind": "rtt"}},
            "monitor": {"period": f"{PERIOD_S:g}s", "window": "5s", "history": "20s", "staleAfter": "15s"},
            "slo": f"{SLO_S:g}s",
            "reconfiguration": {"rescaleTimeout": "60s"},
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def get(self, name: str) -> dict:
        return self.admin.get(STREAM_AUTOSCALERS, name, namespace=self.namespace)

    def status(self, name: str) -> dict:
        return self.get(name).get("status") or {}

    def order(self, name: str) -> dict:
        """Return its order as written, without the outcome, which is added later."""
        order = self.status(name).get("order") or {}
        return {key: value for key, value in order.items() if key not in _ENDED}

    def reason(self, name: str) -> str:
        return (self.status(name).get("lastDecision") or {}).get("reason", "")

    def outcome(self, name: str) -> str:
        return (self.status(name).get("lastDecision") or {}).get("outcome", "")

    def condition(self, name: str, kind: str) -> dict:
        found = [each for each in self.status(name).get("conditions") or () if each["type"] == kind]
        return found[0] if found else {}

    def patch(self, name: str, spec: dict) -> None:
        self.admin.patch(STREAM_AUTOSCALERS, name, {"spec": spec}, namespace=self.namespace)

    def patch_status(self, name: str, status: dict) -> None:
        self.admin.patch(STREAM_AUTOSCALERS, name, {"status": status}, namespace=self.namespace, subresource="status")

    def events(self, name: str) -> list[dict]:
        text = self.cluster.run_kubectl(
            "-n", self.namespace, "get", "events", "-o", "json",
            "--field-selector", f"involvedObject.name={name}",
        )  # fmt: skip
        return json.loads(text)["items"]

    def event_reasons(self, name: str) -> set[str]:
        return {item["reason"] for item in self.events(name)}

    def pods_of(self, name: str) -> dict[str, dict]:
        """Return its executors' pods by node."""
        pages = self.admin.pages(PODS, namespace=self.namespace, label_selector=f"gesscale.dev/autoscaler={name}")
        pods = [item for page in pages for item in page["items"]]
        hostname = "kubernetes.io/hostname"
        return {
            pod["spec"]["nodeSelector"][hostname]: pod for pod in pods if "deletionTimestamp" not in pod["metadata"]
        }

    def start_executor(self, name: str, node: str) -> None:
        labels = {"spark-role": "executor", "gesscale.dev/autoscaler": name}
        container = {
            "name": "executor",
            "image": BUSYBOX,
            "command": ["sleep", "100000"],
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        }
        selector = {"kubernetes.io/hostname": node}
        spec = {"terminationGracePeriodSeconds": 0, "nodeSelector": selector, "containers": [container]}
        spec["automountServiceAccountToken"] = False
        body = {"metadata": {"generateName": f"{name}-", "labels": labels}, "spec": spec}
        self.admin.create(PODS, body, namespace=self.namespace)

    def _run_batches(self) -> None:
        while not self._over.wait(1.0):
            for operator in list(self.operators.values()):
                operator.run_batch(time.time())

    def _apply_orders(self) -> None:
        while not self._over.wait(0.3):
            for name, operator in list(self.operators.items()):
                with contextlib.suppress(ApiError):  # it is tried again
                    self._apply(name, operator)

    def _apply(self, name: str, operator: Operator) -> None:
        pods = self.pods_of(name)
        running = (node for node, pod in pods.items() if (pod.get("status") or {}).get("phase") == "Running")
        operator.executors = tuple(sorted(running))
        order = self.order(name)
        placement = order.get("placement")
        if placement is None or not operator.applies:
            return
        wanted = set(placement) - set(order.get("lost", ()))
        for node in wanted - set(pods):
            self.start_executor(name, node)
        for node in set(pods) - wanted:
            self.admin.delete(PODS, pods[node]["metadata"]["name"], namespace=self.namespace)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        world = self

        class Batches(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                operator = world.operators.get(self.path.strip("/").split("/")[0])
                body = json.dumps(operator.document() if operator else {}).encode()
                self.send_response(200 if operator else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Batches


@dataclass
class Process:
    """A controller as a user runs it."""

    popen: subprocess.Popen
    port: int
    log: Path

    def readyz(self) -> tuple[int, str]:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except (URLError, OSError) as error:
            return 0, str(error)

    @property
    def leads(self) -> bool:
        return "ready: leader" in self.readyz()[1]

    def signal(self, number: int) -> None:
        self.popen.send_signal(number)


def kubeconfig_of(cluster, namespace: str, folder: Path) -> Path:
    """Return the administrator's kubeconfig with its namespace, which contains the lease."""
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    for context in content["contexts"]:
        context["context"]["namespace"] = namespace
    file = folder / f"kubeconfig-{namespace}"
    file.write_text(yaml.safe_dump(content))
    file.chmod(0o600)
    return file


@contextlib.contextmanager
def controller(world: World, name: str = "one", *, lease: str = "") -> Iterator[Process]:
    """Run a controller of the world's namespace within the context.

    Parameters
    ----------
    lease
        Namespace and name of its Lease; by default one in the world's namespace.
    """
    lease_namespace, _, lease_name = lease.partition("/")
    port = free_port()
    log = world.folder / f"controller-{name}.log"
    command = (
        *(str(Path(sys.executable).with_name("gesscale")), "run", "--kubernetes"),
        *("--kubeconfig", str(kubeconfig_of(world.cluster, world.namespace, world.folder))),
        *("--namespace", world.namespace, "--lease-namespace", lease_namespace or world.namespace),
        *("--lease-name", lease_name or LEASE_NAME),
        *("--listen", f"127.0.0.1:{port}", "--allow-target", "127.0.0.1"),
    )
    with log.open("a") as file:
        popen = subprocess.Popen(
            command, cwd=ROOT, stdout=file, stderr=file, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
    try:
        yield Process(popen, port, log)
    finally:
        if popen.poll() is None:
            popen.send_signal(signal.SIGCONT)
            popen.terminate()
        try:
            popen.wait(240)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait(60)
            raise


def define(cluster, admin: Connection) -> None:
    """Install the definition of StreamAutoscalers."""
    definition = ROOT / "deploy" / "k3s" / "crd" / "streamautoscalers.yaml"
    cluster.run_kubectl("apply", "--server-side", "--force-conflicts", "-f", str(definition))

    def served() -> bool:
        try:
            return bool(list(admin.pages(STREAM_AUTOSCALERS)))
        except ApiError:
            return False

    until(served, "the resource is served")
