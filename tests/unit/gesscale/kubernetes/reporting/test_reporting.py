"""What the controller tells of an operator: its status, its history, and events at transitions."""

import json
from dataclasses import replace

import pytest
from edge import known
from recorded_steps import T0_S, after, decided, evidence, order, ordered, overloaded, reasons, report_of, with_order

from gesscale.kubernetes.reporting.report import report_fault
from gesscale.kubernetes.reporting.status import node_pool_of
from gesscale.kubernetes.resource.memory import READINGS_AT_MOST
from gesscale.kubernetes.resource.status import HISTORY_AT_MOST, StreamAutoscalerStatus
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import Reason, Verdict
from gesscale.ports import ClusterState, Node
from perfmodel import law_named


def test_the_status_holds_what_the_step_saw_and_is_one_the_definition_knows():
    status = report_of({}, after(decided())).status
    assert status["observedGeneration"] == 3
    assert (status["replicas"], status["desiredReplicas"], status["placement"]) == (2, 2, ["hub", "near"])
    assert status["driver"] == {"pod": "driver", "node": "hub"}
    assert status["load"]["inputRowsPerSecond"] == 500.0
    assert {key: status["mst"][key] for key in ("low", "mid", "high")} == {"low": 600, "mid": 640, "high": 700}
    assert status["lastDecision"]["at"] == "2027-01-15T08:00:00Z"
    assert StreamAutoscalerStatus.model_validate(status).document() == status
    assert {item["type"]: item["status"] for item in status["conditions"]}["Ready"] == "True"


def test_what_is_not_known_is_absent_and_the_model_and_order_stay():
    before = {"id": "7-3", "term": 7, "placement": ["hub"], "at": "2027-01-15T08:00:00Z", "strategy": "Live"}
    model = law_named("gesscale").fit(evidence(3))
    old = {**report_of({}, after(decided(model=model))).status, "order": before}
    blind = decided(T0_S + 60, reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False, placement=())
    status = report_of(old, after(blind, live=None, driver=None)).status
    absent = {"replicas", "desiredReplicas", "placement", "load", "mst", "ndMaxMs", "driver", "recommendation"}
    assert not absent & status.keys()
    assert (status["order"], status["model"]) == (before, old["model"])


def test_while_an_order_settles_it_is_what_is_desired_and_recommended():
    waiting = decided(T0_S + 60, reason=Reason.RECONFIGURING)
    status = report_of({}, after(waiting, ordered())).status
    assert (status["replicas"], status["desiredReplicas"]) == (2, 3)
    assert status["recommendation"]["placement"] == ["hub", "mid", "near"]


def test_history_and_memory_are_bounded_and_the_status_stays_small():
    past = [order(T0_S - 600 * turn, 2.0, reason="Overloaded", before=2).document() for turn in range(1, 15)]
    old = {**with_order(), "history": past}
    knowledge = known(readings={"op": evidence(60)}, orders=ordered(T0_S, 2.0).orders)
    decision = overloaded(detail="so much that no sentence suffices " * 100)
    new = report_of(old, after(decision, knowledge, node_pool=_full_pool())).status
    assert (len(new["history"]), len(new["memory"]["readings"])) == (HISTORY_AT_MOST, READINGS_AT_MOST)
    assert new["history"] == past[:HISTORY_AT_MOST]
    assert len(json.dumps(new)) < 16 * 1024


def _full_pool():
    nodes = {
        f"n{n}": Node(name=f"n{n}", problem="for reasons too long to be reported " * 50, reason=reason)
        for n, reason in enumerate((Reason.NOT_READY, Reason.CORDONED, Reason.NO_ROOM, Reason.EXCLUDED))
    }
    return node_pool_of(ClusterState(nodes=nodes, placements={}), "op")


# Orders


def test_an_order_gets_its_reason_and_its_end_is_told_with_the_downtime():
    began = report_of(with_order(), after(overloaded(), ordered()))
    found = {key: began.status["order"][key] for key in ("at", "before", "reason", "givenUp")}
    assert found == {"at": "2027-01-15T08:00:00Z", "before": 2, "reason": "Overloaded", "givenUp": False}
    there = ("hub", "mid", "near")
    calm = decided(T0_S + 90, placement=there)
    ended = report_of(began.status, after(calm, ordered(downtime_s=4.25), live=there))
    assert ended.status["order"]["settledAt"] == "2027-01-15T08:01:30Z"
    assert ended.status["order"]["downtimeSeconds"] == 4.25
    assert ended.settled.downtime_s == 4.25
    assert [(telling.reason, telling.message) for telling in ended.events] == [
        (
            "SuccessfulRescale",
            "replicas 2 -> 3 (Overloaded): settled after 90 s, longest time without a finished batch 4.2 s",
        )
    ]
    assert report_of(ended.status, after(calm, ordered(downtime_s=4.25), live=there)).events == ()


