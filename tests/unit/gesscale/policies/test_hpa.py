"""HPA for single operators: on CPU, and on utilisation and relative lag change (Kanis 2023, 6.7.3 and 6.7.4)."""

import json
import math
from dataclasses import replace

import pytest
from edge import known, observe, operator, reading, workflow
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gesscale.decision import Reason, Verdict
from gesscale.observation import Batch, MissingReading
from gesscale.order import Order
from gesscale.policies import policy_named
from gesscale.policies.hpa.policy import Recommendations
from gesscale.policies.hpa.settings import HpaCpuSettings, HpaVargaSettings
from gesscale.settings.analyze import AnalyzeSettings

NAN = math.nan
WIDE = 1000


def op(name="op", *upstream, most=WIDE, **limits):
    return operator(name, upstream=upstream, max_replicas=most, **limits)


def placed(replicas):
    return [f"n{index:03}" for index in range(replicas)]


def lagging(replicas, slope, *, name="op", throughput=100_000.0, start=1e6, at_s=1000.0, **changes):
    """Return a reading whose lag grows by `slope` rows/s over its six batches, which are late if it is saturated."""
    nodes = tuple(placed(replicas))
    batches = tuple(
        Batch(
            batch_id=index,
            ended_at_s=at_s - 10.0 * (5 - index),
            rows=int(10 * throughput),
            seconds=10.0 if changes.get("saturated_share", 0.0) > 0.5 else 9.0,
            nodes=nodes,
            trigger_s=10.0,
            backlog_rows=start + slope * 10.0 * index,
        )
        for index in range(6)
    )
    return replace(
        reading(nodes, name=name, throughput=throughput, at_s=at_s, backlog=batches[-1].backlog_rows),
        batches=batches,
        **changes,
    )


def analyses(name, flow, *readings, memos=None, missing_readings=(), **settings):
    groups = {"hpa-cpu": ("hpa_cpu", HpaCpuSettings), "hpa-varga": ("hpa_varga", HpaVargaSettings)}
    field, group = groups[name]
    policy = policy_named(name, flow, AnalyzeSettings(**{field: group(**settings)}))
    return policy.analyze(observe(*readings, missing_readings=missing_readings), known(memos=memos or {}))


def on_cpu(replicas, cpu, *, at_s=1000.0, memo=None, limits=None, **settings):
    """Return what HPA-CPU concludes; without a memo its first step, with one the next."""
    flow = workflow(op(**(limits or {})))
    seen = reading(placed(replicas), cpu_share=cpu, at_s=at_s, busy_share=0.5)
    memos = {} if memo is None else {"op": memo}
    return analyses("hpa-cpu", flow, seen, memos=memos, **settings)["op"]


def varga(flow, *readings, **more):
    """Return what HPA-Varga asks for by operator; what it asked for before has gone from its window."""
    old = Recommendations(policy="hpa-varga", at_s=0.0, asked=((0.0, 1),)).model_dump_json()
    found = analyses("hpa-varga", flow, *readings, memos={item.operator: old for item in readings}, **more)
    return {name: each.desired_replicas for name, each in found.items()}


def asked_before(*asked, policy="hpa-cpu"):
    return Recommendations(policy=policy, at_s=asked[-1][0], asked=asked).model_dump_json()


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


def test_the_detail_tells_figure_target_and_window():
    assert on_cpu(5, 0.9, memo=LONG_AGO).detail == "CPU 90 % (target 70 %) asks for 7 of 5: 7 wanted"
    held = on_cpu(5, 0.35, memo=asked_before((900.0, 6)))
    assert held.detail == "CPU 35 % (target 70 %) asks for 3 of 5, but 6 were asked for within 5 min"


def test_without_a_cpu_the_time_in_batches_counts():
    found = on_cpu(5, None, memo=LONG_AGO)
    assert found.desired_replicas == 4  # 5 x 0.5 / 0.7 = 3.57
    assert found.detail.startswith("share of time in batches 50 %")


