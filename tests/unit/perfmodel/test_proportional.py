"""Eq. 2: one parameter, whatever the delays."""

import pytest

from perfmodel import Conditions, Reading, law_named


def fit(*rows, **law):
    readings = [Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate, at_s=at) for n, nd, rate, at in rows]
    return law_named("proportional", **law).fit(readings)


def test_alpha_is_what_a_node_contributes_and_delays_change_nothing():
    model = fit((1, 0, 100, 0), (2, 200, 200, 1), (4, 300, 400, 2))
    assert model.parameters == {"alpha": pytest.approx(100)}
    near, far = (model.predict(Conditions(replicas=3, nd_max_ms=nd)) for nd in (0, 300))
    assert near == far
    assert near.mid == pytest.approx(300)
    assert near.low < 300 < near.high


def test_one_reading_calibrates_and_warns():
    model = fit((2, 100, 190, 0))
    assert (model.calibrated, model.fitted, model.readings_used) == (True, {"alpha"}, 1)
    assert model.warnings[0].code == "model-delays-ignored"
