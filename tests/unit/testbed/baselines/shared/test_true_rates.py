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


def test_reported_output_is_used():
    readings = by_name(seen("a", offered=100.0, output_rows_per_s=250.0), seen("b", offered=999.0))
    assert selectivity("a", CHAIN, readings) == 2.5


def test_output_is_derived_from_consumers():
    silent = by_name(seen("a", offered=100.0), seen("b", offered=40.0))
    assert selectivity("a", CHAIN, silent) == pytest.approx(0.4)
    assert selectivity("c", CHAIN, silent) == 1.0  # a sink that was not seen
    # Each consumer reads the whole topic; one was seen when it held 60, the other 80.
    forked = by_name(seen("a", offered=100.0), seen("b", offered=60.0), seen("c", offered=80.0))
    assert selectivity("a", FORK, forked) == pytest.approx(0.7)


def test_unknown_selectivity_is_one():
    assert selectivity("a", CHAIN, {}) == 1.0
    assert selectivity("a", CHAIN, by_name(seen("a", offered=0.0, throughput=0.0))) == 1.0
    untold = by_name(seen("a", offered=100.0), replace(seen("b", offered=1.0), input_rows_per_s=None))
    assert selectivity("a", CHAIN, untold) == 1.0


def test_required_rates_go_down_the_workflow():
    readings = by_name(
        seen("a", offered=100.0, output_rows_per_s=200.0), seen("b", offered=150.0, output_rows_per_s=10.0)
    )
    # 1000 at the source; 2 rows for each: 2000; a tenth of them: 200. What b was offered now does not matter.
    assert required_rates(CHAIN, readings, {"a": 1000.0}) == pytest.approx({"a": 1000.0, "b": 2000.0, "c": 200.0})
    both = required_rates(JOIN, {}, {"a": 10.0, "b": 5.0})
    assert both == {"a": 10.0, "b": 5.0, "c": 15.0}


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
