"""The record of a run, and the checks of its promises."""

import json
from dataclasses import replace

import pytest
from edge import delays, reading

from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import Batch
from gesscale.monitor.record_files import read_recording
from testbed.live.record import Record, Rescale, rescale_of, write_records
from testbed.live.report import check_both_directions, check_nodes, picks_nodes_at_random


def batch(number, ended_at_s, *, rows=100):
    return Batch(batch_id=number, ended_at_s=ended_at_s, rows=rows, seconds=1.0, nodes=("hub",), cap_rows=500)


def change(at_s, placement, *, add=(), remove=()):
    after = tuple(sorted({*placement, *add} - set(remove)))
    return Decision(
        at_s=at_s,
        operator="op",
        policy="gesscale",
        analysis=Analysis(
            operator="op",
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            reading=replace(reading(placement), batches=()),
        ),
        plan=Plan(operator="op", reason=Reason.OVERLOADED, before=placement, placement=after),
        outcome=Outcome(status=OutcomeStatus.APPLIED, added=add, removed=remove),
    )


def record(*ends_s, decisions=()):
    made = Record(began_at_s=1000.0)
    made.add_batches(tuple(batch(number, end) for number, end in enumerate(ends_s)))
    made.add(tuple(decisions))
    return made


def test_a_gap_belongs_to_the_reconfiguration_before_it():
    # Batches end at 1000, 1003, 1010, 1013, 1033; changes at 1004 and 1014. The order at 1004 fell into the gap of
    # 7 s; the next one into that of 20 s, which does not count for the first.
    changes = [change(1004.0, ("hub",), add=("near",)), change(1014.0, ("hub", "near"), add=("mid",))]
    made = record(1000, 1003, 1010, 1013, 1033, decisions=changes)
    assert made.longest_gaps_s(25.0) == (7.0, 20.0)


def test_a_batch_counts_once():
    made = record(1001, 1005)
    made.add_batches((batch(1, 1005.0),))  # once more
    assert made.processed_rows == 200


def test_the_files_are_lines_of_json(tmp_path):
    run = record(1000, 1003, decisions=[change(1001.0, ("hub",), add=("near",))])
    write_records({"op": run, "next": record(1002)}, tmp_path)
    (line,) = (tmp_path / "decisions.jsonl").read_text().splitlines()
    assert json.loads(line)["plan"]["change"] == {"add": ["near"], "remove": []}
    batches = [json.loads(line) for line in (tmp_path / "batches.jsonl").read_text().splitlines()]
    assert [each["operator"] for each in batches] == ["op", "op", "next"]
    recording = read_recording(tmp_path, ["op", "next"])
    assert recording.problems == ()
    assert {name: len(listed) for name, listed in recording.batches.items()} == {"op": 2, "next": 1}


@pytest.mark.parametrize(
    ("placement", "add", "remove", "kept"),
    [
        (("hub",), ("near",), (), True),
        (("hub",), ("mid",), (), False),
        (("hub", "near"), ("mid", "far"), (), True),
        (("edge", "hub", "near"), (), ("edge",), True),
        (("edge", "hub", "near"), (), ("near",), False),
        (("edge", "far", "hub", "near"), (), ("edge", "far"), True),
        (("edge", "far", "hub", "near"), (), ("far", "near"), False),
    ],
)
def test_a_node_that_is_not_the_nearest_breaks_the_promise(placement, add, remove, kept):
    # Round trips from hub: near 10, mid 50, far 200, edge 300.
    assert check_nodes([change(1000.0, placement, add=add, remove=remove)], delays(), "hub").kept is kept
    assert not check_nodes([], delays(), "hub").kept  # no choice keeps no promise


@pytest.mark.parametrize(("reason", "random"), [(Reason.NOT_SELECTED, True), (Reason.FARTHER, False)])
def test_random_node_choice_is_detected_by_its_reasons(reason, random):
    decision = change(1000.0, ("hub",), add=("mid",))
    lost = replace(decision.plan, rejections=(Rejection(node="near", reason=reason),))
    assert picks_nodes_at_random([decision, replace(decision, plan=lost)]) is random
    assert not picks_nodes_at_random([decision])


def test_both_directions_are_needed():
    up = rescale_of(change(1000.0, ("hub",), add=("near",)))
    down = rescale_of(change(1010.0, ("hub", "near"), remove=("near",)))
    assert check_both_directions([up, down]).kept
    assert not check_both_directions([up, up]).kept
    moved = Rescale(at_s=1000.0, added=("near",), removed=("hub",), replicas=1)
    assert not check_both_directions([moved, moved]).kept
