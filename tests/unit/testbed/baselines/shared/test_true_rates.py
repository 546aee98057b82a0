"""True rates, selectivities, and what the sources ask of each operator."""

import math
from dataclasses import replace

import pytest
from edge import operator, reading, workflow
from hypothesis import given
from hypothesis import strategies as st

from testbed.baselines.shared.signals import required_rates, selectivity, true_rate_per_replica

CHAIN = workflow(operator("a"), operator("b", upstream=("a",)), operator("c", upstream=("b",)))
JOIN = workflow(operator("a"), operator("b"), operator("c", upstream=("a", "b")))
FORK = workflow(operator("a"), operator("b", upstream=("a",)), operator("c", upstream=("a",)))


def seen(name, *, offered, throughput=100.0, **changes):
    return reading(name=name, throughput=throughput, offered=offered, **changes)


def by_name(*readings):
    return {item.operator: item for item in readings}


def test_a_true_rate_is_what_one_replica_would_do_if_it_were_never_idle():
    # 120 rows/s in 60 % of the time are 200 in all of it, 100 for each of two.
    busy = reading(("hub", "near"), throughput=120.0, busy_share=0.6)
    assert true_rate_per_replica(busy) == pytest.approx(100.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"throughput_rows_per_s": 0.0},
        {"busy_share": 0.0},
        {"busy_share": math.nan},
        {"throughput_rows_per_s": math.inf},
        {"placement": ()},
        {"throughput_rows_per_s": 1e308, "busy_share": 1e-308},
        {
            "throughput_rows_per_s": 5e-324,
            "busy_share": 1.0,
            "placement": ("a", "b", "c"),
        },  # a third of it is 0
    ],
)
def test_there_is_no_true_rate_where_nothing_was_done(changes):
    assert true_rate_per_replica(replace(reading(), **changes)) is None


def test_an_operator_that_tells_its_output_is_believed():
    readings = by_name(seen("a", offered=100.0, output_rows_per_s=250.0), seen("b", offered=999.0))
    assert selectivity("a", CHAIN, readings) == 2.5


def test_else_its_consumers_tell():
    silent = by_name(seen("a", offered=100.0), seen("b", offered=40.0))
    assert selectivity("a", CHAIN, silent) == pytest.approx(0.4)
    assert selectivity("c", CHAIN, silent) == 1.0  # a sink that was not seen
    # Each consumer reads the whole topic; one was seen when it held 60, the other 80.
    forked = by_name(seen("a", offered=100.0), seen("b", offered=60.0), seen("c", offered=80.0))
    assert selectivity("a", FORK, forked) == pytest.approx(0.7)


def test_operators_before_a_join_share_alike():
    # 100 + 300 rows/s are read before it and 200 come: half a row for each.
    joined = by_name(
        seen("a", offered=100.0), seen("b", offered=300.0, throughput=300.0), seen("c", offered=200.0)
    )
    assert selectivity("a", JOIN, joined) == selectivity("b", JOIN, joined) == pytest.approx(0.5)


def test_an_operator_of_which_nothing_is_known_hands_on_what_it_reads():
    assert selectivity("a", CHAIN, {}) == 1.0
    assert selectivity("a", CHAIN, by_name(seen("a", offered=0.0, throughput=0.0))) == 1.0
    untold = by_name(seen("a", offered=100.0), replace(seen("b", offered=1.0), input_rows_per_s=None))
    assert selectivity("a", CHAIN, untold) == 1.0


def test_required_rates_go_down_the_workflow():
    readings = by_name(
        seen("a", offered=100.0, output_rows_per_s=200.0), seen("b", offered=150.0, output_rows_per_s=10.0)
    )
    # 1000 at the source; 2 rows for each: 2000; a tenth of them: 200. What b was offered now does not matter.
    assert required_rates(CHAIN, readings, {"a": 1000.0}) == pytest.approx(
        {"a": 1000.0, "b": 2000.0, "c": 200.0}
    )
    both = required_rates(JOIN, {}, {"a": 10.0, "b": 5.0})
    assert both == {"a": 10.0, "b": 5.0, "c": 15.0}


def test_what_a_missing_source_rate_would_tell_is_left_out():
    assert required_rates(JOIN, {}, {"a": 10.0}) == {"a": 10.0}
    assert required_rates(CHAIN, {}, {"a": math.nan}) == {}
    assert required_rates(CHAIN, {}, {"a": 0.0}) == {"a": 0.0, "b": 0.0, "c": 0.0}


FIGURES = st.floats() | st.just(0.0)


@given(FIGURES, FIGURES, FIGURES, FIGURES)
def test_rates_are_finite_and_not_below_0(rate, throughput, offered, output):
    readings = by_name(
        replace(seen("a", offered=offered), throughput_rows_per_s=throughput, output_rows_per_s=output),
        replace(seen("b", offered=offered), throughput_rows_per_s=throughput),
    )
    for found in required_rates(CHAIN, readings, {"a": rate}).values():
        assert math.isfinite(found)
        assert found >= 0
