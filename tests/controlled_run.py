"""A controlled stream in memory: a controller of one workflow, fake nodes, pods and driver, a virtual clock."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from controlled_world import Operator
from edge import delays
from kube import EPOCH_S, FakeApi, FakeCluster, context_of, node, order_writer_of, pod

from gesscale.kubernetes.controller.latencies import LatencyMaps
from gesscale.kubernetes.controller.targets import AllowedTarget, Targets
from gesscale.kubernetes.controller.workflow_controller import WorkflowController
from gesscale.service.journal import Journal
from latency_map.writing import map_to_matrix

PERIOD_S = 10
POOL = {"gesscale.dev/pool": "edge"}


class ControlledRun:
    """Operator op: the driver on hub, executors of 500 rows/s; far is in the map but not in the pool."""

    def __init__(self) -> None:
        self.api, self.journal = FakeApi(), Journal()
        self.operator = Operator("op", offered=0, executors=("near",))
        self.at_s = EPOCH_S
        nodes = [node(name, labels=POOL) for name in ("hub", "near", "mid", "edge")]
        self.world = FakeCluster(nodes=[*nodes, node("far")])
        self._place(("near",))

    def start(self, url: str) -> None:
        self.api.put(
            mode="Act",
            maxReplicas=3,
            driver={"node": "hub", "metricsUrl": url},
            nodePool={"matchLabels": POOL},
            slo="20s",
            batchCap={"rowsPerReplica": 500},
            monitor={"period": f"{PERIOD_S}s", "staleAfter": "40s"},
            reconfiguration={"rescaleTimeout": "90s"},
            latencyMap={"source": "ConfigMap", "configMap": {"name": "map", "unit": "ms", "kind": "rtt"}},
        )
        targets = Targets((AllowedTarget.parse("127.0.0.1"),), self.world.snapshot)
        context = context_of(
            self.world.snapshot,
            order_writer_of(self.api),
            journal=self.journal,
            targets=targets,
            latency_maps=LatencyMaps(self, targets.client, tuple),
        )
        self.controller = WorkflowController(self.api.workflow(), context, 1, {}, EPOCH_S)

    def get(self, *_: object, **__: object) -> dict[str, Any]:
        """Return the ConfigMap of the latency map, as a connection does."""
        return {"data": {"latency.csv": map_to_matrix(delays())}}

    def run(self, rates: Sequence[int]) -> None:
        """Run a period at each rate, with a batch a second; an order is applied before the next step."""
        for rate in rates:
            self.operator.offered = rate
            for _ in range(PERIOD_S):
                self.at_s += 1
                self.operator.run_batch(self.at_s)
            self.controller.step(self.api.workflow(), self.at_s)
            order = self.api.status().get("order")
            self.api.catch_up()
            if order:
                self._place(tuple(order["placement"]))

    def lose(self, name: str) -> None:
        """Delete a node with its executor."""
        self.world.nodes = [each for each in self.world.nodes if each.name != name]
        self._place(tuple(each for each in self.operator.executors if each != name))

    def _place(self, nodes: tuple[str, ...]) -> None:
        known = {each.name for each in self.world.nodes}
        self.operator.executors = tuple(name for name in nodes if name in known)
        self.world.pods = [pod(f"op-{name}", name) for name in self.operator.executors]

    def document(self) -> bytes:
        return json.dumps({**self.operator.document(), "now_s": self.at_s, "last_progress_at_s": self.at_s}).encode()


@contextlib.contextmanager
def controlled_run() -> Iterator[ControlledRun]:
    run = ControlledRun()

    class Driver(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = run.document()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Driver)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        run.start(f"http://127.0.0.1:{server.server_port}")
        yield run
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)
