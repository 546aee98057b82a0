"""Report on an operator: status, history, and events at transitions."""

import json
import re

from edge import known
from model_summaries import eq1_summary
from recorded_steps import T0_S, after, decided, evidence, order, ordered, overloaded, reasons, report_of, with_order

from gesscale.common.errors import Problem
from gesscale.kubernetes.reporting.report import report_fault
from gesscale.kubernetes.reporting.status import node_pool_of
from gesscale.kubernetes.resource.memory import MAX_READINGS
from gesscale.kubernetes.resource.status import MAX_HISTORY, StreamAutoscalerStatus
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import Reason, Verdict
from gesscale.ports import ClusterState, Node


def test_the_status_has_the_results_of_the_step():
    status = report_of({}, after(decided())).status
    assert status["observedGeneration"] == 3
    assert (status["replicas"], status["desiredReplicas"], status["placement"]) == (2, 2, ["hub", "near"])
    assert status["driver"] == {"pod": "driver", "node": "hub"}
    assert status["load"]["inputRowsPerSecond"] == 500.0
    assert {key: status["mst"][key] for key in ("low", "mid", "high")} == {"low": 600, "mid": 640, "high": 700}
    assert status["lastDecision"]["at"] == "2027-01-15T08:00:00Z"
    assert StreamAutoscalerStatus.model_validate(status).document() == status
    assert {item["type"]: item["status"] for item in status["conditions"]}["Ready"] == "True"


def test_unknown_figures_are_absent_and_model_and_order_stay():
    before = {"id": "7-3", "term": 7, "placement": ["hub"], "at": "2027-01-15T08:00:00Z", "strategy": "Live"}
    model = eq1_summary()
    old = {**report_of({}, after(decided(model=model))).status, "order": before}
    blind = decided(T0_S + 60, reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False, placement=())
    status = report_of(old, after(blind, live=None, driver=None)).status
    absent = {"replicas", "desiredReplicas", "placement", "load", "mst", "ndMaxMs", "driver", "recommendation"}
    assert not absent & status.keys()
    assert (status["order"], status["model"]) == (before, old["model"])


def test_a_pending_order_is_desired_and_recommended():
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
    assert (len(new["history"]), len(new["memory"]["readings"])) == (MAX_HISTORY, MAX_READINGS)
    assert new["history"] == past[:MAX_HISTORY]
    assert len(json.dumps(new)) < 16 * 1024


def _full_pool():
    nodes = {
        f"n{n}": Node(name=f"n{n}", problem="for reasons too long to be reported " * 50, reason=reason)
        for n, reason in enumerate((Reason.NOT_READY, Reason.CORDONED, Reason.NO_ROOM, Reason.EXCLUDED))
    }
    return node_pool_of(ClusterState(nodes=nodes, placements={}), "op")


# Orders


def test_an_order_gets_its_reason_and_its_end_with_the_downtime():
    began = report_of(with_order(), after(overloaded(), ordered()))
    found = {key: began.status["order"][key] for key in ("at", "before", "reason", "givenUp")}
    assert found == {"at": "2027-01-15T08:00:00Z", "before": 2, "reason": "Overloaded", "givenUp": False}
    there = ("hub", "mid", "near")
    calm = decided(T0_S + 90, placement=there)
    ended = report_of(began.status, after(calm, ordered(downtime_s=4.25), live=there))
    assert ended.status["order"]["settledAt"] == "2027-01-15T08:01:30Z"
    assert ended.status["order"]["downtimeSeconds"] == 4.25
    assert ended.settled.downtime_s == 4.25
    (event,) = ended.events
    assert event.reason == "SuccessfulRescale"
    assert event.message.startswith("replicas 2 -> 3 (Overloaded): ")
    assert re.findall(r"[\d.]+ s", event.message) == ["90 s", "4.2 s"]
    assert report_of(ended.status, after(calm, ordered(downtime_s=4.25), live=there)).events == ()


def test_a_former_order_keeps_the_end_that_was_found_when_it_was_replaced():
    began = report_of(with_order(), after(overloaded(), ordered())).status
    newer = {**began, "order": {**began["order"], "id": "1-2"}, "history": [began["order"]]}
    status = report_of(newer, after(decided(T0_S + 90), ordered(downtime_s=4.25))).status
    assert status["history"][0]["downtimeSeconds"] == 4.25
    assert "downtimeSeconds" not in status["order"]


def test_an_order_that_was_given_up_is_a_failure():
    began = report_of(with_order(), after(overloaded(), ordered())).status
    ended = report_of(began, after(decided(T0_S + 600), ordered(downtime_s=0.0, took_s=600)))
    assert ended.status["order"]["givenUp"] is True
    (event,) = ended.events
    assert (event.kind, event.reason) == ("Warning", "FailedRescale")
    assert all(part in event.message for part in ("10 min", "hub, mid, near", "hub, near"))


def test_the_end_of_an_order_whose_controller_died():
    there = ("hub", "mid", "near")
    old = report_of(
        with_order(T0_S + 30.25),
        after(decided(T0_S + 60, reason=Reason.RECONFIGURING), ordered(T0_S + 30.25, reason="", before=None)),
    ).status
    calm = after(
        decided(T0_S + 120, placement=there), ordered(T0_S + 30.25, downtime_s=3.0, reason="", before=None), live=there
    )
    (event,) = report_of(old, calm).events
    assert event.message.startswith("replicas unknown -> 3 (Unrecorded): ")
    assert "90 s" in event.message


# Events


def test_the_event_of_an_order_has_the_sentence_of_its_decision():
    (event,) = report_of({}, after(overloaded(), ordered())).events
    assert (event.kind, event.reason) == ("Normal", "Rescaling")
    assert event.message == overloaded().sentence


def test_an_invalid_resource_is_reported_once_and_keeps_what_lasts():
    fault = ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(Problem("they differ"),))
    running = report_of({}, after(overloaded(), ordered())).status
    report = report_fault(running, fault, 4, T0_S + 1)
    assert {item["type"]: item["status"] for item in report.status["conditions"]}["Ready"] == "False"
    assert report.status["lastDecision"]["reason"] == "SettingsDiffer"
    assert (report.status["memory"], report.status["history"]) == (running["memory"], running["history"])
    assert "load" not in report.status
    assert reasons(report) == ["SettingsDiffer"]
    again = report_fault(report.status, fault, 4, T0_S + 61)
    assert (again.patch, again.events) == (None, ())
    other = ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(Problem("they still differ"),))
    assert reasons(report_fault(report.status, other, 5, T0_S + 61)) == ["SettingsDiffer"]
    kept = StreamAutoscalerStatus.model_validate(report.status)
    assert kept.last_decision.reason == "SettingsDiffer"