@pytest.mark.parametrize(
    ("at_s", "wanted"),
    [
        (250.0, None),  # 8 were asked for at 0 s, and 8 there are
        (300.0, None),
        (301.0, 5),  # 5 at 200 s
        (501.0, 1),
    ],
)
def test_fewer_replicas_are_no_fewer_than_were_asked_for_within_the_window(at_s, wanted):
    found = on_cpu(8, 0.01, at_s=at_s, memo=asked_before((0.0, 8), (200.0, 5)))
    assert found.desired_replicas == wanted
    assert found.verdict is (Verdict.FEWER if wanted else Verdict.SAME)
    if not wanted:
        assert found.reason is Reason.COOLING_DOWN


def test_what_was_asked_for_before_adds_nothing_now():
    # While a backlog was drained 12 seemed needed; by now 5 do, and 6 there are.
    drained = on_cpu(6, 0.55, memo=asked_before((900.0, 12)))
    assert (drained.verdict, drained.desired_replicas) == (Verdict.SAME, None)
    assert on_cpu(6, 0.9, memo=asked_before((900.0, 12))).desired_replicas == 8  # 7.7


def test_over_provisioning_does_not_add_to_what_is_held():
    assert on_cpu(6, 0.5, memo=asked_before((900.0, 8)), over_provision=1.2).verdict is Verdict.SAME
    # 5 x 1.2 = 6 and 5 were asked for: no step down, and none up.
    assert on_cpu(6, 0.5, memo=asked_before((900.0, 5)), over_provision=1.2).verdict is Verdict.SAME


def test_the_tolerance_is_none_unless_told():
    assert on_cpu(10, 0.71, memo=LONG_AGO).desired_replicas == 11
    assert on_cpu(10, 0.76, memo=LONG_AGO, tolerance_share=0.1).desired_replicas == 10
    assert on_cpu(10, 0.64, memo=LONG_AGO, tolerance_share=0.1).desired_replicas == 10
    assert on_cpu(10, 0.78, memo=LONG_AGO, tolerance_share=0.1).desired_replicas == 12


def test_a_target_that_cpu_does_not_reach_never_adds():
    # Spark's tasks wait for the network and for their driver: a CPU that tops out at 0.9 of its time.
    assert on_cpu(5, 0.9, memo=LONG_AGO, cpu_target_share=0.9).verdict is Verdict.SAME


@given(
    replicas=st.integers(1, 40),
    cpu=st.floats(0, 1),
    target=st.floats(0.05, 1),
)
def test_what_is_asked_for_would_bring_the_figure_to_its_target_or_below(replicas, cpu, target):
    wanted = on_cpu(replicas, cpu, memo=LONG_AGO, cpu_target_share=target, max_step_up=1000).desired_replicas
    assert wanted >= 1
    assert wanted * target >= replicas * cpu - 1e-6
    assert (wanted - 1) * target < replicas * cpu + 1e-6 or wanted == 1


# The window as a memo


def test_the_first_step_stands_beside_what_runs():
    # A controller that begins again takes nothing down by one sample.
    first = on_cpu(5, 0.1)
    assert first.verdict is Verdict.SAME
    assert json.loads(first.memo)["asked"] == [[1000.0, 5], [1000.0, 1]]
    assert on_cpu(5, 0.1, at_s=1300.0, memo=first.memo).verdict is Verdict.SAME
    later = on_cpu(5, 0.1, at_s=1301.0, memo=first.memo)
    assert (later.verdict, later.desired_replicas) == (Verdict.FEWER, 1)
    assert on_cpu(5, 0.9).desired_replicas == 7


@pytest.mark.parametrize(
    "memo",
    [
        "",
        "{",
        "[]",
        '{"policy": "hpa-cpu", "at_s": 0, "asked": []}',
        '{"policy": "hpa-cpu", "at_s": 0, "asked": [[0, "many"]]}',
        '{"policy": "hpa-cpu", "at_s": 0, "asked": [[0, 1]], "more": 1}',
        asked_before((0.0, 1), policy="hpa-varga"),
        asked_before((2000.0, 1)),  # of the future: a clock was set back
    ],
)
def test_a_memo_that_is_none_of_its_own_takes_nothing_down(memo):
    assert on_cpu(5, 0.1, memo=memo).verdict is Verdict.SAME


