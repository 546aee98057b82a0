"""True rates, selectivities, and what the sources ask of each operator."""

import math
from dataclasses import replace

import pytest
from edge import known, observe, operator, reading, workflow
from figures import figures
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import NodeReading
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.autrascale.situation import AutrascaleContext, AutrascaleSettings
from testbed.baselines.ds2 import Ds2Settings
from testbed.baselines.shared.true_rates import required_rates, selectivity, true_rate_per_replica, useful_share

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


def unequal(**changes):
    """Return two replicas in a window of 60 s: 6,000 rows in 60 s of useful time, and 3,000 rows in 15 s."""
    shares = {"hub": (100.0, 1.0), "near": (50.0, 0.25)}
    by_node = {
        node: NodeReading(throughput_rows_per_s=rows, busy_share=share, cpu_share=share / 2)
        for node, (rows, share) in shares.items()
    }
    return reading(("hub", "near"), throughput=150.0, busy_share=1.0, by_node=by_node, **changes)


def test_a_true_rate_is_the_mean_of_the_rates_of_the_replicas():
    # 100 / 1 and 50 / 0.25 rows/s, mean 150. The ratio of the means would be 75 by the operator's busy share (150 / 1 /
    # 2), and 120 by the mean of the replicas' (150 / 0.625 / 2).
    assert true_rate_per_replica(unequal()) == pytest.approx(150.0)
    assert useful_share(unequal(), "busy") == pytest.approx(0.625)
    # Half of the time is CPU time, so the rates are twice as high.
    assert true_rate_per_replica(unequal(), "cpu") == pytest.approx(300.0)


def test_instances_of_100_and_200_rows_per_s_suffice_as_three_for_450():
    # 450 / 150. The ratios of the means would need 6 (450 / 75) or 4 (450 / 120).
    flow, seen_now = workflow(operator(max_replicas=40)), unequal(offered=450.0)
    by_ds2 = policy_named("ds2", flow, AnalyzeSettings(ds2=Ds2Settings(over_provision=1.0)))
    assert by_ds2.analyze(observe(seen_now), known())["op"].desired_replicas == 3
    now = AutrascaleContext(
        at_s=1000.0, workflow=flow, readings={"op": seen_now}, settings=AutrascaleSettings(), seed=0, downtime_s=0.0
    )
    assert now.sized_for(450.0) == (3,)
    by_drs = policy_named("drs", flow, AnalyzeSettings())
    assert 150 in figures(by_drs.analyze(observe(seen_now), known())["op"].detail)


def test_a_replica_without_rows_counts_as_0_and_without_cpu_times_the_operators_counts():
    idle = replace(unequal(), by_node={**unequal().by_node, "mid": NodeReading(throughput_rows_per_s=0, busy_share=0)})
    assert true_rate_per_replica(idle) == pytest.approx(100.0)  # (100 + 200 + 0) / 3
    # One replica reports no CPU time: 150 rows/s / 0.5 / 2.
    assert true_rate_per_replica(replace(idle, cpu_share=0.5), "cpu") == pytest.approx(150.0)
    assert true_rate_per_replica(idle, "cpu") is None


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
