"""Scheduling of workflows: stepped when due, never concurrently, never after the leadership has ended."""

import threading
from concurrent.futures import Future
from itertools import pairwise

import pytest
from kube import EPOCH_S, FakeApi, FakeCluster, Silent, by_hand, context_of, node, pod, refused
from refusals import logged_codes

from gesscale.common.threads import in_thread
from gesscale.kubernetes.controller.scheduling import WorkflowScheduler
from gesscale.kubernetes.controller.status_reporter import StatusReporter
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.resource.translate import group_into_workflows
from gesscale.service.metrics import ScalerMetrics

SETTLE_S = 60  # bound of a wait, not an expectation


def at_once(step):
    """Run a step before returning."""
    future = Future()
    future.set_result(step())
    return future


def orders_in(patches):
    return [each for each in patches if "placement" in each["status"].get("order", ())]


class Scene:
    """Operator op, one executor on a; an override places it on a and b. A step each minute."""

    def __init__(self, begin=at_once):
        self.api, self.term, self.now_s, self.steady_s = FakeApi(), 1, EPOCH_S, 0.0
        self.world = FakeCluster(pods=[pod("e1", "a"), pod("o1", "c", of="other")])
        self.api.put(**by_hand("a", "b"), policy={"name": "gesscale-2021"})  # never requests an early step
        documents = Documents(self.api, self.api.watched)
        self.metrics, self.reservations = ScalerMetrics("1.0"), Reservations()
        self.scheduler = WorkflowScheduler(
            context=context_of(
                lambda: self.snapshot(),  # noqa: PLW0108  # tests replace it
                OrderWriter(documents, lambda: self.term),
                reservations=self.reservations,
            ),
            documents=documents,
            reporter=StatusReporter(documents, Silent(), self.metrics, lambda: self.term, lambda: self.now_s),
            metrics=self.metrics,
            begin=begin,
            now_s=lambda: self.now_s,
            steady_s=lambda: self.steady_s,
        )

    def snapshot(self):
        return self.world.snapshot()

    def advance(self, after_s=0.0, *, watched=True):
        """Advance the clock, and start the due steps."""
        self.steady_s += after_s
        self.now_s += after_s
        if watched:
            self.api.catch_up()
        self.scheduler.advance(group_into_workflows(self.api.seen.values()).workflows, self.term)

    @property
    def ordered(self):
        return self.api.status().get("order", {}).get("placement")

    def steps(self):
        return [each for each in self.page() if each.startswith("gesscale_steps_total") and 'op"' in each]

    def page(self):
        return self.metrics.page({})[1].decode().splitlines()


@pytest.fixture
def scene():
    scene = Scene()
    yield scene
    scene.scheduler.drop_all()


def test_a_new_workflow_is_stepped_at_once_and_then_once_per_period(scene):
    scene.advance()
    assert scene.ordered == ["a", "b"]
    (status,) = scene.scheduler.statuses()
    assert (status.workflow, status.period_s, status.last_s) == ("streams/op", 60.0, 0.0)
    for after_s, last_s in ((59.0, 0.0), (1.0, 60.0), (30.0, 60.0), (100.0, 190.0)):
        scene.advance(after_s)
        assert scene.scheduler.statuses()[0].last_s == last_s


def test_a_policy_can_request_an_earlier_step(scene):
    # gesscale requests three steps in its objective of 60 s; a period is 60 s.
    scene.api.put(override=None, mode="Recommend", policy={"name": "gesscale"})
    scene.advance()
    for after_s, last_s in ((19.0, 0.0), (1.0, 20.0), (20.0, 40.0)):
        scene.advance(after_s)
        assert scene.scheduler.statuses()[0].last_s == last_s


def test_a_changed_spec_is_applied_at_once(scene):
    scene.advance()
    scene.api.put(override={"nodes": ["a", "c"], "until": "2040-01-01T00:00:00Z"})
    scene.advance(1.0)
    assert scene.ordered == ["a", "c"]


def test_a_driver_without_executors_is_stepped_early(scene):
    # Its map is missing, so no step places it: the next step is after 3 s, not after 60.
    scene.world.pods = []
    scene.api.put(override=None)
    for after_s, last_s in ((0.0, 0.0), (1.0, 0.0), (2.0, 3.0), (2.0, 3.0), (1.0, 6.0)):
        scene.advance(after_s)
        assert scene.scheduler.statuses()[0].last_s == last_s


def test_a_lost_replica_is_answered_at_once(scene):
    scene.advance()
    scene.world.pods = [pod("e1", "a"), pod("e2", "b")]
    scene.advance(10.0)
    # The pod of b vanishes: changes of one cause are gathered for 1 s.
    scene.world.pods = [pod("e1", "a")]
    for after_s, last_s in ((1.0, 0.0), (1.0, 12.0), (30.0, 12.0)):
        scene.advance(after_s)
        assert scene.scheduler.statuses()[0].last_s == last_s


