"""Dhalion on back-pressure time: bottlenecks up, healthy workflows down (Kanis 2023, 6.7.1)."""

import math
from dataclasses import replace

import pytest
from edge import known, observe, operator, reading, workflow
from figures import figures

from gesscale.model.decision import Reason, Verdict
from gesscale.model.observation import Batch
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.dhalion import DhalionSettings, scale_up_factor

NAN = math.nan


def op(name="op", *upstream, most=1000, **limits):
    return operator(name, upstream=upstream, max_replicas=most, **limits)


def seen(
    replicas, *, name="op", slope=0.0, waiting=0.0, throughput=1000.0, cap=None, saturated=0.0, busy=0.5, **changes
):
    """Return a reading whose lag grew by `slope` rows/s to `waiting` rows; its batches are late if it is saturated."""
    nodes = tuple(f"n{index:03}" for index in range(replicas))
    batches = tuple(
        Batch(
            batch_id=index,
            ended_at_s=1000.0 - 10.0 * (5 - index),
            rows=int(10 * throughput),
            seconds=10.0 if saturated > 0.5 else 9.0,
            nodes=nodes,
            trigger_s=10.0,
            cap_rows=cap,
            backlog_rows=waiting - slope * 10.0 * (5 - index),
        )
        for index in range(6)
    )
    made = reading(nodes, name=name, throughput=throughput, backlog=waiting, busy_share=busy)
    return replace(made, **{"batches": batches, "saturated_share": saturated, **changes})


def analyses(flow, *readings, missing_readings=(), knowledge=None, **settings):
    policy = policy_named("dhalion", flow, AnalyzeSettings(dhalion=DhalionSettings(**settings)))
    return policy.analyze(observe(*readings, missing_readings=missing_readings), knowledge or known())


def wanted(flow, *readings, **more):
    return {name: found.desired_replicas for name, found in analyses(flow, *readings, **more).items()}


ALONE = workflow(op())
CHAIN = workflow(op("a"), op("b", "a"), op("c", "b"))


def chain(a=None, b=None, c=None):
    """Return readings of the chain, all on 10 replicas that keep up unless an argument says otherwise."""
    return tuple(
        seen(**{"replicas": 10, "name": name, **(figures or {})}) for name, figures in (("a", a), ("b", b), ("c", c))
    )


# Factors


@pytest.mark.parametrize(
    ("undone", "factor"),
    [
        (0.0, 1.0),
        (0.2, 1.25),  # the example of section 4.2: 20 % suspended, 80 % processed
        (0.5, 2.0),
        (0.9, 10.0),
        (0.95, 10.0),
        (1.0, 10.0),
        (-0.5, 1.0),
    ],
)
def test_scale_up_factor(undone, factor):
    assert scale_up_factor(undone) == pytest.approx(factor)


# Up


@pytest.mark.parametrize(
    ("replicas", "slope", "throughput", "more"),
    [
        (4, 50_000.0, 200_000.0, 5),  # 1.25 times as many
        (8, 250.0, 1000.0, 10),
        (8, 20.0, 1000.0, 9),  # 8.16
        (8, 5000.0, 1000.0, 23),  # 6 times as many, but at most 15 more at once
        (8, 1e9, 1000.0, 23),
    ],
)
def test_a_source_whose_lag_grows_gets_as_many_more(replicas, slope, throughput, more):
    found = analyses(ALONE, seen(replicas, slope=slope, waiting=1e6, throughput=throughput))["op"]
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.MORE, Reason.OVERLOADED, more)


@pytest.mark.parametrize(
    ("busy", "factor_of_8"),
    [
        (0.8, 10),  # held back for 20 % of the time: 1.25
        (0.05, 23),  # 95 %, which counts as 90: 80, but at most 15 more at once
        (1.0, None),
    ],
)
def test_back_pressure_time_of_the_producer_sets_the_factor(busy, factor_of_8):
    # On Flink: b's buffers are full, a has rows and does not take them.
    found = wanted(
        CHAIN,
        *chain(
            a={"busy": busy, "waiting": 5e5, "slope": 100.0},
            b={"replicas": 8, "saturated": 1.0, "waiting": 4000.0, "busy": 1.0},
        ),
    )
    assert found == {"a": None, "b": factor_of_8, "c": None}


