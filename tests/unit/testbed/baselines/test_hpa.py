"""HPA: on CPU, and on Varga's figures."""

import json

import pytest
from edge import known, observe, reading, workflow
from hpa_readings import analyses, asked_before, lagging, op, placed
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.hpa import HpaCpuSettings, HpaVargaSettings
from testbed.baselines.shared.hpa import Recommendations


def on_cpu(replicas, cpu, *, at_s=1000.0, memo=None, limits=None, **settings):
    """Return what HPA-CPU concludes; without a memo its first step, with one the next."""
    flow = workflow(op(**(limits or {})))
    seen = reading(placed(replicas), cpu_share=cpu, at_s=at_s, busy_share=0.5)
    memos = {} if memo is None else {"op": memo}
    return analyses("hpa-cpu", flow, seen, memos=memos, **settings)["op"]


LONG_AGO = asked_before((0.0, 1))
"""So that the window of 300 s is empty at 1000 s."""


# The core


@pytest.mark.parametrize(
    ("replicas", "cpu", "wanted"),
    [
        (5, 0.9, 7),  # 5 x 0.9 / 0.7 = 6.43
        (5, 0.35, 3),  # 2.5
        (5, 0.7, 5),
        (5, 0.14, 1),  # 1 in truth, 1.0000000000000002 in binary fractions
        (5, 0.0, 1),
        (1, 0.71, 2),
        (40, 1.0, 55),  # 57.1, but at most 15 more at once
    ],
)
def test_replicas_bring_cpu_to_its_target(replicas, cpu, wanted):
    found = on_cpu(replicas, cpu, memo=LONG_AGO)
    assert found.desired_replicas == wanted
    assert found.verdict is (
        Verdict.SAME if wanted == replicas else Verdict.MORE if wanted > replicas else Verdict.FEWER
    )


@pytest.mark.parametrize(
    ("at_s", "wanted"),
    [
        (250.0, None),  # 8 were asked for at 0 s, and 8 there are
        (300.0, None),
        (301.0, 5),  # 5 at 200 s
        (501.0, 1),
    ],
)
def test_scale_in_uses_the_highest_recent_proposal(at_s, wanted):
    found = on_cpu(8, 0.01, at_s=at_s, memo=asked_before((0.0, 8), (200.0, 5)))
    assert found.desired_replicas == wanted
    assert found.verdict is (Verdict.FEWER if wanted else Verdict.SAME)
    if not wanted:
        assert found.reason is Reason.COOLING_DOWN


@given(replicas=st.integers(1, 40), cpu=st.floats(0, 1), target=st.floats(0.05, 1))
def test_proposal_brings_the_metric_to_its_target(replicas, cpu, target):
    wanted = on_cpu(replicas, cpu, memo=LONG_AGO, cpu_target_share=target, max_step_up=1000).desired_replicas
    assert wanted >= 1
    assert wanted * target >= replicas * cpu - 1e-6
    assert (wanted - 1) * target < replicas * cpu + 1e-6 or wanted == 1


# The window as a memo


def test_first_step_counts_the_present_replicas():
    # A controller that begins again takes nothing down by one sample.
    first = on_cpu(5, 0.1)
    assert first.verdict is Verdict.SAME
    assert json.loads(first.memo)["proposals"] == [[1000.0, 5], [1000.0, 1]]
    assert on_cpu(5, 0.1, at_s=1300.0, memo=first.memo).verdict is Verdict.SAME
    later = on_cpu(5, 0.1, at_s=1301.0, memo=first.memo)
    assert (later.verdict, later.desired_replicas) == (Verdict.FEWER, 1)
    assert on_cpu(5, 0.9).desired_replicas == 7


@pytest.mark.parametrize("name", ["hpa-cpu", "hpa-varga"])
def test_samples_during_cooldown_are_kept_by_default(name):
    change = Order(at_s=900.0, placement=tuple(placed(5)), downtime_s=10.0)
    knowledge = known(orders={"op": (change,)})
    seen = reading(placed(5), cpu_share=1.0, busy_share=1.0)
    policy = policy_named(name, workflow(op()), AnalyzeSettings())
    found = policy.analyze(observe(seen), knowledge)["op"]
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.SAME, Reason.COOLING_DOWN, 8)
    assert json.loads(found.memo)["proposals"] == [[1000.0, 8]]
    silent = AnalyzeSettings(
        hpa_cpu=HpaCpuSettings(samples_during_cooldown=False), hpa_varga=HpaVargaSettings(samples_during_cooldown=False)
    )
    assert policy_named(name, workflow(op()), silent).analyze(observe(seen), knowledge)["op"].memo is None


