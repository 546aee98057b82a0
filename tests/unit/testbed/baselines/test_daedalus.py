"""Daedalus: what it wishes for, and what it remembers (Pfister et al., ICPE 2024)."""

import math
from dataclasses import replace

import pytest
from edge import known, observe, operator, reading, workflow
from figures import figures
from refusals import refused

from gesscale.errors import SettingsError
from gesscale.model.decision import Reason, Verdict
from gesscale.model.observation import Batch, NodeReading
from gesscale.model.order import Order
from gesscale.monitor.offered import driver_points
from gesscale.policies import policy_named, registry
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.daedalus.policy import DaedalusMemo
from testbed.baselines.daedalus.scale_out import Capacities, CpuRegression, Downtimes, ObservedRate
from testbed.baselines.daedalus.settings import DaedalusSettings

NODES = ("edge", "far", "hub", "mid", "near")
FLOW = workflow(operator(max_replicas=5))
LOOP_S = 60.0


def policy(**settings):
    return policy_named("daedalus", FLOW, AnalyzeSettings(daedalus=DaedalusSettings(**settings)))


def seen(replicas, rate, *, at_s, cpu=0.5, processed=None, backlog=0.0, since_s=None, **changes):
    """Return a reading of an operator to which `rate` rows/s were offered all along; its workers are alike."""
    done = rate if processed is None else processed
    since_s = at_s - 300.0 if since_s is None else since_s
    placement = NODES[:replicas]
    knowing = tuple(
        Batch(
            batch_id=int(ended_s),
            ended_at_s=float(ended_s),
            rows=int(10 * done),
            seconds=5.0,
            nodes=placement,
            trigger_s=10.0,
            offered_rows_total=rate * (ended_s - 5.0),
            backlog_rows=backlog,
        )
        for ended_s in range(int(since_s), int(at_s) + 1, 10)
    )
    made = replace(
        reading(placement, throughput=done, offered=rate, at_s=at_s, backlog=backlog),
        batches=knowing,
        offered_points=tuple(driver_points(knowing)),
        by_node={
            node: NodeReading(throughput_rows_per_s=done / replicas, busy_share=cpu, cpu_share=cpu)
            for node in placement
        },
        cpu_share=cpu,
        trigger_s=10.0,
    )
    return replace(made, **changes)


def step(now, memory=None, **settings):
    return policy(**settings).analyze(observe(now), memory or known())["op"]


def trajectory(readings, memory=None, **settings):
    """Return the analyses of one step after the other, each with the memory of the one before."""
    memory = memory or known()
    found = []
    for now in readings:
        found.append(step(now, memory, **settings))
        memory = replace(memory, memos={"op": found[-1].memo} if found[-1].memo else memory.memos)
    return found


def steady(replicas, rate, *, steps=6, cpu=0.5, from_s=10_000.0, **changes):
    return [seen(replicas, rate, at_s=from_s + LOOP_S * index, cpu=cpu, **changes) for index in range(steps)]


def remembers(**changes):
    """Return a memo at 10,000 s of three workers that do 200 rows/s each, steady for long."""
    fields = {
        "policy": "daedalus",
        "at_s": 10_000.0,
        "placement": NODES[:3],
        "steady_from_s": 0.0,
        "changed_s": 0.0,
        "downtimes": Downtimes(out_s=30.0, in_s=15.0),
        "capacities": Capacities(per_worker_rows_per_s=200.0),
    }
    return DaedalusMemo(**{**fields, **changes})


def knowing(memo, *changes):
    return known(memos={"op": memo.model_dump_json()}, orders={"op": changes})


def change(at_s, replicas, downtime_s):
    return Order(at_s=at_s, placement=NODES[:replicas], downtime_s=downtime_s)


def memo_of(analysis):
    return DaedalusMemo.model_validate_json(analysis.memo)


# The beginning


