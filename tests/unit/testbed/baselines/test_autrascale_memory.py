"""AuTraScale+: what it remembers from step to step, and what it does where figures are missing."""

import math
from dataclasses import replace

from edge import known, observe, workflow
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trials import CHAIN, World, alone, op, policy, seen

from gesscale.model.decision import Reason, Verdict
from gesscale.model.observation import MissingReading
from testbed.baselines.autrascale.situation import AutrascaleMemo, LatencySample, RateCheck, RateModel

NAN = math.nan


# What is remembered


def test_unexecuted_order_is_repeated_then_dropped():
    world = alone(350.0).run(5)
    orders = []
    for _ in range(12):
        world.replicas["op"] = 1
        world.step()
        orders.append(world.replicas["op"])
    assert orders[:5] == [4] * 5  # until the stabilisation time is over
    world.run(30)
    assert world.trajectory[-1] in {(1,), (4,)}


def test_the_memo_is_bounded():
    flow = workflow(*(op(f"o{index}") for index in range(50)))
    world = World(policy(flow), lambda _: 350.0, lambda _, count: 100.0 * count, dict.fromkeys(flow.operators, 4))
    world.run(1)
    samples = tuple(LatencySample(replicas=(n,) * 50, latency_s=1.0, sustained=True) for n in range(1, 25))
    models = tuple(RateModel(rate=100.0 * n, samples=samples, batches_s=(1.234,) * 50) for n in range(1, 9))
    checks = tuple(
        RateCheck(at_s=60.0 * n, rate=1e5 / 3, throughput=1e5 / 3, latency_s=1 / 3, waiting_s=1 / 3) for n in range(60)
    )
    full = world.memo.with_changes(models=models, checks=checks)
    assert len(full.model_dump_json()) > 32 * 1024
    text = full.bounded()
    assert len(text) <= 32 * 1024
    assert AutrascaleMemo.model_validate_json(text).models[0].rate == 100.0


# What is missing


def test_one_missing_operator_blocks_all():
    whole = [seen(name, 1, offered=900.0, throughput=100.0, busy=1.0, at_s=600.0) for name in ("a", "b", "c")]
    found = policy(CHAIN).analyze(
        observe(*whole, missing_readings=(MissingReading(operator="d", code="metrics-missing"),)), known()
    )
    assert {item.verdict for name, item in found.items() if name != "d"} == {Verdict.SAME}
    assert found["a"].reason is Reason.METRICS_MISSING
    assert "of d" in found["a"].detail


FIGURES = st.sampled_from([0.0, 1.0, 50.0, 400.0, 1e9, -1.0, NAN, math.inf]) | st.none()


NEGATIVE = [(0.0, 0.0, 0.0), (1.0, -1.0, None), (None, 400.0, None), (1.0, -1.0, None)]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(FIGURES, FIGURES, FIGURES), min_size=8, max_size=12))
@example([*NEGATIVE, *[(None, None, None)] * 3, (None, 1.0, 0.0)])  # a negative rate was the best of the tried
def test_any_figures_stay_within_the_limits(reported):
    chosen, memos, replicas = policy(processing_latency=6.0), {}, 2
    for index, (offered, throughput, waiting) in enumerate(reported):
        at_s = 300.0 * (index + 1)
        made = seen("op", replicas, offered=100.0, throughput=100.0, busy=0.5, at_s=at_s)
        poor = replace(
            made,
            input_rows_per_s=offered,
            throughput_rows_per_s=0.0 if throughput is None else throughput,
            backlog_rows=waiting,
        )
        found = chosen.analyze(observe(poor), known(memos=memos))["op"]
        if found.memo is not None:
            memos["op"] = found.memo
        if found.desired_replicas is not None:
            assert 1 <= found.desired_replicas <= 8
            replicas = found.desired_replicas
