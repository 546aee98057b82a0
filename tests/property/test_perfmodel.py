"""What holds for any operator that obeys one of the laws."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import Conditions, GesscaleLaw, MicroBatchLaw, Reading

SWEEP = [(1, 0.0), (2, 0.0), (4, 0.0), (1, 150.0), (3, 80.0), (4, 150.0)]
few = settings(max_examples=25, deadline=None)

gesscale_truth = st.tuples(st.floats(200, 50_000), st.floats(0.3, 1.1), st.floats(0.0, 1.0))
batch_truth = st.tuples(st.floats(0.05, 5.0), st.floats(0.01, 5.0), st.floats(0.0, 50.0))
law_and_readings = st.one_of(
    gesscale_truth.map(lambda truth: (GesscaleLaw(), saturation_readings(*truth))),
    batch_truth.map(lambda truth: (MicroBatchLaw(), batch_readings(*truth))),
)
noise = st.lists(st.floats(0.9, 1.1), min_size=len(SWEEP), max_size=len(SWEEP))
anywhere = st.builds(
    Conditions, replicas=st.integers(1, 30), nd_max_ms=st.floats(0, 400), batch_rows=st.floats(1_000, 50_000)
)


def saturation_readings(alpha, beta, price):
    """Exact readings; gamma is a share of what keeps the rate of one node above zero at 150 ms."""
    gamma = price * alpha / 200
    return [
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=alpha * n**beta - gamma * nd, batch_rows=12_000) for n, nd in SWEEP
    ]


def batch_readings(s_ms, t0_s, k):
    return [
        Reading(
            replicas=n, nd_max_ms=nd, rows_per_s=12_000 / (t0_s + s_ms * 12.0 / n + k * nd / 1000), batch_rows=12_000
        )
        for n, nd in SWEEP
    ]


def scattered(readings, factors):
    return [scaled(reading, factor) for reading, factor in zip(readings, factors, strict=True)]


def scaled(reading, factor, batch_factor=1.0):
    return Reading(
        replicas=reading.replicas,
        nd_max_ms=reading.nd_max_ms,
        rows_per_s=reading.rows_per_s * factor,
        batch_rows=reading.batch_rows * batch_factor,
    )


@few
@given(gesscale_truth)
def test_equation_1_is_recovered_from_what_it_predicts(truth):
    alpha, beta, price = truth
    model = GesscaleLaw().fit(saturation_readings(*truth))
    expected = {"alpha": alpha, "beta": beta, "gamma": price * alpha / 200}
    assert model.parameters == pytest.approx(expected, rel=1e-4, abs=1e-5 * alpha)


@few
@given(batch_truth)
def test_batch_times_are_recovered_from_what_they_predict(truth):
    s_ms, t0_s, k = truth
    parameters = MicroBatchLaw().fit(batch_readings(*truth)).parameters
    seconds = t0_s + s_ms * 12 + k * 0.15
    assert parameters["s_ms_per_row"] * 12 == pytest.approx(s_ms * 12, abs=1e-4 * seconds)
    assert parameters["t0_s"] == pytest.approx(t0_s, abs=1e-4 * seconds)
    assert parameters["k_round_trips"] * 0.15 == pytest.approx(k * 0.15, abs=1e-4 * seconds)


@few
@given(law_and_readings, noise, anywhere, st.floats(0, 300))
def test_more_delay_never_raises_the_mst(law_readings, factors, conditions, more_ms):
    law, readings = law_readings
    model = law.fit(scattered(readings, factors))
    farther = Conditions(
        replicas=conditions.replicas, nd_max_ms=conditions.nd_max_ms + more_ms, batch_rows=conditions.batch_rows
    )
    assert model.predict(farther).mid <= model.predict(conditions).mid * (1 + 1e-12)


@few
@given(law_and_readings, noise, anywhere)
def test_low_mid_and_high_are_in_order_and_not_negative(law_readings, factors, conditions):
    law, readings = law_readings
    for count in (1, 2, len(readings)):
        estimate = law.fit(scattered(readings, factors)[:count]).predict(conditions)
        assert 0 <= estimate.low <= estimate.mid <= estimate.high


@few
@given(law_and_readings, noise, st.permutations(range(len(SWEEP))))
def test_the_order_of_readings_does_not_matter(law_readings, factors, order):
    law, readings = law_readings
    readings = scattered(readings, factors)
    assert law.fit(readings) == law.fit([readings[index] for index in order])