LATE = {"saturated": 1.0, "slope": 250.0, "waiting": 50_000.0, "cap": 10_000}
"""On Spark: rows pile up in the operator's own topic, a quarter of what it processes."""


@pytest.mark.parametrize("slope", [-200.0, 0.0])
def test_an_overloaded_operator_whose_lag_does_not_grow_keeps_what_it_has(slope):
    found = analyses(CHAIN, *chain(b={**LATE, "slope": slope}))
    assert {name: each.desired_replicas for name, each in found.items()} == {"a": 8, "b": None, "c": 8}
    assert found["b"].reason is Reason.DRAINING_BACKLOG


def test_on_flink_the_last_of_a_chain_is_the_bottleneck():
    blocked = {"busy": 0.8, "waiting": 5e5}
    found = analyses(
        CHAIN, *chain(a={**blocked, "slope": 250.0}, b=blocked, c={"saturated": 1.0, "busy": 1.0, "waiting": 4000.0})
    )
    assert {name: each.desired_replicas for name, each in found.items()} == {"a": None, "b": None, "c": 13}
    assert found["a"].reason is Reason.NOT_ROOT_OF_OVERLOAD
    assert found["a"].reason is Reason.NOT_ROOT_OF_OVERLOAD


FORK = workflow(op("a"), op("b", "a"), op("c", "a"), op("d"))


def test_only_blocking_consumers_grow():
    readings = [
        seen(10, **{"name": name, **figures})
        for name, figures in (
            ("a", {"busy": 0.8, "waiting": 5e5}),
            ("b", {"saturated": 1.0, "busy": 1.0, "waiting": 4000.0}),
            ("c", {}),
            ("d", {}),
        )
    ]
    assert wanted(FORK, *readings) == {"a": None, "b": 13, "c": None, "d": None}


# Down


@pytest.mark.parametrize(("present", "fewer"), [(20, 16), (5, 4), (4, 3), (2, 1), (1, 1)])
def test_without_lag_a_fifth_goes(present, fewer):
    assert wanted(ALONE, seen(present)) == {"op": fewer}


@pytest.mark.parametrize(
    ("waiting", "more", "gone"),
    [
        (1000.0, {}, True),  # what is offered in 1 s
        (1001.0, {}, False),
        (9000.0, {"lag_close_to_zero_rows": 10_000}, True),
        (9000.0, {"lag_close_to_zero": 10}, True),
    ],
)
def test_a_source_shrinks_while_few_rows_wait(waiting, more, gone):
    found = analyses(ALONE, seen(10, waiting=waiting), **more)["op"]
    assert found.desired_replicas == (8 if gone else None)
    assert found.reason is (Reason.UNDERUSED if gone else Reason.DRAINING_BACKLOG)


@pytest.mark.parametrize(
    ("b", "fewer"),
    [
        ({"waiting": 1900.0, "cap": 10_000}, 8),  # 19 % of a batch
        ({"waiting": 2000.0, "cap": 10_000}, None),
        ({"waiting": 4000.0, "saturated": 0.1}, 8),  # Flink: its buffers are full for a tenth of the time
        ({"waiting": 4000.0, "saturated": 0.2}, None),
        ({"saturated": NAN}, None),
    ],
)
def test_an_inner_operator_shrinks_while_its_input_is_nearly_empty(b, fewer):
    assert wanted(CHAIN, *chain(b=b)) == {"a": 8, "b": fewer, "c": 8}


@pytest.mark.parametrize(("factor", "fewer"), [(0.9, 9), (0.85, 8), (0.75, 7), (0.7, 7)])
def test_the_scale_down_factor_is_a_setting(factor, fewer):
    # of 10 replicas, rounded down
    assert wanted(ALONE, seen(10), scale_down_factor=factor) == {"op": fewer}


def test_healthy_workflow_shrinks_except_operators_with_lag():
    found = analyses(CHAIN, *chain(a={"waiting": 50_000.0, "slope": -100.0}))
    assert {name: each.desired_replicas for name, each in found.items()} == {"a": None, "b": 8, "c": 8}
    assert figures(found["a"].detail) == [50_000, 1000]
    assert figures(found["b"].detail) == [0, 20, 10, 0.8, 8]
