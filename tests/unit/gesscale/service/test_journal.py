"""The journal of the page."""

import json
import threading
from dataclasses import replace

from page_world import growing, step_of
from recorded_steps import T0_S, decided
from refusals import logged_codes

from gesscale.model.document import decision_document
from gesscale.ports import Node
from gesscale.service.journal import Journal


def test_decisions_are_found_by_workflow_operator_and_instant():
    journal = Journal()
    journal.add(step_of({"a": decided(T0_S), "b": growing(T0_S)}))
    journal.add(step_of({"a": decided(T0_S + 10), "b": decided(T0_S + 10)}))
    found = journal.decision("workflow", "b", T0_S)
    assert json.loads(found)["plan"]["candidates"][0]["mst"]["mid"] == 640
    assert journal.decision("workflow", "b", T0_S + 1) is None
    assert [json.loads(each)["at_s"] for each in journal.points("workflow", "a")] == [T0_S, T0_S + 10]
    assert len(journal.points("workflow")) == 4
    (workflow,) = journal.workflows()
    assert {each["operator"]: each["at_s"] for each in workflow["points"]} == {"a": T0_S + 10, "b": T0_S + 10}


def test_the_oldest_is_forgotten_within_a_bound_of_bytes():
    journal = Journal(max_bytes=20_000)
    for index in range(200):
        journal.add(step_of(at_s=T0_S + index))
    points = journal.points("workflow")
    # A point of this step has 700 characters at least, and is kept with its decision: no 28 fit into 20,000 bytes.
    assert 4 < len(points) < 28
    assert json.loads(points[-1])["at_s"] == T0_S + 199


def test_missing_replicas_are_those_of_the_newest_step():
    journal, step = Journal(), step_of()
    journal.add(replace(step, cluster=replace(step.cluster, left={"op": {"far": "the node was deleted"}})))
    (problem,) = journal.missing_replicas()
    assert problem.code == "replica-missing"
    assert problem.fields == {"workflow": "workflow", "operator": "op", "nodes": {"far": "the node was deleted"}}
    journal.add(step)
    assert journal.missing_replicas() == ()


def test_news_contains_later_points_and_wakes_readers():
    journal = Journal()
    journal.add(step_of(at_s=T0_S))
    number = journal.number
    assert journal.news(number, 0.0) == (number, {})
    found = []
    waiting = threading.Thread(target=lambda: found.append(journal.news(number, 60.0)))
    waiting.start()
    journal.add(step_of(at_s=T0_S + 10))
    waiting.join(60)
    (points,) = found[0].points["workflow"]
    assert (found[0].number, json.loads(points)["at_s"]) == (number + 1, T0_S + 10)


def test_it_begins_with_what_earlier_processes_decided():
    journal = Journal()
    journal.begin_with("workflow", [decision_document(decided(T0_S - 10))])
    assert journal.workflows() == []  # nothing is shown of a workflow that was never stepped
    journal.add(step_of(at_s=T0_S))
    assert [json.loads(each)["at_s"] for each in journal.points("workflow")] == [T0_S - 10, T0_S]


def test_a_decision_that_cannot_be_shown_costs_no_step(caplog):
    journal = Journal()
    broken = replace(decided(T0_S), operator=object())  # which JSON cannot say
    journal.add(replace(step_of(at_s=T0_S), decisions=(broken, decided(T0_S))))
    assert len(journal.points("workflow")) == 1
    assert logged_codes(caplog.text) == ["decision-not-shown"]


def test_a_record_has_each_state_of_the_cluster_once_within_a_bound():
    journal = Journal(max_bytes=20_000)
    fewer = {"hub": Node(name="hub")}
    for at_s, nodes in ((0, None), (10, None), (20, fewer), (30, None)):
        journal.add(step_of(at_s=T0_S + at_s, nodes=nodes))
    record = journal.record("workflow")
    assert [each["at_s"] for each in record["clusters"]] == [T0_S, T0_S + 20, T0_S + 30]
    assert record["clusters"][1]["state"]["nodes"].keys() == {"hub"}
    for index in range(100):
        journal.add(step_of(at_s=T0_S + 40 + index, nodes={f"edge{index}": Node(name=f"edge{index}")}))
    record = journal.record("workflow")
    # A state takes 100 bytes at least, and has a quarter of 20,000; decisions without a state are left out.
    assert 1 < len(record["clusters"]) < 50
    assert record["decisions"][0]["at_s"] >= record["clusters"][0]["at_s"]
    assert journal.record("other") is None
