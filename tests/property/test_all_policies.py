"""What holds for every policy over many steps on workflows of several operators, whatever is seen."""

import atexit
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from edge import NODES, batches, known, operator, workflow
from guide_policy import write_policy
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.model.decision import Change, Verdict
from gesscale.model.observation import Batch, MissingReading, NodeReading, OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.monitor.offered import driver_points
from gesscale.options import PolicyOptions
from gesscale.policies import policy_names
from gesscale.policies.registry import find_policy_info
from gesscale.ports import ClusterState, Knowledge, Node

PERIOD_S = 60.0
WORKFLOWS = {
    "one": (("a",),),
    "chain": (("a",), ("b", "a"), ("c", "b")),
    "fork": (("a",), ("b", "a"), ("c", "a")),
    "join": (("a",), ("b",), ("c", "a", "b")),
}
FOLDER = Path(tempfile.mkdtemp(prefix="gesscale-guide-"))
atexit.register(shutil.rmtree, FOLDER)
POLICIES = [*sorted(policy_names()), write_policy(FOLDER)]
"""With the one that the guide builds."""
NODE_STATES = {name: Node(name=name) for name in NODES}

# What an operator may be seen as: offered and processed rows/s, backlog, shares of time at the limit and busy, CPU.
SEEN = {
    "idle": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "calm": (40.0, 40.0, 0.0, 0.0, 0.2, 0.15),
    "right": (140.0, 140.0, 100.0, 0.0, 0.7, 0.7),
    "late": (400.0, 180.0, 20_000.0, 1.0, 1.0, 0.95),
    "draining": (50.0, 180.0, 9_000.0, 1.0, 1.0, 0.9),
    "blind": (None, 100.0, None, 0.0, 0.5, None),
    "contradictory": (100.0, 100.0, 0.0, 0.0, 0.0, 0.0),  # rows without any time
}
views = st.sampled_from([*SEEN, "missing", "stale", "late", "calm"])


def drawn_workflow(shape):
    return workflow(*(operator(name, upstream=upstream) for name, *upstream in map(_as_pair, WORKFLOWS[shape])))


def _as_pair(item):
    name, *upstream = item
    return name, *upstream


def observation(at_s, shown, placements):
    readings, missing_readings = {}, {}
    for name, view in shown.items():
        if view in {"missing", "stale"}:
            missing_readings[name] = MissingReading(operator=name, code="metrics-missing", stale=view == "stale")
        else:
            readings[name] = read(name, view, at_s, placements[name])
    return WorkflowObservation(at_s=at_s, readings=readings, missing_readings=missing_readings)


def read(name, view, at_s, placement):
    offered, processed, backlog, saturated, busy, cpu = SEEN[view]
    seconds = 2.0 * busy or 0.001
    recent = tuple(
        replace(batch, offered_rows_total=None if offered is None else offered * batch.ended_at_s, backlog_rows=backlog)
        for batch in batches(
            placement, at_s=at_s, rows=int(2 * processed), seconds=seconds, count=20, cap=100 * len(placement)
        )
    )
    spaced: tuple[Batch, ...] = tuple(
        replace(batch, ended_at_s=at_s - 2.0 * (len(recent) - 1 - index)) for index, batch in enumerate(recent)
    )
    return OperatorReading(
        operator=name,
        at_s=at_s,
        placement=placement,
        throughput_rows_per_s=processed,
        input_rows_per_s=offered,
        backlog_rows=backlog,
        saturated_share=saturated,
        busy_share=busy,
        cpu_share=cpu,
        output_rows_per_s=processed / 2,
        by_node={}
        if cpu is None
        else {
            node: NodeReading(throughput_rows_per_s=processed / len(placement), busy_share=busy, cpu_share=cpu)
            for node in placement
        },
        warm_batches=spaced if processed else (),
        batches=spaced,
        offered_points=tuple(driver_points(spaced)),
        trigger_s=2.0,
    )


steps = st.lists(st.tuples(views, views, views), min_size=1, max_size=12)


