"""DRS: the queues of a workflow, and the replicas that a latency needs."""

import math
from dataclasses import replace
from itertools import product

import pytest
from edge import batches, known, observe, operator, reading, workflow
from figures import figures
from hypothesis import assume, given
from hypothesis import strategies as st

from gesscale.model.decision import Reason, Verdict
from gesscale.model.observation import MissingReading, OperatorReading
from gesscale.model.workflow import Operator, Workflow
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.drs import DrsMemo, DrsSettings, Station, erlang_c, fewest_replicas, total_sojourn_s


def station(arrivals: float, service: float = 1.0, *, most: int = 100, **more: object) -> Station:
    return Station(arrivals_per_s=arrivals, service_per_s=service, most=most, **more)


@pytest.mark.parametrize(
    ("servers", "load", "waits"),
    [
        (1, 0.3, 0.3),  # one server: busy for the share rho of time, whoever comes then waits
        (1, 0.99, 0.99),
        (2, 1.0, 1 / 3),  # (1/2) 2 / (1 + 1 + (1/2) 2) = 1 / 3
        (3, 2.0, 4 / 9),  # (8/6) 3 / (1 + 2 + 2 + (8/6) 3) = 4 / 9
        (5, 0.0, 0.0),
        (2, 2.0, 1.0),
        (2, 7.0, 1.0),
    ],
)
def test_how_often_a_customer_waits(servers, load, waits):
    assert erlang_c(servers, load) == pytest.approx(waits)


def test_a_rows_sojourn_is_its_service_and_its_wait():
    # M/M/1: 1 / (mu - lambda) = 1 / (10 - 5). M/M/2 at a = 1: 1 / 5 + (1/3) / (10 - 5) = 4 / 15.
    assert station(5.0, 10.0).sojourn_s(1) == pytest.approx(0.2)
    assert station(5.0, 5.0).sojourn_s(2) == pytest.approx(4 / 15)
    assert station(5.0, 5.0).sojourn_s(1) == math.inf
    assert station(1e6, 9e4).sojourn_s(12) > 1 / 9e4


def test_a_share_of_a_batch_takes_as_many_times_as_long_as_it_has_rows():
    # 5 rows/s every 10 s on 2 replicas: 25 rows each, 25 x 4 / 15 s.
    assert station(5.0, 5.0, interval_s=10.0).sojourn_s(2) == pytest.approx(20 / 3)
    assert station(0.0, 5.0, interval_s=10.0).sojourn_s(1) == 0.0


def test_replicas_go_where_they_take_the_most_off():
    # a: k = 1 is 1 / (1 - 0.9) = 10, k = 2 is 1 / (1 - 0.45^2) = 1.254. b: 1 / (1 - 0.5) = 2, then 1.067.
    stations = {"a": station(0.9), "b": station(0.5)}
    assert fewest_replicas(stations, 12.1) == {"a": 1, "b": 1}
    assert fewest_replicas(stations, 11.9) == {"a": 2, "b": 1}
    assert fewest_replicas(stations, 2.5) == {"a": 2, "b": 2}


def test_a_target_out_of_reach_takes_all_that_help_within_the_bounds():
    stations = {"a": station(0.9, most=4), "b": station(0.5, most=3)}
    assert fewest_replicas(stations, 1.0) == {"a": 4, "b": 3}
    assert sum(fewest_replicas(stations, 1.0, at_most=5).values()) == 5
    # From some number on another replica takes off less than a figure can tell.
    assert fewest_replicas({"a": station(0.9, most=10**6)}, 0.5)["a"] < 30


@given(
    loads=st.lists(st.tuples(st.floats(0.1, 3.5), st.floats(0.5, 2)), min_size=1, max_size=3),
    interval_s=st.sampled_from([None, 10.0]),
    target_s=st.floats(0.5, 60),
)
def test_no_other_way_needs_fewer(loads, interval_s, target_s):
    stations = {
        str(index): station(load, visits=visits, interval_s=interval_s, most=7)
        for index, (load, visits) in enumerate(loads)
    }
    found = fewest_replicas(stations, target_s)
    assume(total_sojourn_s(stations, found) <= target_s)
    for counts in product(range(1, 8), repeat=len(stations)):
        if sum(counts) < sum(found.values()):
            other = dict(zip(stations, counts, strict=True))
            assert total_sojourn_s(stations, other) > target_s * (1 - 1e-9)


def op(name: str, *upstream: str, most: int = 100, **limits: int) -> Operator:
    return operator(name, upstream=upstream, max_replicas=most, **limits)


def seen(
    name: str = "op",
    replicas: int = 2,
    rows_per_s: float = 100.0,
    *,
    busy: float = 0.5,
    batch_s: float | None = None,
    **more: object,
) -> OperatorReading:
    """Return an operator with a batch every 2 s, which takes its busy share of them or the given time."""
    placement = [f"n{index:02}" for index in range(replicas)]
    seconds = 2.0 * busy if batch_s is None else batch_s
    recent = batches(placement, at_s=1000.0, rows=int(2 * rows_per_s), seconds=seconds or 0.1)
    return reading(
        placement,
        name=name,
        throughput=rows_per_s,
        **{"busy_share": busy, "warm_batches": recent, "batches": recent, **more},
    )


def analyses(flow: Workflow, *readings: OperatorReading, knowledge=None, missing_readings=(), **settings):
    policy = policy_named("drs", flow, AnalyzeSettings(drs=DrsSettings(**settings)))
    return policy.analyze(
        observe(*readings, missing_readings=missing_readings), known() if knowledge is None else knowledge
    )


def sizes(flow: Workflow, *readings: OperatorReading, **more: object) -> dict[str, int | None]:
    return {name: found.desired_replicas for name, found in analyses(flow, *readings, **more).items()}