@pytest.mark.parametrize("cpu", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("memo", [None, LONG_AGO, asked_before((800.0, 9), (900.0, 3))])
def test_planning_again_on_the_same_figures_says_the_same(cpu, memo):
    first = on_cpu(5, cpu, memo=memo)
    again = on_cpu(5, cpu, memo=first.memo)
    assert again == first


def test_what_cannot_count_again_is_forgotten():
    memo = on_cpu(5, 0.5, memo=asked_before((500.0, 9), (750.0, 8), (800.0, 4), (900.0, 3))).memo
    # 9 is too old, 4 and 3 are no more than the 4 of now.
    assert json.loads(memo)["asked"] == [[750.0, 8], [1000.0, 4]]


def test_a_memo_is_bounded_however_often_it_is_written():
    memo = None
    for step in range(400):
        # Ever fewer are asked for, a little at a time.
        memo = on_cpu(40, 1.0 - step / 400, at_s=1000.0 + step * 0.1, memo=memo, limits={"most": 40}).memo
    assert len(json.loads(memo)["asked"]) <= 41
    assert len(memo) < 2000


def test_figures_that_are_none_change_nothing_and_leave_the_memo():
    flow = workflow(op())
    seen = reading(placed(5), cpu_share=NAN, busy_share=NAN)
    found = analyses("hpa-cpu", flow, seen)["op"]
    assert (found.verdict, found.reason, found.memo) == (Verdict.SAME, Reason.METRICS_MISSING, None)


@pytest.mark.parametrize("name", ["hpa-cpu", "hpa-varga"])
def test_missing_figures_hold(name):
    found = analyses(
        name, workflow(op()), missing_readings=[MissingReading(operator="op", detail="no answer")]
    )["op"]
    assert (found.verdict, found.reason, found.memo) == (Verdict.UNKNOWN, Reason.METRICS_MISSING, None)


@pytest.mark.parametrize("name", ["hpa-cpu", "hpa-varga"])
def test_what_is_seen_while_cooling_is_remembered_unless_told_otherwise(name):
    change = Order(at_s=900.0, placement=tuple(placed(5)), downtime_s=10.0)
    knowledge = known(orders={"op": (change,)})
    seen = reading(placed(5), cpu_share=1.0, busy_share=1.0)
    policy = policy_named(name, workflow(op()), AnalyzeSettings())
    found = policy.analyze(observe(seen), knowledge)["op"]
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.SAME, Reason.COOLING_DOWN, 8)
    assert json.loads(found.memo)["asked"] == [[1000.0, 8]]
    silent = AnalyzeSettings(
        hpa_cpu=HpaCpuSettings(samples_during_cooldown=False),
        hpa_varga=HpaVargaSettings(samples_during_cooldown=False),
    )
    assert policy_named(name, workflow(op()), silent).analyze(observe(seen), knowledge)["op"].memo is None


def test_an_idle_operator_shrinks_to_its_least():
    seen = reading(placed(5), throughput=0.0, offered=0.0, cpu_share=0.0, busy_share=0.0, batches=())
    for name in ("hpa-cpu", "hpa-varga"):
        memos = {"op": asked_before((0.0, 1), policy=name)}
        assert analyses(name, workflow(op(min_replicas=2)), seen, memos=memos)["op"].desired_replicas == 2


@pytest.mark.parametrize(
    ("group", "settings"),
    [
        (HpaCpuSettings, {"cpu_target_share": 0.0}),
        (HpaCpuSettings, {"tolerance_share": 1.0}),
        (HpaVargaSettings, {"lag_growth_share": -0.1}),
        (HpaVargaSettings, {"lag_change_target": 0.0}),
    ],
)
def test_settings_out_of_range_are_refused(group, settings):
    with pytest.raises(ValidationError):
        group(**settings)


# HPA-Varga


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


def test_growth_counts_from_a_share_of_the_throughput_or_from_so_many_rows():
    idle = {"busy_share": 0.1}  # 1 of 7 by utilisation
    one = workflow(op())
    # 1.01 x 7 = 7.07 and 1.0101 x 7 = 7.07: both ask for 8, where they count.
    assert varga(one, lagging(7, 1010.0, **idle)) == {"op": 8}
    assert varga(one, lagging(7, 990.0, **idle)) == {"op": 1}
    # The thesis's own 1000 rows/s, whatever the throughput.
    thesis = {"lag_growth_share": 0.0, "lag_growth_rows_per_second": 1000.0}
    assert varga(one, lagging(7, 1010.0, throughput=1e6, **idle), **thesis) == {"op": 8}
    assert varga(one, lagging(7, 990.0, throughput=1e4, **idle), **thesis) == {"op": 1}


