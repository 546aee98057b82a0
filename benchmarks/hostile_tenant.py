"""What one hostile namespace costs its neighbour and the controller: the healthy operator's steps, and memory.

Run ``python benchmarks/hostile_tenant.py [--seconds 60] [--scenes NAME ...] [--controller COMMAND]``. A real API
server on loopback holds a healthy operator, stepped every two seconds. Another namespace holds fifty operators,
stepped every second. In each scene

- none exists (*alone*, the baseline);
- every endpoint accepts connections and says nothing (*hang*);
- every endpoint answers 4 MB of empty lists (*flood*);
- every latency map is an edge list of 33 kB that names 5,000 nodes (*maps*).

For each scene the controller runs as a user starts it. Printed are the seconds between two requests to the healthy
operator's driver (median and longest, and the ratio of the longest to that of *alone*), how many there were, and the
controller's memory at its most. ``--controller`` names the command of another version, for a comparison.
"""

import argparse
import json
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import yaml
from controller_footprint import (
    CRDS,
    NAMESPACES,
    PROBES_PORT,
    ROOT,
    _node,
    _pod,
    api_server,
    memory_mib,
    patiently,
)
from footprint.served_batches import Batches

from gesscale.common.text import command_line
from gesscale.kubernetes.api import Connection
from gesscale.kubernetes.api.resources import CONFIG_MAPS, STREAM_AUTOSCALERS

OPERATORS = 50
SCENES = ("alone", "hang", "flood", "maps")
WARM_UP_S = 15.0
HANG_S = 60.0
FLOOD_BYTES = 4_000_000
NODES = ("node-a", "node-b", "node-c")
NEAR = "node,node-a,node-b,node-c\nnode-a,0,5,9\nnode-b,5,0,9\nnode-c,9,9,0\n"
COMMAND = (
    str(Path(sys.executable).with_name("gesscale")),
    "run",
    "--kubernetes",
    "--allow-target",
    "127.0.0.1",
)


class Endpoints(Batches):
    """Drivers of all kinds, distinguished by the first part of the path: ``/KIND/OPERATOR/batches``."""

    asked_at_s: ClassVar[list[float]] = []
    over: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:  # noqa: N802 - the base class names it so
        """Answer as the kind does."""
        _, kind, operator, _ = self.path.split("/")
        if kind == "hang":
            self.over.wait(HANG_S)
        elif kind == "flood":
            self._flood(operator)
        else:
            if operator == "healthy":
                self.asked_at_s.append(time.monotonic())
            super().do_GET()

    def _flood(self, operator: str) -> None:
        head = {"apiVersion": "gesscale.dev/v1", "operator": operator, "now_s": time.time()}
        body = json.dumps(head)[:-1] + ', "batches": [' + "[]," * (FLOOD_BYTES // 3) + "[]]}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def wide_edges() -> str:
    """Return an edge list of 33 kB with 5,000 nodes."""
    return "".join(f"n{number},m,1\n" if number < 10 else f"{number:x},m,1\n" for number in range(4999))


def autoscaler(connection: Connection, namespace: str, name: str, kind: str, port: int, period: str) -> None:
    """Create an operator with a driver of a kind."""
    spec: dict[str, Any] = {
        "driver": {"node": NODES[0], "metricsUrl": f"http://127.0.0.1:{port}/{kind}/{name}"},
        "latencyMap": {
            "source": "ConfigMap",
            "configMap": {"name": "map", "unit": "ms", "kind": "rtt"},
            "refresh": "10s",
        },
        "monitor": {"period": period, "window": "30s"},
    }
    body = {
        "apiVersion": STREAM_AUTOSCALERS.api_version,
        "kind": STREAM_AUTOSCALERS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    connection.create(STREAM_AUTOSCALERS, body, namespace=namespace)


def fill(connection: Connection, scene: str, port: int) -> None:
    """Create the hostile namespace of a scene; its map is a good one but in the scene of maps."""
    connection.create(NAMESPACES, {"metadata": {"name": scene}})
    text = wide_edges() if scene == "maps" else NEAR
    connection.create(
        CONFIG_MAPS, {"metadata": {"name": "map"}, "data": {"latency.csv": text}}, namespace=scene
    )
    for number in range(OPERATORS):
        autoscaler(connection, scene, f"bad-{number}", scene, port, "1s")


def empty(connection: Connection, scene: str) -> None:
    """Delete the operators of a scene."""
    for number in range(OPERATORS):
        connection.delete(STREAM_AUTOSCALERS, f"bad-{number}", namespace=scene)


def measure(
    command: tuple[str, ...], kubeconfig: Path, scene: str, folder: Path, seconds: float
) -> dict[str, float]:
    """Run the controller and return its figures."""
    more = ("--kubeconfig", str(kubeconfig))
    with (folder / f"{scene}.log").open("w") as log:
        process = subprocess.Popen(
            (*command, *more, "--listen", f"127.0.0.1:{PROBES_PORT}"), cwd=ROOT, stdout=log, stderr=log
        )
    try:
        time.sleep(WARM_UP_S)
        began_s = time.monotonic()
        time.sleep(seconds)
        ended_s = time.monotonic()
        memory = memory_mib(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
    asked = [at_s for at_s in Endpoints.asked_at_s if began_s <= at_s <= ended_s]
    marks = [began_s, *asked, ended_s]
    waits = [after - before for before, after in pairwise(marks)]
    return {
        "steps": len(asked),
        "median_s": round(median(waits), 2),
        "longest_s": round(max(waits), 2),
        "memory_mib_most": memory["most"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=SCENES)
    parser.add_argument("--controller", default=command_line(COMMAND))
    asked = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoints)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name, api_server(Path(name)) as kubeconfig:
        folder, connection = Path(name), patiently(kubeconfig)
        definition = yaml.safe_load((ROOT / "deploy/k3s/crd/streamautoscalers.yaml").read_text())
        connection.create(CRDS, definition)
        time.sleep(5.0)
        connection.create(NAMESPACES, {"metadata": {"name": "streams"}})
        connection.create(
            CONFIG_MAPS, {"metadata": {"name": "map"}, "data": {"latency.csv": NEAR}}, namespace="streams"
        )
        for index, node in enumerate(NODES):
            _node(connection, node, index)
        labels = {"spark-role": "executor", "gesscale.dev/autoscaler": "healthy"}
        _pod(connection, "streams", "healthy-exec-1", NODES[0], labels)
        autoscaler(connection, "streams", "healthy", NODES[0], server.server_port, "2s")
        for scene in asked.scenes:
            if scene != "alone":
                fill(connection, scene, server.server_port)
            results[scene] = measure(
                tuple(shlex.split(asked.controller)), kubeconfig, scene, folder, asked.seconds
            )
            print(scene, json.dumps(results[scene]), file=sys.stderr)
            if scene != "alone":
                empty(connection, scene)
    ratios = {
        scene: round(found["longest_s"] / results["alone"]["longest_s"], 2)
        for scene, found in results.items()
        if "alone" in results
    }
    print(json.dumps({**results, "longest_to_alone": ratios}, indent=2))


if __name__ == "__main__":
    main()
