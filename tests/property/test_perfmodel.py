"""Properties of the laws for any operator that obeys one of them, and for any evidence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import BatchEvidence, BatchSample, Points, Reading, fit_batch_time, fit_eq1, fit_model, learned

SWEEP = [(1, 0.0), (2, 0.0), (4, 0.0), (1, 150.0), (3, 80.0), (4, 150.0)]
EXACT = (1.0,) * len(SWEEP)
few = settings(max_examples=25, deadline=None)

eq1_truth = st.tuples(st.floats(200, 50_000), st.floats(0.3, 1.1), st.floats(0.0, 1.0))
noise = st.lists(st.floats(0.9, 1.1), min_size=len(SWEEP), max_size=len(SWEEP))
weights, delays_ms, caps = st.floats(0.2, 30), st.floats(0, 900), st.one_of(st.none(), st.floats(1, 1e6))
any_number = st.floats(allow_nan=True, allow_infinity=True)
any_batch = st.builds(BatchSample, *[any_number | st.floats(0.01, 100) | st.floats(1e-6, 1e12)] * 7)
any_reading = st.builds(
    Reading,
    replicas=st.integers(1, 64),
    nd_max_ms=delays_ms | st.floats(0, 1e15),
    rows_per_s=st.floats(1, 1e5) | st.floats(1e-9, 1e15),
    weight=st.none() | st.floats(1e-9, 1e15),
    at_s=st.floats(-1e9, 1e15),
)


def saturation_readings(alpha, beta, price, factors=EXACT):
    """Readings of Eq. 1; gamma is a share of what keeps the rate of one node above zero at 150 ms."""
    gamma = price * alpha / 200
    return [
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=factor * (alpha * n**beta - gamma * nd))
        for (n, nd), factor in zip(SWEEP, factors, strict=True)
    ]


def warm_batches(fixed_s, row_ms, trips, factors=EXACT):
    return [
        BatchSample(
            rows, factor * (fixed_s + row_ms * rows / n / 1000 + trips * nd / 1000), n, n, nd, 0.0, 10.0 * place
        )
        for place, ((n, nd), factor) in enumerate(zip(SWEEP, factors, strict=True))
        for rows in (500.0, 3000.0, 9000.0)
    ]


@st.composite
def models(draw):
    """Draw a model with at least one law, fitted to noisy evidence of one to six placements."""
    count = draw(st.integers(1, len(SWEEP)))
    readings = saturation_readings(*draw(eq1_truth), draw(noise))[:count]
    truth = draw(st.tuples(st.floats(0.05, 5.0), st.floats(0.01, 5.0), st.floats(0.0, 50.0)))
    evidence = learned(BatchEvidence(), warm_batches(*truth, draw(noise))[: 3 * count])
    has_eq1, has_batches = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    law = draw(st.sampled_from(["auto", "eq1", "batch-time"]))
    return fit_model(readings if has_eq1 else [], evidence if has_batches else BatchEvidence(), law=law)


@few
@given(eq1_truth)
def test_equation_1_is_recovered_from_what_it_predicts(truth):
    alpha, beta, price = truth
    found = fit_eq1(saturation_readings(*truth)).theta
    # Rates are kept with four digits.
    for n, nd in SWEEP:
        rate = alpha * n**beta - price * alpha / 200 * nd
        assert found[0] * n ** found[1] - found[2] * nd == pytest.approx(rate, rel=2e-3)


@few
@given(models(), weights, delays_ms, caps, st.floats(0, 300))
def test_more_delay_never_raises_the_mst(model, weight, nd_ms, cap_rows, more_ms):
    near, far = (Points.of(weight, each, cap_rows=cap_rows) for each in (nd_ms, nd_ms + more_ms))
    assert model.middle(far)[0] <= model.middle(near)[0] * (1 + 1e-12)


@few
@given(models(), weights, delays_ms, caps)
def test_low_mid_and_high_are_in_order_and_not_negative(model, weight, nd_ms, cap_rows):
    point = Points.of(weight, nd_ms, cap_rows=cap_rows)
    estimate = model.predict(point).at(0)
    assert math.isfinite(estimate.high)
    assert estimate.mid == model.middle(point)[0]
    for law in model.summary.laws:
        assert all(each.low <= each.value <= each.high for each in law.parameters if each.low is not None)


@few
@given(models(), st.lists(st.tuples(weights, delays_ms), min_size=1), caps)
def test_many_predictions_are_those_of_each(model, places, cap_rows):
    weight, nd_ms = np.array(places).T
    rows = np.full(len(places), np.nan if cap_rows is None else cap_rows)
    many = model.predict(Points(weight=weight, even_weight=weight, driver_ms=nd_ms, pair_ms=nd_ms, cap_rows=rows))
    for index, (each, delay) in enumerate(places):
        one = model.predict(Points.of(each, delay, cap_rows=cap_rows)).at(0)
        assert tuple(end[index] for end in many) == pytest.approx((one.low, one.mid, one.high), rel=1e-9)


@few
@given(eq1_truth, noise, st.permutations(range(len(SWEEP))))
def test_the_order_of_readings_does_not_matter(truth, factors, order):
    readings = saturation_readings(*truth, factors)
    shuffled = fit_eq1([readings[index] for index in order])
    assert (shuffled.theta, shuffled.conditions) == (fit_eq1(readings).theta, fit_eq1(readings).conditions)


@few
@given(st.lists(st.lists(any_batch, max_size=8), max_size=4), weights, delays_ms, caps)
def test_whatever_batches_there_are_a_law_predicts_or_there_is_none(steps, weight, nd_ms, cap_rows):
    evidence = BatchEvidence()
    for batches in steps:
        evidence = learned(evidence, batches)
    fitted = fit_batch_time(evidence)
    assert (fitted is None) == (not evidence.sums)
    if fitted is not None:
        fitted.predict(Points.of(weight, nd_ms, cap_rows=cap_rows)).at(0)
        assert all(math.isfinite(each.value) for each in fitted.summary.parameters)


@few
@given(st.lists(any_reading, min_size=1, max_size=8), weights, delays_ms)
def test_whatever_readings_there_are_equation_1_predicts(readings, weight, nd_ms):
    fitted = fit_eq1(readings)
    assert math.isfinite(fitted.predict(Points.of(weight, nd_ms)).at(0).high)
    assert all(math.isfinite(each.value) for each in fitted.summary.parameters)