def test_no_proposal_before_a_full_window():
    # The first look is at 10,000 s; 120 s of warm-up and a window of 60 s later is 10,180 s.
    found = trajectory(steady(3, 300.0, steps=4))
    assert [each.reason for each in found[:3]] == [Reason.MODEL_UNCALIBRATED] * 3
    assert [each.desired_replicas for each in found[:3]] == [None] * 3
    assert figures(found[0].detail) == [180]
    assert found[3].desired_replicas is not None


def test_first_proposal_and_its_figures():
    # 100 rows/s each at 50 % CPU: 200 each. 2 do 400 for 300: 3,000 rows again and 15 s of 300 are 7,500, at 100/s 75 s
    # and one more. One does less than 300.
    last = trajectory(steady(3, 300.0, steps=4))[-1]
    assert (last.verdict, last.desired_replicas, last.reason) == (Verdict.FEWER, 2, Reason.UNDERUSED)
    assert figures(last.detail) == [300, 300, 3, 600, 2, 91, 1, 2]


def test_an_overloaded_operator_gets_what_the_load_and_its_backlog_need():
    # 2 do 200 rows/s and 350 are offered; 20,000 rows wait. With 4: 20,000 + 3,500 + 30 x 350 = 34,000 at 50/s: 680 s.
    # With 5: at 150/s 227 s and one, and 30 s.
    last = trajectory(steady(2, 350.0, steps=4, cpu=1.0, processed=200.0, backlog=20_000.0, saturated_share=1.0))[-1]
    assert (last.verdict, last.desired_replicas) == (Verdict.MORE, 5)
    assert {4, 600} <= {*figures(last.detail)}


# What it learns


def test_a_job_that_is_full_below_100_percent_is_taken_as_it_is():
    full = steady(2, 220.0, steps=12, cpu=0.8, processed=160.0, saturated_share=1.0)
    learned = memo_of(trajectory(full)[-1])
    assert learned.full_cpu == pytest.approx(0.8, abs=0.001)
    assert learned.capacities.observed[2].rows_per_s == pytest.approx(160, rel=0.01)


def test_after_a_change_workers_begin_anew_and_what_was_seen_stays():
    line = CpuRegression(count=9, mean_cpu=0.5, mean_rate=100.0, square_cpu=1.0, product=200.0)
    memo = remembers(
        lines=dict.fromkeys(NODES[:3], line),
        capacities=Capacities(per_worker_rows_per_s=200.0, observed={4: ObservedRate(rows_per_s=700.0, at_s=9000.0)}),
    )
    after = memo_of(step(seen(4, 300.0, at_s=10_180.0), knowing(memo, change(10_000.0, 4, 30.0))))
    assert after.lines == {}
    assert after.capacities == memo.capacities
    assert (after.placement, after.changed_s) == (NODES[:4], 10_000.0)
    # 30 s of downtime; then 120 s of warm-up and a window.
    assert after.steady_from_s == 10_030
    assert memo_of(step(seen(4, 300.0, at_s=10_209.0), knowing(after))).lines == {}
    assert set(memo_of(step(seen(4, 300.0, at_s=10_210.0), knowing(after))).lines) == set(NODES[:4])


# Steps and memory


# What is missing


def test_without_offered_rows_nothing_can_be_said():
    for nothing in (None, math.nan):
        found = step(seen(3, 300.0, at_s=10_060.0, input_rows_per_s=nothing), knowing(remembers()))
        assert (found.verdict, found.reason) == (Verdict.SAME, Reason.METRICS_MISSING)
        assert found.memo is None


def test_an_idle_operator_that_is_known_shrinks_to_one():
    found = step(seen(3, 0.0, at_s=10_060.0, cpu=0.0), knowing(remembers()))
    assert (found.verdict, found.desired_replicas) == (Verdict.FEWER, 1)
    assert memo_of(found).capacities == remembers().capacities


# Building


def test_missing_statsmodels_is_reported(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    with refused("package-missing", SettingsError, package="statsmodels"):
        policy()
