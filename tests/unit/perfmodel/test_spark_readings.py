"""Both laws on the nine undisturbed points of the Spark map query, and the nine of the stateful query."""

import pytest

from perfmodel import AutoLaw, Conditions, GesscaleLaw, MicroBatchLaw, fit_errors

LAWS = [GesscaleLaw(), MicroBatchLaw()]


def split(readings, held_out):
    return [r for r in readings if not held_out(r)], [r for r in readings if held_out(r)]


def conditions(reading):
    return Conditions(replicas=reading.replicas, nd_max_ms=reading.nd_max_ms, batch_rows=reading.batch_rows)


def test_micro_batch_law_describes_spark_within_0_7_percent(spark):
    readings = spark("map")
    model = MicroBatchLaw().fit(readings)
    errors = fit_errors(model, readings)
    assert errors.count == 9
    assert errors.mean_pct <= 0.7
    assert errors.max_pct <= 1.5
    # Reference fit of the same points: T0 0.318 s, s 0.50 ms (0.484 unrounded), k 4.39.
    assert model.parameters == pytest.approx({"t0_s": 0.318, "s_ms_per_row": 0.484, "k_round_trips": 4.39}, rel=0.03)


def test_equation_1_describes_spark_within_about_5_percent(spark):
    readings = spark("map")
    model = GesscaleLaw().fit(readings)
    errors = fit_errors(model, readings)
    # Plain least squares: 5.32 % mean, 15.74 % max at (2255, 0.763, 7.36); the robust loss moves it a little.
    assert errors.mean_pct == pytest.approx(5.3, abs=0.3)
    assert errors.max_pct == pytest.approx(15.7, abs=1.0)
    assert model.parameters == pytest.approx({"alpha": 2255, "beta": 0.763, "gamma": 7.36}, rel=0.02)
    assert model.fitted == {"alpha", "beta", "gamma"}


def test_stateful_query_is_out_of_reach_of_equation_1(spark):
    readings = spark("groupby")
    assert fit_errors(MicroBatchLaw().fit(readings), readings).mean_pct < 4.5
    assert fit_errors(GesscaleLaw().fit(readings), readings).mean_pct == pytest.approx(21, abs=1)


@pytest.mark.parametrize("query", ["map", "groupby"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(
    "known",
    [
        pytest.param(lambda r: r.replicas == 1 and r.nd_max_ms == 0, id="one-reading"),
        pytest.param(lambda r: r.replicas <= 3 and r.nd_max_ms == 0, id="three-lowest"),
    ],
)
def test_low_end_covers_what_few_readings_over_promise(spark, query, law, known):
    readings = spark(query)
    model = law.fit([r for r in readings if known(r)])
    # The middle promises up to 1.58 (map) and 4.9 (stateful) times what was seen.
    assert max(model.predict(conditions(r)).mid / r.rows_per_s for r in readings) > 1.35
    for reading in readings:
        assert model.predict(conditions(reading)).low <= reading.rows_per_s


@pytest.mark.parametrize("query", ["map", "groupby"])
def test_auto_chooses_the_micro_batch_law_on_spark(spark, query):
    model = AutoLaw().fit(spark(query))
    assert model.law == "microbatch"
    assert model.warnings[0].code == "law-compared"
