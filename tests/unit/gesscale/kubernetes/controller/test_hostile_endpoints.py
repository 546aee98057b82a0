"""Endpoints that hang delay the workflows of their namespace only."""

import json
import socket
import threading
import time
from contextlib import closing

import pytest
from kube import FakeApi, FakeCluster, Silent, context_of
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from gesscale.common.threads import in_thread
from gesscale.kubernetes.controller.scheduling import WorkflowScheduler
from gesscale.kubernetes.controller.status_reporter import StatusReporter
from gesscale.kubernetes.controller.targets import AllowedTarget, Targets
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.resource.translate import group_into_workflows
from gesscale.service.metrics import ScalerMetrics

HOSTILE = 50
LOOPBACK = AllowedTarget.parse("127.0.0.0/8")


def resource(namespace, name, url):
    spec = {
        "maxReplicas": 2,
        "driver": {"node": "a", "metricsUrl": url},
        "latencyMap": {"source": "ConfigMap", "configMap": {"name": "map"}},
        "monitor": {"period": "1s", "timeout": "30s"},
    }
    metadata = {"namespace": namespace, "name": name, "uid": f"{namespace}-{name}", "generation": 1}
    return {"metadata": {**metadata, "resourceVersion": "1"}, "spec": spec}


@pytest.fixture
def black_hole():
    """Accepts connections and never answers; counts them."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=HOSTILE)
    peers, over = [], threading.Event()

    def accept():
        while not over.is_set():
            try:
                peers.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    with closing(listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", peers
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        for peer in peers:
            peer.close()


@pytest.mark.parametrize("neighbour", ["streams", "hostile"])
def test_fifty_endpoints_that_hang_delay_no_other_workflow(black_hole, httpserver: HTTPServer, neighbour):
    """The healthy workflow is in another namespace, or in that of the others."""
    url, waiting = black_hole
    asked = threading.Semaphore(0)

    def batches(_request: Request) -> Response:
        asked.release()
        head = {"apiVersion": "gesscale.dev/v1", "operator": "well", "now_s": time.time(), "batches": []}
        return Response(json.dumps(head), content_type="application/json")

    httpserver.expect_request("/batches").respond_with_handler(batches)
    documents = [resource("hostile", f"bad-{number:02d}", url) for number in range(HOSTILE)]
    documents.append(resource(neighbour, "well", httpserver.url_for("").rstrip("/")))
    watched = {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each for each in documents}
    world, metrics = FakeCluster(), ScalerMetrics("1.0")
    kept = Documents(FakeApi(), lambda: watched)
    scheduler = WorkflowScheduler(
        context=context_of(world.snapshot, OrderWriter(kept, lambda: 1), targets=Targets((LOOPBACK,), world.snapshot)),
        documents=kept,
        reporter=StatusReporter(kept, Silent(), metrics, lambda: 1, time.time),
        metrics=metrics,
        begin=in_thread,
        now_s=time.time,
        steady_s=time.monotonic,
    )
    workflows = group_into_workflows(documents).workflows
    assert len(workflows) == HOSTILE + 1
    # A request to an endpoint that hangs times out after 27 s, 0.9 of the timeout.
    steps, give_up_s = 0, time.monotonic() + 25
    while steps < 4 and time.monotonic() < give_up_s:
        scheduler.advance(workflows, 1)
        steps += asked.acquire(timeout=0.1)
    running = [each for each in scheduler.statuses() if each.running_since_s is not None and "bad" in each.workflow]
    scheduler.drop_all()
    for peer in waiting:
        peer.close()
    assert steps == 4
    assert len(running) == HOSTILE  # all of them were still hanging
    scheduler.wait(30)
