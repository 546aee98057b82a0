"""The journal of the page."""

import json
import threading
from dataclasses import replace

from page_world import growing, step_of
from recorded_steps import T0_S, decided
from refusals import logged_codes

from gesscale.model.document import decision_document
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