def remembering(item, **kept):
    return known(memos={"op": item.memo}, **kept)


ONE = workflow(op("op"))
CHAIN = workflow(op("a"), op("b", "a"))

# `seen()`: 100 rows/s on 2 replicas that are busy for half of the time: mu = 100, a = 1. A batch takes 1 s and a row
# waits 1 s to be taken in: it takes 2.0 s. The model: shares of 100 rows, 100 x (1/100 + (1/3) / 100) = 4/3 s, which
# is corrected by 1.0 / (4/3) = 3/4. With 3 replicas C = 1/11: 200/3 x (1/100 + (1/11) / 200) = 0.697 s.


# Sizes


def test_a_missed_latency_gets_the_fewest_replicas_that_promise_it():
    # 1.9 - 1.0 = 0.9 s are left; 3/4 x 4/3 = 1.0 with two, 3/4 x 0.697 = 0.52 with three.
    found = analyses(ONE, seen(), latency=1.9)["op"]
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.MORE, Reason.OVERLOADED, 3)
    assert figures(found.detail) == [2.0, 1.9, 3, 1.5, 100, 100, 3]


def test_fewer_replicas_follow_where_they_would_do():
    # 8 replicas, busy for an eighth: mu = 100, a = 1, a row takes 1.25 s. 0.9 x 3.0 - 1.0 = 1.7 s, two take 4/3.
    found = analyses(ONE, seen(replicas=8, busy=0.125))["op"]
    assert (found.verdict, found.desired_replicas) == (Verdict.FEWER, 2)
    # Not below 1.7 s: half of 3.0 is above 1.25.
    assert sizes(ONE, seen(replicas=8, busy=0.125), release_below_share=0.4) == {"op": 8}


def test_correction_covers_ignored_effects():
    # A batch takes 1.8 s, 4/3 are predicted; 2.5 - 1 = 1.5 s are allowed. 1.35 x 0.697 = 0.94 with three.
    late = seen(batch_s=1.8)
    assert sizes(ONE, late, latency=2.5) == {"op": 3}


def test_customer_row_needs_the_correction():
    # 1/100 + 1/300 = 0.0133 s are predicted, and 2.8 s measured: 210 times as much. 210 x 0.01045 = 2.19 with three.
    late = seen(batch_s=1.8)
    assert sizes(ONE, late, latency=2.5, customer="row") == {"op": 3}


def test_observed_rates_understate_a_replica():
    # It does 50 rows/s in all its time: a = 2 needs three, and is no reason to give any up.
    assert sizes(ONE, seen(), latency=1.9, rates="observed")["op"] >= 3
    assert sizes(ONE, seen(), latency=10.0, rates="observed") == {"op": 2}


def test_slow_operator_downstream_of_a_backlog_is_found():
    # b does 143 rows/s at its limit with 2 replicas; 340 are offered: a = 4.76. Nothing is given up meanwhile.
    source = seen("a", 9, 143.0, busy=0.38, offered=340.0, backlog=1e6)
    wanted = sizes(CHAIN, source, seen("b", 2, 143.0, busy=1.0), latency=100.0)
    assert wanted["a"] == 9
    assert wanted["b"] >= 5


def test_a_workflow_that_cannot_keep_up_leaves_the_others_alone():
    flow = workflow(op("a"), op("b", "a", most=3))
    source = seen("a", 9, 143.0, busy=0.38, offered=340.0, backlog=1e6)
    found = analyses(flow, source, seen("b", 3, 143.0, busy=1.0))
    assert {name: item.desired_replicas for name, item in found.items()} == {"a": 9, "b": 3}
    assert 12 in figures(found["a"].detail)


# What is missing


def test_one_missing_operator_blocks_all():
    gone = MissingReading(operator="b", code="metrics-missing")
    found = analyses(CHAIN, seen("a", 8, busy=0.1), missing_readings=(gone,))["a"]
    assert (found.verdict, found.reason) == (Verdict.SAME, Reason.METRICS_MISSING)
    assert "of b" in found.detail


# What it remembers


def test_latency_is_averaged_over_the_present_replicas():
    # 2.0 s now; 2.0, 1.7 and 1.7 s in the mean 1.8, which is within 1.9.
    first = analyses(ONE, seen(), latency=1.9)["op"]
    calm = DrsMemo.model_validate_json(first.memo).model_copy(update={"at_s": 900.0, "measured_s": (1.7, 1.7)})
    assert sizes(ONE, seen(), latency=1.9, knowledge=known(memos={"op": calm.model_dump_json()})) == {"op": 2}
    other = calm.model_copy(update={"replicas": (3,)})
    assert sizes(ONE, seen(), latency=1.9, knowledge=known(memos={"op": other.model_dump_json()})) == {"op": 3}


def test_what_was_learnt_holds_while_the_model_predicts_nothing():
    # Busy all the time, a = 2 of 2: infinite. With the correction of before, 3/4, and a target of 1.9 s:
    # shares of 100 rows on k replicas that do 50 each: k = 3: 66.7 x (0.02 + (4/9) / 50) = 1.926, times 3/4: 1.44;
    # k = 4, C = 0.174: 50 x (0.02 + 0.174 / 100) = 1.087, times 3/4: 0.815, which is within 0.9.
    first = analyses(ONE, seen(), latency=1.9)["op"]
    full = replace(seen(busy=1.0), at_s=1060.0)
    again = analyses(ONE, full, latency=1.9, knowledge=remembering(first))["op"]
    assert again.desired_replicas == 4
    # Without it k = 4 is 1.087 s and k = 5, C = 0.0597: 40 x (0.02 + 0.0597 / 150) = 0.816.
    assert sizes(ONE, full, latency=1.9) == {"op": 5}
