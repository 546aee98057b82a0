"""No change for a query that does not run, and no order for executors that the API server refuses."""

from dataclasses import replace

import pytest
from edge import reading

from gesscale.model.decision import Change, Plan, Reason
from gesscale.model.observation import MissingReading, WorkflowObservation
from gesscale.plan.held_changes import close_to_refused, hold_without_query, name_refusals
from gesscale.ports import ClusterState, Node

LOST = Plan(operator="op", reason=Reason.REPLICA_LOST, detail="lost", before=("a",), placement=("a", "b"))
STATE = ClusterState(
    nodes={name: Node(name=name) for name in "abcd"},
    placements={"op": ("a", "b"), "other": ("a",)},
    starting={"op": ("c",), "other": ("d",)},
    ineligible={"op": {"c": Node(name="c", problem="in backoff", reason=Reason.NOT_READY)}},
)


def seen(refusal=""):
    readings = {"op": replace(reading(("a", "b")), executor_refusal=refusal), "other": reading(("a",))}
    return WorkflowObservation(at_s=100.0, readings=readings)


@pytest.mark.parametrize(
    ("code", "is_held"),
    [("queries-several", True), ("query-ended", True), ("query-not-found", True), ("metrics-timeout", False)],
)
def test_no_change_of_any_reason_without_a_query(code, is_held):
    fields = {"query": "q", "queries": ["p", "q"], "timeout_s": 5.0}
    missing = {"op": MissingReading(operator="op", code=code, fields=fields)}
    (plan,) = hold_without_query({"op": LOST}, WorkflowObservation(at_s=100.0, missing_readings=missing)).values()
    assert (plan.change is None) is is_held
    assert plan.reason is (Reason.METRICS_MISSING if is_held else Reason.REPLICA_LOST)


def test_a_refusal_closes_all_nodes_to_its_operator_and_blames_none():
    state = close_to_refused(STATE, seen("exceeded quota"))
    closed = state.for_operator("op").unusable
    assert closed == {Reason.POD_REFUSED: ("c", "d")}
    assert state.for_operator("other").usable == ("a", "b", "c", "d")
    assert state.starting == {"op": (), "other": ("d",)}
    assert close_to_refused(STATE, seen()) is STATE


@pytest.mark.parametrize("reason", [Reason.NO_CANDIDATE_NODE, Reason.RECONFIGURING])
def test_the_refusal_is_in_the_decision(reason):
    plan = replace(LOST, reason=reason, placement=("a",))
    named = name_refusals({"op": plan, "other": plan}, seen("exceeded quota: two"))
    assert "exceeded quota: two" in named["op"].detail
    assert named["other"] == plan
    assert Change.between(named["op"].before, named["op"].placement) is None