def test_an_order_that_was_given_up_is_a_failure():
    began = report_of(with_order(), after(overloaded(), ordered())).status
    ended = report_of(began, after(decided(T0_S + 600), ordered(downtime_s=0.0, took_s=600)))
    assert ended.status["order"]["givenUp"] is True
    (telling,) = ended.events
    assert (telling.kind, telling.reason) == ("Warning", "FailedRescale")
    assert telling.message.endswith("not there after 10 min, ordered hub, mid, near; live are hub, near")


def test_the_end_of_an_order_whose_controller_died_is_told():
    there = ("hub", "mid", "near")
    old = report_of(
        with_order(T0_S + 30.25),
        after(decided(T0_S + 60, reason=Reason.RECONFIGURING), ordered(T0_S + 30.25, reason="", before=None)),
    ).status
    calm = after(
        decided(T0_S + 120, placement=there), ordered(T0_S + 30.25, downtime_s=3.0, reason="", before=None), live=there
    )
    (telling,) = report_of(old, calm).events
    assert telling.message.startswith("replicas unknown -> 3 (Unrecorded): settled after 90 s")


# Events


def test_an_order_is_told_with_load_against_mst():
    (telling,) = report_of({}, after(overloaded(), ordered())).events
    assert (telling.kind, telling.reason) == ("Normal", "Rescaling")
    assert telling.message == "replicas 2 -> 3 (Overloaded, +mid): load 812 rows/s > MST 640"


@pytest.mark.parametrize(
    ("reason", "verdict", "event"),
    [
        (Reason.AT_MAX_REPLICAS, Verdict.MORE, ["ScalingLimited"]),
        (Reason.NO_CANDIDATE_NODE, Verdict.MORE, ["ScalingVetoed"]),
        (Reason.DELAY_EATS_GAIN, Verdict.MORE, ["ScalingVetoed"]),
        (Reason.LATENCY_MAP_STALE, Verdict.SAME, []),  # nothing was wanted
        (Reason.AT_MIN_REPLICAS, Verdict.FEWER, []),  # every calm night
        (Reason.METRICS_MISSING, Verdict.UNKNOWN, ["MetricsMissing"]),
        (Reason.METRICS_STALE, Verdict.UNKNOWN, ["MetricsMissing"]),
        (Reason.PAUSED, Verdict.MORE, ["Paused"]),
        (Reason.OVERRIDDEN, Verdict.SAME, ["Overridden"]),
    ],
)
def test_a_standstill_is_told_when_its_reason_is_new(reason, verdict, event):
    old = report_of({}, after(decided())).status
    first = report_of(old, after(decided(T0_S + 60, reason=reason, verdict=verdict)))
    assert reasons(first) == event
    assert reasons(report_of(first.status, after(decided(T0_S + 120, reason=reason, verdict=verdict)))) == []


def test_a_model_is_told_once_it_is_calibrated_and_when_it_moves():
    def fitted(at_s, readings):
        return after(decided(at_s, model=law_named("gesscale").fit(readings)), known(readings={"op": readings}))

    # Three distinct readings calibrate: one does not, five do.
    few = report_of({}, fitted(T0_S, evidence(1)))
    assert reasons(few) == []
    calibrated = report_of(few.status, fitted(T0_S + 1, evidence(5)))
    assert calibrated.status["model"]["calibrated"]
    assert reasons(calibrated) == ["ModelRefitted"]
    assert calibrated.events[0].message.startswith("law gesscale: alpha ")
    assert reasons(report_of(calibrated.status, fitted(T0_S + 120, evidence(5)))) == []
    slower = tuple(replace(item, rows_per_s=item.rows_per_s / 2) for item in evidence(5))
    too_soon = report_of(calibrated.status, fitted(T0_S + 30, slower))
    assert (too_soon.patch, reasons(too_soon)) == (None, [])  # an event for each write, not for each step
    assert reasons(report_of(calibrated.status, fitted(T0_S + 61, slower))) == ["ModelRefitted"]


def test_a_resource_that_cannot_be_obeyed_says_so_once_and_keeps_what_lasts():
    fault = ResourceFault(reason=FaultReason.SETTINGS_DIFFER, message="a and b differ in policy.law")
    running = report_of({}, after(overloaded(), ordered())).status
    report = report_fault(running, fault, 4, T0_S + 1)
    assert {item["type"]: item["status"] for item in report.status["conditions"]}["Ready"] == "False"
    assert report.status["lastDecision"]["reason"] == "SettingsDiffer"
    assert (report.status["memory"], report.status["history"]) == (running["memory"], running["history"])
    assert "load" not in report.status
    assert reasons(report) == ["InvalidSpec"]
    again = report_fault(report.status, fault, 4, T0_S + 61)
    assert (again.patch, again.events) == (None, ())
    assert reasons(report_fault(report.status, fault, 5, T0_S + 61)) == ["InvalidSpec"]
    kept = StreamAutoscalerStatus.model_validate(report.status)
    assert kept.last_decision.reason == "SettingsDiffer"