def test_a_target_below_1_lets_the_lag_shrink():
    growing = lagging(7, 20_000.0, busy_share=0.1)
    assert varga(workflow(op()), growing, lag_change_target=0.8) == {"op": 11}  # 7 x 1.2 / 0.8 = 10.5


def test_without_a_backlog_utilisation_alone_counts():
    seen = lagging(7, 50_000.0, busy_share=0.9)
    blind = replace(seen, batches=tuple(replace(batch, backlog_rows=None) for batch in seen.batches))
    assert varga(workflow(op()), blind) == {"op": 9}


CHAIN = workflow(op("a"), op("b", "a"), op("c", "b"))
CALM = {"busy_share": 0.35, "throughput": 1000.0}
"""3 of 6 replicas by utilisation."""


def test_on_flink_the_bottleneck_answers_for_the_lag_before_the_source():
    # b's buffers are full, so a does not take its rows: 500 rows/s more wait each second.
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=0.0, **CALM),
        lagging(6, 0.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 3, "b": 9, "c": 3}


def test_on_flink_the_last_of_several_is_the_bottleneck():
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=0.0, **CALM),
        lagging(6, 0.0, name="b", saturated_share=0.0, **CALM),
        lagging(6, 0.0, name="c", saturated_share=1.0, **CALM),
    )
    assert found == {"a": 3, "b": 3, "c": 9}


def test_on_spark_each_answers_for_the_lag_before_itself():
    # Kafka takes a's rows, whatever b does: 500 rows/s more wait before each of them.
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=1.0, **CALM),
        lagging(6, 250.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 9, "b": 8, "c": 3}


def test_an_operator_at_its_limit_that_keeps_pace_is_no_bottleneck():
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", saturated_share=0.0, **CALM),
    )
    assert found == {"a": 9, "b": 3, "c": 3}


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


def test_a_source_that_keeps_up_is_no_bottleneck_beside_one_that_does_not():
    found = varga(
        JOIN,
        lagging(6, 0.0, name="a", start=0.0, saturated_share=0.0, **CALM),
        lagging(6, 500.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 3, "b": 9, "c": 3}


PRESSED = (
    lagging(6, 0.0, name="a", saturated_share=0.0, **CALM),
    lagging(6, 0.0, name="b", saturated_share=1.0, **CALM),
    lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
)
"""b holds a back, but no lag grows."""


def test_back_pressure_without_growth_finds_a_bottleneck_only_if_told():
    assert varga(CHAIN, *PRESSED) == {"a": 3, "b": 3, "c": 3}
    # As in the thesis's code: lag change 1 of b's 6 replicas.
    assert varga(CHAIN, *PRESSED, lag_growth_first=False) == {"a": 3, "b": 6, "c": 3}


def test_time_held_back_counts_as_work_only_if_told():
    assert varga(CHAIN, *PRESSED)["a"] == 3
    assert varga(CHAIN, *PRESSED, held_back_counts=True)["a"] == 9  # 6 / 0.7 = 8.6


def test_utilisation_is_cpu_use_only_if_told():
    seen = lagging(7, 0.0, busy_share=0.9, cpu_share=0.5)
    assert varga(workflow(op()), seen) == {"op": 9}
    assert varga(workflow(op()), seen, useful_time="cpu") == {"op": 5}
    assert varga(workflow(op()), replace(seen, cpu_share=None), useful_time="cpu") == {"op": 9}


def test_a_workflow_that_is_seen_in_part_is_judged_by_that_part():
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="b", saturated_share=1.0, **CALM),
        missing_readings=[MissingReading(operator=name, detail="no answer") for name in ("a", "c")],
    )
    assert found == {"a": None, "b": 9, "c": None}


def test_growth_where_nothing_is_processed_is_bounded_by_the_cap_on_growth():
    stuck = lagging(7, 500.0, throughput=0.0, input_rows_per_s=500.0)
    assert varga(workflow(op()), stuck) == {"op": 22}  # 7 + 15