def test_a_node_without_an_ordered_replica_hastens_no_step(scene):
    scene.advance()
    scene.advance(10.0)
    scene.world.nodes = [each for each in scene.world.nodes if each.name != "d"]
    for _ in range(4):
        scene.advance(5.0)
    assert scene.scheduler.statuses()[0].last_s == 0.0


def test_a_flapping_node_causes_a_step_every_three_seconds_at_most(scene):
    scene.advance()
    steps = set()
    for second in range(50):
        scene.world.nodes = [node("a"), node("b", cordoned=bool(second % 2)), node("c")]
        scene.advance(1.0)
        steps.add(scene.scheduler.statuses()[0].last_s)
    ordered = sorted(steps)
    assert len(ordered) > 10
    assert all(later - earlier >= 3.0 for earlier, later in pairwise(ordered))


def test_a_failed_step_is_counted_and_retried(scene, caplog):
    scene.api.errors = [refused(500)] * 2
    scene.advance()
    assert "kubernetes-request-failed" in logged_codes(caplog.text)
    assert any('result="failed"' in each or 'outcome="failed"' in each for each in scene.page())
    scene.advance(60.0)
    assert scene.ordered == ["a", "b"]


def test_an_unexpected_error_in_one_workflow_stops_no_other(scene, caplog):
    scene.snapshot = lambda: 1 / 0
    scene.advance()
    assert logged_codes(caplog.text) == ["step-failed"]
    del scene.snapshot
    scene.advance(60.0)
    assert scene.ordered == ["a", "b"]


def test_a_recreated_resource_has_no_knowledge_of_the_former(scene):
    scene.advance()
    scene.api.delete("op")
    scene.api.put(status={}, **by_hand("a", "b"))
    scene.world.pods = [pod("e1", "a"), pod("e2", "b")]
    scene.advance(1.0)
    # The placement is that of the override: nothing is ordered, and the former order is forgotten.
    assert scene.ordered is None
    assert not scene.api.status().get("order", {}).get("reason")


def test_a_corrected_workflow_continues(scene):
    scene.advance()
    scene.api.put(minReplicas=9)
    scene.advance(1.0)
    assert scene.scheduler.statuses() == ()
    before = scene.api.status()["order"]
    scene.api.put(minReplicas=1)
    scene.advance(1.0)
    assert scene.api.status()["order"] == before
    assert len(orders_in(scene.api.patches)) == 1


def test_a_clock_set_back_repeats_no_order_and_keeps_the_memory():
    scene = Scene()
    reading = {"replicas": 1, "ndMaxMs": 5.0, "rowsPerSecond": 500.0, "saturated": True, "atSeconds": EPOCH_S}
    scene.api.put(status={"memory": {"readings": [reading]}})
    scene.advance()
    scene.now_s -= 7200.0
    scene.api.put(override=None)
    scene.advance(60.0)
    assert len(orders_in(scene.api.patches)) == 1
    memory = scene.api.status()["memory"]
    # Dated two hours ahead of the clock, it would be forgotten until then; it counts as of now instead.
    assert [each["rowsPerSecond"] for each in memory["readings"]] == [500.0]
    assert memory["readings"][0]["atSeconds"] == scene.now_s
    scene.scheduler.drop_all()


class Gate:
    """Blocks a step that reads the cluster."""

    def __init__(self, scene):
        self.scene, self.entered, self.open = scene, threading.Event(), threading.Event()

    def __call__(self):
        self.entered.set()
        assert self.open.wait(SETTLE_S)
        return self.scene.world.snapshot()


def test_a_slow_step_is_not_overlapped_and_missed_steps_are_skipped():
    scene = Scene(in_thread)
    scene.snapshot = gate = Gate(scene)
    scene.advance()
    assert gate.entered.wait(SETTLE_S)
    gate.entered.clear()
    for _ in range(5):
        scene.advance(60.0)
    assert not gate.entered.is_set()
    gate.open.set()
    scene.scheduler.drop_all()
    scene.scheduler.wait(SETTLE_S)
    assert scene.ordered == ["a", "b"]


def test_leadership_lost_in_mid_step_writes_nothing_even_if_regained():
    scene = Scene(in_thread)
    scene.snapshot = gate = Gate(scene)
    scene.advance()
    assert gate.entered.wait(SETTLE_S)
    scene.scheduler.drop_all()  # does not wait
    scene.term = 2
    scene.advance(1.0)
    assert scene.scheduler.statuses() == ()  # waits for the end of the old step
    gate.open.set()
    scene.scheduler.wait(SETTLE_S)
    assert scene.api.patches == []
    scene.advance(1.0)
    scene.scheduler.drop_all()
    scene.scheduler.wait(SETTLE_S)
    assert scene.api.status()["order"]["term"] == 2
