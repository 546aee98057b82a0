"""Steps of the loop over fakes: every operator gets a decision."""

from dataclasses import replace

import pytest
from edge import FakeCluster, control_loop, observe, reading

from gesscale.loop import next_step_in_s
from gesscale.model.decision import Analysis, Change, OutcomeStatus, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import MissingReading
from gesscale.ports import Node

OVERLOADED = reading(("hub",), throughput=100, offered=150, saturated=1.0, backlog=4000)


def loop(cluster, *observations, **changes):
    return control_loop(cluster, *observations, **{"rescale_timeout_s": 120.0, **changes})


def test_a_step_acts_and_remembers():
    cluster = FakeCluster({"op": ("hub",)})
    running = loop(cluster, observe(OVERLOADED))
    (decision,) = running.step(1000.0)
    assert cluster.orders == [("op", ("hub", "near"))]
    assert decision.acted
    known = running.knowledge.recall(1000.0)
    assert known.pending("op").placement == ("hub", "near")
    assert [item.rows_per_s for item in known.readings["op"]] == [100]


def test_a_decision_without_a_change_keeps_ineligible_nodes():
    far = Node(name="far", problem="the kubelet is silent", reason=Reason.NOT_READY)
    cluster = FakeCluster({"op": ("hub",)})
    cluster.nodes = {**cluster.nodes, "far": far}
    (decision,) = loop(cluster, observe(IDLE)).step(1000.0)
    assert decision.plan.rejections == ()
    assert decision.ineligible == (Rejection(node="far", reason=Reason.NOT_READY, detail="the kubelet is silent"),)


def test_advice_never_acts():
    cluster = FakeCluster({"op": ("hub",)})
    (decision,) = loop(cluster, observe(OVERLOADED), acts=False).step(1000.0)
    assert cluster.orders == []
    assert decision.plan.change == Change(add=("near",))
    assert decision.outcome.status is OutcomeStatus.NOT_ALLOWED
    assert not decision.acted


def test_a_query_that_holds_its_slots_is_never_changed():
    cluster = FakeCluster({"op": ("hub",)})
    (decision,) = loop(cluster, observe(replace(OVERLOADED, fixed_slots=True))).step(1000.0)
    assert cluster.orders == []
    assert decision.plan.change == Change(add=("near",))
    assert decision.outcome.status is OutcomeStatus.NOT_ALLOWED
    assert "Real-Time Mode" in decision.outcome.detail


def test_a_change_settles_once_a_warm_batch_ran_on_the_ordered_placement():
    cluster = FakeCluster({"op": ("hub",)})
    after = reading(("hub", "near"), throughput=100, at_s=1020.0)
    running = loop(cluster, observe(OVERLOADED), observe(after))
    running.step(1000.0)
    (decision,) = running.step(1020.0)
    assert decision.plan.reason is not Reason.RECONFIGURING
    settled = running.knowledge.recall(1020.0).latest("op")
    assert settled.downtime_s == 0.0  # its batches follow one another


def test_a_lost_replica_is_started_again_on_its_node():
    cluster = FakeCluster({"op": ("hub",)})
    calm = replace(reading(("hub", "near"), throughput=100), at_s=1020.0)
    running = loop(cluster, observe(OVERLOADED), observe(calm))
    running.step(1000.0)
    cluster.placements["op"] = ("hub",)
    (decision,) = running.step(1020.0)
    assert decision.plan.reason is Reason.REPLICA_LOST
    assert cluster.placements["op"] == ("hub", "near")


def test_a_failing_cluster_is_a_decision_and_the_next_step_goes_on():
    cluster = FakeCluster({"op": ("hub",)}, failure="no answer")
    running = loop(cluster, observe(OVERLOADED))
    (unreadable,) = running.step(1000.0)
    assert unreadable.plan.reason is Reason.CLUSTER_UNAVAILABLE
    cluster.failure = ""
    (decision,) = running.step(1010.0)
    assert decision.outcome.status is OutcomeStatus.APPLIED


def test_missing_metrics_never_scale_down():
    cluster = FakeCluster({"op": ("hub", "near")})
    silent = observe(missing_readings=[MissingReading(operator="op", code="metrics-missing")])
    (decision,) = loop(cluster, silent).step(1000.0)
    assert decision.plan.reason is Reason.METRICS_MISSING
    assert cluster.orders == []
    assert decision.plan.placement == ("hub", "near")


@pytest.mark.parametrize(
    ("asked", "min_s", "due_s"),
    [
        ((None,), 5.0, 60.0),
        ((20.0,), 5.0, 20.0),
        ((20.0, 40.0), 5.0, 20.0),  # the soonest of all operators
        ((None, 30.0), 5.0, 30.0),
        ((1.0,), 5.0, 5.0),  # no sooner than allowed
        ((90.0,), 5.0, 60.0),  # no later than a period
        ((20.0,), None, 60.0),  # nobody may ask
        ((20.0,), 90.0, 60.0),
    ],
)
def test_a_policy_may_ask_for_its_next_step_within_bounds(asked, min_s, due_s):
    (decision,) = loop(FakeCluster({"op": ("hub",)}), observe(reading(("hub",)))).step(120.0)
    decisions = [replace(decision, plan=replace(decision.plan, next_step_after_s=each)) for each in asked]
    assert next_step_in_s(decisions, 60.0, min_s) == due_s


class SetBack:
    """A clock that an hour is taken from once, and that counts how long the loop waits."""

    def __init__(self, waits):
        self.at_s, self.waits, self.waited_s = 5000.0, waits, []

    def now_s(self):
        return self.at_s

    def wait_until(self, at_s):
        self.waited_s.append(at_s - self.at_s)
        self.at_s = at_s - (3600.0 if len(self.waited_s) == 2 else 0.0)
        return len(self.waited_s) < self.waits


def test_a_clock_set_back_delays_the_next_step_by_at_most_a_period():
    clock = SetBack(4)
    loop(FakeCluster({"op": ("hub",)}), observe(reading(("hub",)))).run(clock, 60.0, lambda _: None)
    assert clock.waited_s == [60.0, 60.0, 60.0, 60.0]


IDLE = reading(("hub", "near"), throughput=20)


def test_stale_metrics_remove_no_replica():
    doubted = replace(IDLE, problem="batch 7: rows is -1")
    cluster = FakeCluster({"op": ("hub", "near")})
    running = replace(loop(cluster, observe(doubted), observe(IDLE)), policy=GivesBack())
    (decision,) = running.step(1000.0)
    assert cluster.orders == []
    assert decision.plan.reason is Reason.METRICS_STALE
    assert decision.plan.detail.endswith(doubted.problem)
    running.step(1060.0)
    assert cluster.orders == [("op", ("hub",))]


class GivesBack:
    """A policy that keeps the replica on the hub only."""

    name = "gives-back"

    def analyze(self, observation, knowledge):
        del knowledge
        return {
            name: Analysis(operator=name, verdict=Verdict.FEWER, reason=Reason.UNDERUSED, reading=item)
            for name, item in observation.readings.items()
        }

    def plan(self, analyses, cluster, knowledge):
        del knowledge
        return {
            name: Plan(operator=name, reason=Reason.UNDERUSED, before=cluster.placements[name], placement=("hub",))
            for name in analyses
        }