def varga(flow, *readings, **more):
    """Return what HPA-Varga asks for by operator; what it asked for before has gone from its window."""
    old = Recommendations(policy="hpa-varga", at_s=0.0, proposals=((0.0, 1),)).model_dump_json()
    found = analyses("hpa-varga", flow, *readings, memos={item.operator: old for item in readings}, **more)
    return {name: each.desired_replicas for name, each in found.items()}


@pytest.mark.parametrize(
    ("slope", "wanted"),
    [
        (20_000.0, 9),  # lag change 1.2 < 0.9 / 0.7 = 1.286, which times 7 is 9
        (50_000.0, 11),  # 1.5 x 7 = 10.5
        (1_000.0, 9),  # 1 % of 100,000 rows/s is no growth yet
        (0.0, 9),
        (-90_000.0, 9),
    ],
)
def test_the_worse_of_utilisation_and_lag_change_counts(slope, wanted):
    assert varga(workflow(op()), lagging(7, slope, busy_share=0.9)) == {"op": wanted}


def test_growth_threshold_is_a_share_or_a_rate():
    idle = {"busy_share": 0.1}  # 1 of 7 by utilisation
    one = workflow(op())
    # 1.01 x 7 = 7.07 and 1.0101 x 7 = 7.07: both ask for 8, where they count.
    assert varga(one, lagging(7, 1010.0, **idle)) == {"op": 8}
    assert varga(one, lagging(7, 990.0, **idle)) == {"op": 1}
    # The thesis's own 1000 rows/s, whatever the throughput.
    thesis = {"lag_growth_share": 0.0, "lag_growth_rows_per_second": 1000.0}
    assert varga(one, lagging(7, 1010.0, throughput=1e6, **idle), **thesis) == {"op": 8}
    assert varga(one, lagging(7, 990.0, throughput=1e4, **idle), **thesis) == {"op": 1}


def test_lag_change_may_count_from_a_size_of_the_lag():
    # 10 of 100,000 rows/s are no growth by rate. The lag is 1,500 or 90,500 rows.
    one, idle = workflow(op()), {"busy_share": 0.1}
    small = lagging(7, 10.0, start=1000.0, **idle)
    large = lagging(7, 10.0, start=90_000.0, **idle)
    assert varga(one, small, lag_gate="size") == varga(one, large) == {"op": 1}
    # 1.0001 x 7 = 7.0007
    assert varga(one, large, lag_gate="size") == {"op": 8}
    assert varga(one, large, lag_gate="size", lag_gate_rows=1e6) == {"op": 1}
    # A lag that shrinks by 40 % of the throughput limits the scale-in: 0.6 x 7 = 4.2.
    assert varga(one, lagging(7, -40_000.0, start=9e6, **idle), lag_gate="size") == {"op": 5}


CHAIN = workflow(op("a"), op("b", "a"), op("c", "b"))
CALM = {"busy_share": 0.35, "throughput": 1000.0}
"""3 of 6 replicas by utilisation."""


def test_on_flink_the_bottleneck_gets_the_lag_of_the_source():
    # b's buffers are full, so a does not take its rows: 500 rows/s more wait each second.
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=0.0, **CALM),
        lagging(6, 0.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 3, "b": 9, "c": 3}


def test_on_spark_each_operator_gets_its_own_lag():
    # Kafka takes a's rows, whatever b does: 500 rows/s more wait before each of them.
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=1.0, **CALM),
        lagging(6, 250.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 9, "b": 8, "c": 3}


JOIN = workflow(op("a"), op("b"), op("c", "a", "b"))


def test_the_lags_of_several_sources_are_added_up():
    # Together 450 of 900 rows/s; each of them alone would be 100 or 350 of 450.
    slow = {**CALM, "throughput": 450.0}
    found = varga(
        JOIN,
        lagging(6, 100.0, name="a", saturated_share=0.0, **slow),
        lagging(6, 350.0, name="b", saturated_share=0.0, **slow),
        lagging(6, 0.0, name="c", saturated_share=1.0, **CALM),
    )
    assert found == {"a": 3, "b": 3, "c": 9}