@settings(deadline=None, max_examples=examples(150))
@given(
    name=st.sampled_from(POLICIES), shape=st.sampled_from(sorted(WORKFLOWS)), trajectory=steps, settles=st.booleans()
)
def test_all_policies_are_bounded_deterministic_and_safe(name, shape, trajectory, settles):
    flow = drawn_workflow(shape)
    policy = find_policy_info(name).create(flow, PolicyOptions())
    placements = dict.fromkeys(flow.operators, ("hub", "near"))
    memory = known()
    for number, views_now in enumerate(trajectory):
        at_s = 10_000.0 + PERIOD_S * number
        shown = dict(zip(flow.operators, views_now, strict=False))
        seen = observation(at_s, shown, placements)
        state = ClusterState(nodes=NODE_STATES, placements=placements)
        analyses, plans = decided(policy, seen, state, memory)
        assert (analyses, plans) == decided(find_policy_info(name).create(flow, PolicyOptions()), seen, state, memory)
        remembered = with_memos(memory, analyses)
        again, same_plans = decided(policy, seen, state, remembered)
        assert {key: plan.change for key, plan in same_plans.items()} == {
            key: plan.change for key, plan in plans.items()
        }
        assert with_memos(remembered, again).memos == remembered.memos
        for key, plan in plans.items():
            if plan.change is None:
                assert plan.placement == placements[key]
                continue
            check(plan, analyses[key], flow.operators[key], placements[key])
            assert shown[key] not in {"missing", "stale"}
            assert not (shown[key] in {"blind", "late"} and plan.change.remove)
            placements[key] = plan.placement
            remembered = with_change(remembered, key, at_s, plan.placement, settled=settles)
        memory = settled(remembered) if settles else remembered


def decided(policy, seen, state, memory):
    analyses = policy.analyze(seen, memory)
    return analyses, policy.plan(analyses, state, memory)


def check(plan, analysis, limits, present):
    change: Change = plan.change
    if plan.candidates:  # Plan looks ahead; Analyze says how the load of the operator alone compares.
        assert analysis.verdict is not Verdict.UNKNOWN
        size, kept = len(plan.placement), set(present) & set(plan.placement)
        moved = min(len(present), size) - len(kept)
        assert (size, moved) in {(each.replicas, each.moved) for each in plan.candidates}
    else:
        assert analysis.verdict in {Verdict.MORE, Verdict.FEWER}
        assert bool(change.add) != bool(change.remove)
    assert set(plan.placement) == (set(present) | set(change.add)) - set(change.remove)
    assert limits.min_replicas <= len(plan.placement) <= limits.max_replicas


def with_memos(memory: Knowledge, analyses):
    remembered = {key: analysis.memo for key, analysis in analyses.items() if analysis.memo is not None}
    return replace(memory, memos={**memory.memos, **remembered})


def with_change(memory: Knowledge, key, at_s, placement, *, settled):
    change = Order(at_s=at_s, placement=placement, downtime_s=5.0 if settled else None)
    past = memory.orders.get(key, ())
    return replace(memory, orders={**memory.orders, key: (change, *past)})


def settled(memory: Knowledge):
    done = {
        key: tuple(change.model_copy(update={"downtime_s": change.downtime_s or 5.0}) for change in changes)
        for key, changes in memory.orders.items()
    }
    return replace(memory, orders=done)


@settings(deadline=None, max_examples=examples(60))
@given(name=st.sampled_from(POLICIES), memo=st.sampled_from(["", "{", "null", '{"policy": "ds2"}', "[]"]))
def test_damaged_or_foreign_memo_counts_as_missing(name, memo):
    flow = drawn_workflow("chain")
    placements = dict.fromkeys(flow.operators, ("hub", "near"))
    seen = observation(10_000.0, dict.fromkeys(flow.operators, "late"), placements)
    state = ClusterState(nodes=NODE_STATES, placements=placements)
    policy = find_policy_info(name).create(flow, PolicyOptions())
    damaged = replace(known(), memos=dict.fromkeys(flow.operators, memo))
    assert decided(policy, seen, state, damaged) == decided(policy, seen, state, known())
