"""Outliers, old readings, and a change of the operator itself."""

import pytest

from gesscale.common.errors import Problem
from perfmodel import Conditions, GesscaleLaw, MicroBatchLaw, Reading

LAWS = pytest.mark.parametrize("law", [GesscaleLaw(), MicroBatchLaw()], ids=lambda law: law.name)
SIZES = (1, 2, 3, 4)
WOBBLE = (1.02, 0.99, 1.01, 0.98, 1.0)  # a spread of 2 %, as good readings have


def window(index, slowdown=1.0, at_s=None):
    """The reading of a period; the operator runs on 1, 2, 3, 4, 1, ... nodes and sustains 1,800 each."""
    n = SIZES[index % len(SIZES)]
    rate = 1800 * n / slowdown * WOBBLE[index % len(WOBBLE)]
    return Reading(
        replicas=n, nd_max_ms=0, rows_per_s=rate, batch_rows=9000, at_s=60.0 * index if at_s is None else at_s
    )


def predicted(model):
    return model.predict(Conditions(replicas=2, nd_max_ms=0, batch_rows=9000)).mid


@LAWS
def test_outlier_has_little_weight_and_a_warning(law):
    readings = [window(index) for index in range(12)]
    readings[5] = Reading(replicas=2, nd_max_ms=0, rows_per_s=10_800, batch_rows=9000, at_s=300)
    model = law.fit(readings)
    assert predicted(model) == pytest.approx(3600, rel=0.03)
    assert not model.drift
    assert Problem("model-readings-contradict", {"count": 1, "total": 12}) in model.warnings


@LAWS
@pytest.mark.parametrize("newer", [8, 30])
def test_slower_code_is_drift_whether_old_or_new_readings_prevail(law, newer):
    readings = [window(index, slowdown=1.0 if index < 40 - newer else 2.0) for index in range(40)]
    model = law.fit(readings)
    assert predicted(model) == pytest.approx(1800, rel=0.04)
    if newer <= 20:  # where the new prevail they rule the fit anyway
        assert model.drift
        assert model.readings_used == newer


@LAWS
def test_three_readings_of_the_new_code_re_open_the_calibration(law):
    readings = [window(index) for index in range(12)]
    readings += [
        Reading(replicas=4, nd_max_ms=0, rows_per_s=3600 + index, batch_rows=9000, at_s=1000.0 + index)
        for index in range(3)
    ]
    model = law.fit(readings)
    assert model.drift
    assert not model.calibrated
    assert model.readings_used == 3
    assert Problem("model-readings-dropped", {"count": 12}) in model.warnings


@LAWS
def test_one_stale_reading_is_not_believed_against_newer_ones(law):
    readings = [window(index, slowdown=0.5 if index == 0 else 1.0) for index in range(9)]
    model = law.fit(readings)
    assert not model.drift
    assert predicted(model) == pytest.approx(3600, rel=0.03)


@LAWS
def test_old_readings_fade_by_the_half_life(law):
    old = [Reading(replicas=1, nd_max_ms=0, rows_per_s=1800, batch_rows=9000, at_s=0.0)]
    new = [Reading(replicas=1, nd_max_ms=0, rows_per_s=1900, batch_rows=9000, at_s=3600.0)]
    ageing = type(law)(half_life_s=600)
    at = Conditions(replicas=1, nd_max_ms=0, batch_rows=9000)
    # Six half-lives: the old reading counts 1/64, which moves the middle by 100 / 65 rows/s at most.
    assert ageing.fit(old + new).predict(at).mid == pytest.approx(1900, abs=3)
    assert law.fit(old + new).predict(at).mid == pytest.approx(1850, abs=3)
    both_old = ageing.fit(old + new, now_s=1e6).predict(at)
    assert both_old.low < ageing.fit(old + new).predict(at).low


@LAWS
def test_without_readings_only_the_interval_widens(law):
    readings = [window(index) for index in range(12)]  # the newest of 660 s
    ageing = type(law)(half_life_s=600)
    at = Conditions(replicas=2, nd_max_ms=0, batch_rows=9000)
    silence = [ageing.fit(readings, now_s=660.0 + 300.0 * step) for step in range(5)]
    estimates = [model.predict(at) for model in silence]
    assert silence[0] == ageing.fit(readings)
    assert len({estimate.mid for estimate in estimates}) == 1
    assert [estimate.low for estimate in estimates] == sorted({estimate.low for estimate in estimates}, reverse=True)
    assert [estimate.high for estimate in estimates] == sorted({estimate.high for estimate in estimates})


def test_a_law_that_fails_beyond_the_evidence_is_no_drift():
    # Delay cost one node 100 rows/s at 150 ms; on four nodes it costs 4,200 of 7,200, which Eq. 1 cannot say.
    seen = [(1, 0, 1800), (2, 0, 3600), (3, 0, 5400), (4, 0, 7200), (1, 150, 1700)] * 3 + [(4, 150, 3000)] * 3
    readings = [
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate, at_s=60.0 * index)
        for index, (n, nd, rate) in enumerate(seen)
    ]
    model = GesscaleLaw().fit(readings)
    assert not model.drift
    assert model.readings_used == len(readings)
