"""One workflow under the loop: restored knowledge, restarts, stale views."""

import pytest
from kube import EPOCH_S, FakeApi, FakeCluster, by_hand, context_of, order, order_writer_of, pod

from gesscale.kubernetes.controller.workflow_controller import WorkflowController
from gesscale.kubernetes.resource.memory import MemoryStatus
from gesscale.model.decision import OutcomeStatus, Reason
from gesscale.plan.change_budget import ChangeBudget

ALIVE = pod("e1", "a")


class Scene:
    """Operator op, one executor on a; an override places it on a and b. Defaults: history 5 min, settling 10 min."""

    def __init__(self, *, status=None, **spec):
        self.api, self.world = FakeApi(), FakeCluster(pods=[ALIVE])
        self.api.put(status=status or {}, **by_hand("a", "b", **spec))
        self.budget = ChangeBudget(1)
        self.steering = self.begin()

    def begin(self, term=1, now_s=EPOCH_S):
        context = context_of(self.world.snapshot, order_writer_of(self.api, lambda: term), budget=self.budget)
        statuses = {"op": self.api.seen["streams/op"]["status"]}
        self.steering = WorkflowController(self.api.workflow(), context, term, statuses, now_s)
        return self.steering

    def step(self, after_s=1.0):
        step = self.steering.step(self.api.workflow(), EPOCH_S + after_s)
        return step, step.decisions[0]

    @property
    def ordered(self):
        return tuple(self.api.status().get("order", {}).get("placement", ()))

    def remember(self, step):
        """Write the memory into the status like a controller."""
        memory = MemoryStatus.of(step.known, "op").document()
        self.api.write_status("op", memory=memory)
        self.api.catch_up()


@pytest.fixture
def scene():
    return Scene()


def test_a_step_orders_remembers_and_reports(scene):
    step, decision = scene.step()
    assert scene.ordered == ("a", "b")
    assert (decision.outcome.status, decision.plan.placement) == (OutcomeStatus.ORDERED, ("a", "b"))
    assert step.known.pending("op").placement == ("a", "b")
    assert step.cluster.placements == {"op": ("a",)}


def test_its_change_counts_in_the_budget_of_all_workflows(scene):
    scene.step()
    assert scene.budget.admit("streams/other", (), ("other",)) == []
    scene.budget.keep_only({"streams/other"})
    assert scene.budget.admit("streams/other", (), ("other",)) == ["other"]


def test_a_new_controller_knows_the_pending_change(scene):
    step, _ = scene.step()
    scene.remember(step)
    scene.begin(term=2, now_s=EPOCH_S + 4.0)
    step, decision = scene.step(5.0)
    assert step.known.pending("op").at_s == EPOCH_S + 1.0
    assert decision.outcome.status is OutcomeStatus.NOTHING_TO_DO
    assert scene.api.status()["order"]["id"] == "1-1"


def test_a_new_controller_knows_a_pending_order_without_memory(scene):
    scene.step()  # only the order reaches the status
    scene.api.catch_up()
    scene.api.put(override=None)
    scene.begin(term=2)
    step, decision = scene.step(5.0)
    pending = step.known.pending("op")
    assert (pending.at_s, pending.placement) == (EPOCH_S + 1.0, ("a", "b"))
    assert decision.plan.change is None


def test_without_the_memory_it_pauses_for_one_history():
    lost = {"order": order(1, "a", at_s=EPOCH_S - 3600), "history": [{"at": "2023-11-14T21:00:00Z"}]}
    scene = Scene(status=lost, override=None)
    for after_s, reason in ((1.0, Reason.PAUSED), (299.0, Reason.PAUSED), (300.0, Reason.METRICS_MISSING)):
        _, decision = scene.step(after_s)
        assert decision.plan.reason is reason


def test_an_override_applies_even_without_the_memory():
    scene = Scene(status={"history": [{"at": "2023-11-14T21:00:00Z"}]})
    scene.step()
    assert scene.ordered == ("a", "b")


def test_nothing_is_ordered_on_a_stale_view(scene):
    scene.world.stale_since_s = {"pods": -60.0}
    step, decision = scene.step()
    assert (decision.plan.reason, scene.ordered) == (Reason.CLUSTER_UNAVAILABLE, ())
    assert "60 s" in step.cluster.problem
