"""The score of a live run, from a record that is small enough to count by hand."""

from dataclasses import replace

import numpy as np
import pytest
from edge import reading
from refusals import refused

from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from gesscale.model.observation import Batch
from testbed.arena.case import METRICS, Case
from testbed.arena.worlds.scenes import world_of
from testbed.league.settings import LeagueSettings
from testbed.live.record import Record
from testbed.live.scoring import LiveRun, result_of_run
from testbed.pipeline.schedule import ReplaySchedule

BEGAN_S = 1000.0
CASE = Case(policy="gesscale", workload="steps", seed=0, variant="default")
NODES = ("edge1", "edge2", "edge3")


def batch(number):
    """Ten rows, due from 10 k to 10 k + 9 s after the beginning, through 12 s after the first of them was due."""
    return Batch(
        batch_id=number, ended_at_s=BEGAN_S + 10 * number + 12, rows=10, seconds=1.0, nodes=NODES, cap_rows=500
    )


def order(at_s, before, after, reason=Reason.OVERLOADED):
    verdict = Verdict.MORE if len(after) > len(before) else Verdict.FEWER
    return Decision(
        at_s=BEGAN_S + at_s,
        operator="nearest",
        policy="gesscale",
        analysis=Analysis(
            operator="nearest", verdict=verdict, reason=Reason.OVERLOADED, reading=replace(reading(before), batches=())
        ),
        plan=Plan(operator="nearest", reason=reason, before=before, placement=after),
        outcome=Outcome(
            status=OutcomeStatus.ORDERED,
            added=tuple(sorted(set(after) - set(before))),
            removed=tuple(sorted(set(before) - set(after))),
        ),
    )


def result(*, batches=12, decisions=(), numbers=None, first_step_s=-15):
    """Score 120 s with a row each second, an objective of 8 s, and a period of 5 s."""
    settings = LeagueSettings(policies=("gesscale",), loads=("steps",), length_s=120.0, objective_s=8.0)
    record = Record(began_at_s=BEGAN_S)
    record.add_batches(tuple(batch(number) for number in (range(batches) if numbers is None else numbers)))
    record.add((order(first_step_s, NODES[:1], NODES[:1]), *decisions))
    schedule = ReplaySchedule(pickup_s=np.arange(120.0), speed=1.0, copies=1, start_at_s=BEGAN_S)
    run = LiveRun(record=record, schedule=schedule, rows_doubled=0, rows_lost=3)
    return result_of_run(run, CASE, world_of(settings.experiment, CASE), with_series=False)


def test_a_run_is_scored_by_its_record():
    metrics = result(decisions=[order(30, NODES[:1], NODES), order(90, NODES, NODES[:2])]).metrics
    # one replica for 30 s, three for 60 s, two until the last batch ends at 122 s
    assert metrics["node_seconds"] == pytest.approx(30 + 180 + 2 * 32)
    assert metrics["avg_replicas"] == pytest.approx((30 + 180 + 2 * 30) / 120)
    assert (metrics["reconfigurations"], metrics["undone_changes"]) == (2, 0)  # 60 s apart; ten periods are 50 s
    # a row each second needs one replica: two too many for 60 s, one for 30 s
    assert metrics["accuracy_O"] == pytest.approx((2 * 60 + 30) / 120)
    # Each batch is through when its oldest row is 12 s old, so the oldest is older than 8 s for 4 s; 12 batches.
    assert metrics["lag_above_slo_s"] == pytest.approx(48.0)
    assert metrics["drained"] is True
    assert (metrics["rows_doubled"], metrics["rows_lost"]) == (0, 3)
    assert set(METRICS) <= set(metrics)


def test_unprocessed_rows_are_late_until_the_end_of_the_run():
    kept = order(200, NODES[:1], NODES[:1])
    metrics = result(batches=11, decisions=[kept]).metrics
    assert metrics["drained"] is False
    # 4 s for each of 11 batches; then the row that is due at 110 s, late from 118 s until 200 s; which one is the
    # oldest is known to a second
    assert metrics["lag_above_slo_s"] == pytest.approx(44 + 82, abs=1.0)


def test_incomplete_or_late_records_are_not_scored():
    assert not result(first_step_s=5).lost
    with refused("first-step-late", late_s=6.0):
        result(first_step_s=6)
    with refused("batches-not-recorded", missing=1, first=4, last=11):
        result(numbers=[number for number in range(12) if number != 4])


def test_a_policy_that_fails_in_a_step_loses_the_run():
    failed = replace(order(60, NODES[:1], NODES[:1]), outcome=Outcome(status=OutcomeStatus.NOTHING_TO_DO))
    failed = replace(failed, plan=replace(failed.plan, reason=Reason.POLICY_FAILED, detail="division by zero"))
    lost = result(decisions=[failed])
    assert "failed in 1 steps" in lost.lost
    assert "division by zero" in lost.lost
    assert not lost.metrics
