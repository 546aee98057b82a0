"""The recorded world: readings and placements at each instant of a record."""

from dataclasses import replace

import pytest
from edge import batches, delays

from gesscale.model.decision import (
    Analysis,
    Decision,
    MapStatus,
    Outcome,
    OutcomeStatus,
    Plan,
    Reason,
    Rejection,
    Verdict,
)
from gesscale.model.observation import MissingReading, OperatorReading
from gesscale.monitor.record_files import RecordedDecision, Recording
from gesscale.monitor.replay import RecordedWorld

# Batches of 2 s that end at 92, 94, 96, 98 and 100 s.
RUN = batches(("hub",), at_s=100.0, rows=50, seconds=2.0, count=5)
READ = OperatorReading(
    operator="op",
    at_s=100.0,
    placement=("hub",),
    throughput_rows_per_s=25.0,
    saturated_share=0.0,
    busy_share=0.5,
    cpu_share=0.7,
)
ANALYSIS = Analysis(operator="op", verdict=Verdict.SAME, reason=Reason.WITHIN_TARGET, reading=READ)
PLAN = Plan(operator="op", reason=Reason.WITHIN_TARGET, before=("hub",), placement=("hub",))
DECISION = Decision(
    at_s=100.0,
    operator="op",
    policy="gesscale",
    analysis=ANALYSIS,
    plan=PLAN,
    outcome=Outcome(status=OutcomeStatus.NOTHING_TO_DO),
)


def live(batches_read: int = 5, **changes: object) -> RecordedDecision:
    return RecordedDecision(decision=replace(DECISION, **changes), batches_read=batches_read, document={})


def world(*decisions: RecordedDecision, at_s: float = 100.0, **changes: object) -> RecordedWorld:
    recording = Recording(batches={"op": RUN}, decisions=decisions)
    periods = {"window_s": 10.0, "history_s": 60.0, "stale_after_s": 30.0}
    placed = RecordedWorld(recording=recording, delays=delays(), **{**periods, **changes})
    placed.now_s = at_s
    return placed


def read(placed: RecordedWorld) -> OperatorReading | MissingReading:
    seen = placed.observe(placed.now_s)
    return {**seen.readings, **seen.missing_readings}["op"]


@pytest.mark.parametrize(("count", "newest"), [(5, 100.0), (4, 98.0), (1, 98.0)])
def test_the_recorded_number_of_batches_is_seen(count: int, newest: float):
    # At 99.5 s four batches have ended. That a fifth was seen, or only the fourth not, is within 5 s; that only the
    # first was, which ended 7.5 s before, is not, and the time decides.
    seen = read(world(live(count, at_s=99.5), at_s=99.5))
    assert isinstance(seen, OperatorReading)
    assert seen.batches[-1].ended_at_s == newest


def test_a_missing_reading_stays_missing():
    silent = replace(ANALYSIS, reason=Reason.METRICS_STALE, detail="its driver was silent", reading=None)
    missing = read(world(live(analysis=silent)))
    assert isinstance(missing, MissingReading)
    assert (missing.stale, missing.fields) == (True, {"text": "its driver was silent"})


def test_nodes_that_were_unusable_stay_unusable():
    lost = (
        Rejection(node="near", reason=Reason.NOT_READY, detail="the kubelet is silent"),
        Rejection(node="mid", reason=Reason.FARTHER, detail="50 ms"),
        Rejection(node="far", reason=Reason.EXCLUDED, detail="excluded"),
    )
    nodes = world(live(plan=replace(PLAN, rejections=lost))).state().nodes
    assert (nodes["near"].reason, nodes["near"].problem) == (Reason.NOT_READY, "the kubelet is silent")
    # The others lost by their delay, or by settings that the replay has itself.
    assert [nodes[name].problem for name in ("mid", "far")] == ["", ""]


def test_cluster_and_map_had_the_problems_that_were_recorded():
    silent = replace(PLAN, reason=Reason.CLUSTER_UNAVAILABLE, detail="timed out")
    old = MapStatus(age_s=90_000.0, stale="25 h old")
    assert world(live(plan=silent)).state().problem == "timed out"
    assert world(live(latency_map=old)).current(100.0).map_status == old
    assert world().current(100.0).map_status == MapStatus()
