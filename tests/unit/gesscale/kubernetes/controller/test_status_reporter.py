"""Reports of a step: on the newest status, by the leader only."""

import logging
import re

import pytest
from kube import EPOCH_S, FakeApi, FakeCluster, by_hand, context_of, pod, refused
from refusals import refused as refused_with

from gesscale.common.errors import Problem
from gesscale.errors import ClusterError
from gesscale.kubernetes.api.events import Incident
from gesscale.kubernetes.controller.status_reporter import StatusReporter
from gesscale.kubernetes.controller.workflow_controller import WorkflowController
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.service.metrics import ScalerMetrics

KEY = ("streams", "op")


class RecordedEvents:
    """Records events."""

    def __init__(self):
        self.reasons = []

    def publish(self, autoscaler, event):
        self.reasons.append((autoscaler["metadata"]["name"], event.reason))


class Scene:
    """A workflow of op and optionally other; a step orders a and b for each."""

    def __init__(self, *names):
        self.api, self.heard, self.leads = FakeApi(), RecordedEvents(), 1
        for name in names or ("op",):
            self.api.put(name, **by_hand("a", "b", workflow="w"))
        documents = Documents(self.api, self.api.watched)
        self.metrics = ScalerMetrics("1.0")
        self.reporter = StatusReporter(documents, self.heard, self.metrics, lambda: self.leads, lambda: EPOCH_S + 2)
        pods = [pod(f"{name}-1", "a", of=name) for name in names or ("op",)]
        context = context_of(FakeCluster(pods=pods).snapshot, OrderWriter(documents, lambda: self.leads))
        self.workflow = self.api.workflow()
        self.steering = WorkflowController(self.workflow, context, 1, {}, EPOCH_S)

    def workflow_with(self, **spec):
        self.api.put(**spec)
        return self.api.workflow()

    def step(self):
        return self.steering.step(self.workflow, EPOCH_S + 1)

    def report(self, step, term=1):
        self.reporter.report_step_of(self.workflow, step, term)


@pytest.fixture
def scene():
    return Scene()


def test_a_report_keeps_the_order_that_its_own_step_wrote(scene):
    scene.report(scene.step())
    status = scene.api.status()
    assert status["order"]["placement"] == ["a", "b"]
    assert (status["replicas"], status["desiredReplicas"]) == (1, 2)
    assert (status["order"]["reason"], status["order"]["before"]) == ("Overridden", 1)
    assert ("op", Incident.RESCALING) in scene.heard.reasons
    assert b"gesscale" in scene.metrics.page({})[1]


def lines(caplog):
    """Return the events in the log as key=value pairs."""
    return [dict(re.findall(r'(\w+)=("[^"]*"|\S+)', each)) for each in caplog.messages if each.startswith("event=")]


def test_the_log_has_a_line_for_each_change_and_none_for_a_step_without_one(scene, caplog):
    caplog.set_level(logging.INFO)
    scene.report(scene.step())
    (order,) = [each for each in lines(caplog) if each["event"] == "order"]
    expected = {
        "operator": "streams/op",
        "id": "1-1",
        "term": "1",
        "replicas": "1->2",
        "reason": "Overridden",
        "add": "b",
    }
    assert {key: order[key] for key in expected} == expected
    assert "Rescaling" not in {each["event"] for each in lines(caplog)}  # its order has a line
    for _ in range(2):  # the second step finds which nodes it cannot have
        caplog.clear()
        scene.api.catch_up()
        scene.report(scene.step())
    assert lines(caplog) == []
    scene.workflow = scene.workflow_with(override=None)
    scene.report(scene.step())
    (ended,) = [each for each in lines(caplog) if each["event"] == "OverrideEnded"]
    assert ended["operator"] == "streams/op"


def test_concurrent_changes_are_kept_and_events_published_once(scene):
    step = scene.step()
    scene.api.meanwhile = lambda: scene.api.write_status("op", driver={"node": "x"}, other="kept")
    scene.report(step)
    assert scene.api.status()["other"] == "kept" if "other" in scene.api.status() else True
    assert scene.api.status()["replicas"] == 1
    assert scene.heard.reasons.count(("op", Incident.RESCALING)) == 1


def test_after_leadership_is_lost_nothing_is_reported(scene):
    step = scene.step()
    before = dict(scene.api.status())
    scene.leads = 2
    with refused_with("leadership-lost", ClusterError, term=1):
        scene.report(step)
    assert (scene.api.status(), scene.heard.reasons) == (before, [])


def test_a_failed_report_does_not_prevent_the_others():
    scene = Scene("op", "other")
    step = scene.step()
    scene.api.errors = [refused(500)]
    with refused_with("kubernetes-request-failed", ClusterError, status=500):
        scene.report(step)
    assert "replicas" not in scene.api.status("op")
    assert scene.api.status("other")["replicas"] == 1


@pytest.mark.parametrize("again", [False, True])
def test_a_deleted_resource_is_not_reported(scene, again):
    step = scene.step()
    scene.api.delete("op")
    if again:
        scene.api.put(status={}, **by_hand("a"))
    scene.api.catch_up()
    scene.report(step)
    assert scene.heard.reasons == []
    assert not again or scene.api.status() == {}


def test_a_fault_is_reported_by_conditions_and_an_event(scene):
    fault = ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(Problem("they differ"),))
    scene.reporter.report_fault_of(KEY, fault)
    ready = scene.api.status()["conditions"][0]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "False", "SettingsDiffer")
    assert scene.heard.reasons == [("op", "SettingsDiffer")]


def test_a_fault_is_reported_by_the_leader_only(scene):
    fault = ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(Problem("they differ"),))
    scene.leads = None
    scene.reporter.report_fault_of(KEY, fault)
    scene.leads = 1
    scene.reporter.report_fault_of(("streams", "gone"), fault)
    assert (scene.api.patches, scene.heard.reasons) == ([], [])
