"""The whole controller against a scripted API server."""

import json
import logging
import threading
import time
from contextlib import contextmanager

import pytest
from kube import FakeApi, by_hand, order
from refusals import logged_codes
from scripted_api import SETTLE_S, as_json, connection_to, refusal, scripted_api

from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.lease import ElectionTimes, steady_now_s
from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS
from gesscale.kubernetes.controller.controller import Controller, ControllerOptions
from gesscale.kubernetes.controller.probes import liveness_failures, readiness_failures

QUICK = ElectionTimes(duration_s=0.8, renew_deadline_s=0.6, renew_every_s=0.1, retry_s=0.05)
"""On a busy machine a leader with these times may lose its Lease for a moment."""
GIVEN_BACK = {
    "metadata": {"name": "gesscale-controller", "uid": "u", "resourceVersion": "1"},
    "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0},
}
"""A released Lease is acquired at once; the creator of a Lease would wait for a former leader."""
NODE_STATUS = {
    "conditions": [{"type": "Ready", "status": "True"}],
    "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "110"},
}
EXECUTOR = {
    "metadata": {
        "name": "e1",
        "namespace": "streams",
        "labels": {"spark-role": "executor", "gesscale.dev/autoscaler": "op"},
    },
    "spec": {"nodeName": "a", "containers": [{"name": "c"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


class Cluster:
    """A cluster with nodes a to c and one executor on a; `store` has the resources, `lease` the Lease."""

    def __init__(self, script):
        self.store, self.lease, self.script, self.lists = FakeApi(), None, script, True
        script.answers(self.answer)
        script.answers(self.hold, to="watch")

    def hold(self, handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.flush()
        self.script.over.wait(SETTLE_S)
        handler.close_connection = True

    def answer(self, handler):
        self._reply(handler.command, handler.recorded.path, handler.recorded.body)(handler)

    def _reply(self, method, path, body):
        if method == "POST" and "/leases" not in path:  # a review of a right, or an event
            return as_json({"status": {"allowed": True}}, 201)
        if "/leases" in path:
            return self._reply_lease(method, body) if "/namespaces/" in path else as_json({"metadata": {}, "items": []})
        if path.endswith("/streamautoscalers") and not self.lists:
            return (
                refusal(404, "NotFound", "could not find the requested resource")
                if self.lists is None
                else refusal(403, "Forbidden", "no")
            )
        if method == "PATCH":
            return self._reply_patch(path, body)
        items = {
            "nodes": [{"metadata": {"name": name}, "status": NODE_STATUS} for name in "abc"],
            "pods": [EXECUTOR],
            "streamautoscalers": list(self.store.served.values()),
        }.get(path.rpartition("/")[2])
        if items is None:
            return refusal(404, "NotFound", path)
        return as_json({"metadata": {"resourceVersion": "7"}, "items": items})

    def _reply_lease(self, method, body):
        if method == "GET" and self.lease is None:
            return refusal(404, "NotFound", "no lease")
        if method != "GET":
            version = int(body["metadata"].get("resourceVersion", 0)) + 1
            self.lease = {**body, "metadata": {**body["metadata"], "uid": "u", "resourceVersion": str(version)}}
        return as_json(self.lease)

    def _reply_patch(self, path, body):
        name = path.split("/")[-2]
        try:
            done = self.store.patch(
                STREAM_AUTOSCALERS, name, body, namespace="streams", subresource="status", dry_run=False
            )
        except ApiError as error:
            return refusal(error.status, "Refused", str(error))
        return as_json(done)

    @property
    def order(self):
        return self.store.status().get("order")

    @property
    def holder(self):
        return (self.lease or {}).get("spec", {}).get("holderIdentity")


@pytest.fixture
def cluster():
    with scripted_api() as script:
        yield Cluster(script)


@contextmanager
def running(cluster, times=QUICK):
    connection = connection_to(cluster.script.url)
    controller = Controller(connection, ControllerOptions(times=times), version="1.0")
    thread = threading.Thread(target=controller.run)
    thread.start()
    try:
        yield controller
    finally:
        controller.stop()
        thread.join(2 * SETTLE_S)
        connection.close()
        assert not thread.is_alive()


def until(done, what, within_s=SETTLE_S):
    end_s = time.monotonic() + within_s
    while not done():
        assert time.monotonic() < end_s, what
        time.sleep(0.02)


def unready(controller):
    return [failure.code for failure in readiness_failures(controller.health(), steady_now_s())]


def test_it_leads_orders_reports_and_releases_the_lease(cluster):
    cluster.store.put(**by_hand("a", "b"))
    cluster.lease = GIVEN_BACK
    with running(cluster, ElectionTimes()) as controller:
        until(lambda: cluster.store.status().get("conditions"), "a report")
        assert cluster.order["placement"] == ["a", "b"]
        assert cluster.holder == controller.identity
        until(lambda: unready(controller) == [], "it is ready")
        assert liveness_failures(controller.health(), steady_now_s()) == ()
        assert [each.workflow for each in controller.health().steps] == ["streams/op"]
        page = controller.metrics.page({})[1].decode()
        assert 'resource="streamautoscalers/status"' in page
        (shown,) = controller.journal.workflows()
        assert (shown["name"], shown["points"][0]["placement"]) == ("streams/op", ["a", "b"])
    assert cluster.holder == ""


def test_its_term_exceeds_that_of_any_order(cluster):
    cluster.store.put(status={"order": order(3, "a", term=5)}, **by_hand("a", "b"))
    with running(cluster):
        until(lambda: cluster.order["placement"] == ["a", "b"], "an order")
    assert (cluster.order["term"], cluster.lease["spec"]["leaseTransitions"]) == (6, 6)


def test_it_is_no_candidate_before_it_has_listed_the_resources(cluster):
    cluster.lists = False
    with running(cluster) as controller:
        until(lambda: "cache-not-listed" in unready(controller), "it is reported")
        lists = lambda: [each for each in cluster.script.requests if each.path.endswith("/streamautoscalers")]  # noqa: E731
        until(lambda: len(lists()) > 2, "it was tried again")
        assert not [each for each in cluster.script.requests if "/leases" in each.path]
        assert not controller.leads


def test_a_missing_definition_is_logged_once(cluster, caplog):
    caplog.set_level(logging.INFO)
    cluster.lists = None
    with running(cluster) as controller:
        until(lambda: "cache-not-listed" in logged_codes(caplog.text), "it is logged")
        lists = lambda: [each for each in cluster.script.requests if each.path.endswith("/streamautoscalers")]  # noqa: E731
        until(lambda: len(lists()) > 2, "it was tried again")
        assert not controller.leads
        cluster.lists = True
        until(lambda: controller.leads, "it leads")
    assert logged_codes(caplog.text).count("cache-not-listed") == 1
    assert "event=WatchRecovered resource=streamautoscalers" in caplog.text


def test_a_leader_that_another_controller_replaced_orders_nothing(cluster):
    cluster.store.put(**by_hand("a", "b"))
    with running(cluster) as controller:
        until(lambda: cluster.order and controller.health().steps, "an order")
        taken = json.loads(json.dumps(cluster.lease))
        taken["spec"]["holderIdentity"] = "other"
        conflict = refusal(409, "Conflict", "changed")
        cluster._reply_lease = lambda method, _: as_json(taken) if method == "GET" else conflict
        until(lambda: not controller.leads, "it has lost")
        until(lambda: not controller.health().steps, "it has dropped its workflows")
        until(lambda: unready(controller) == [], "it is ready to follow")
        before = len(cluster.store.patches)
        cluster.store.put(**by_hand("a", "c"))
        time.sleep(0.6)
        assert len(cluster.store.patches) == before


def test_an_invalid_resource_is_reported_and_stops_no_other(cluster):
    cluster.store.put("bad", **by_hand("a", minReplicas=9))
    cluster.store.put(**by_hand("a", "b"))
    with running(cluster):
        until(lambda: cluster.order, "an order for the sound one")
        until(lambda: cluster.store.status("bad").get("conditions"), "a report on the invalid one")
    ready = cluster.store.status("bad")["conditions"][0]
    assert (ready["reason"], ready["status"]) == ("SpecInvalid", "False")
