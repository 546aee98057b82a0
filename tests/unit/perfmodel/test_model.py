"""The two laws of an operator, and the one in use."""

import itertools

import pytest

from perfmodel import BatchEvidence, BatchSample, Points, Reading, fit_model, learned

CAP = 12_000.0


PLACES = tuple(itertools.product((1, 2, 4), (0.0, 100.0, 200.0)))


def model_of(rate, *, law="auto", places=PLACES):
    """Fit saturated batches and readings of a rate by replicas and delay."""
    readings = [
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate(n, nd), batch_rows=CAP, at_s=at)
        for at, (n, nd) in enumerate(places)
    ]
    evidence = BatchEvidence()
    for at, (n, nd) in enumerate(places):
        batch = BatchSample(CAP, CAP / rate(n, nd), n, n, nd, nd if n > 1 else 0.0, 100.0 * at)
        evidence = learned(evidence, [batch] * 10)
    return fit_model(readings, evidence, law=law)


def by_equation_1(n, nd):
    return 2000 * n**0.8 - 5 * nd


def by_batch_time(n, nd):
    return CAP / (0.3 + 6 / n + 0.02 * nd)


def test_equation_1_is_used_where_delay_costs_the_same_at_every_size():
    model = model_of(by_equation_1)
    assert model.used is model.eq1
    # The law of batch times cannot describe that.
    assert model.summary.named("batch-time").held_out_error_pct > model.summary.held_out_error_pct + 1


def test_batch_times_are_used_where_delay_costs_time_per_batch_and_where_both_are_right():
    assert model_of(by_batch_time).used.law == "batch-time"
    assert model_of(lambda n, _: 2000 * n).used.law == "batch-time"


def test_equation_1_needs_three_placements():
    assert model_of(by_equation_1, places=((1, 0.0), (2, 100.0))).used.law == "batch-time"


def test_a_learned_speed_makes_no_new_placement_for_equation_1():
    # Two placements whose weights were learned meanwhile: the second node is half as fast, so two do what one does.
    held = ((1, 0.0, 1.0), (2, 4.0, 2.0), (1, 0.0, 1.29), (2, 4.0, 2.19), (1, 0.0, 1.42))
    readings = [
        Reading(replicas=n, nd_max_ms=nd, weight=w, rows_per_s=195, at_s=at) for at, (n, nd, w) in enumerate(held)
    ]
    evidence = BatchEvidence()
    for at, (n, nd) in enumerate(PLACES):
        seconds = 4.0 if (n, nd) == (2, 100.0) else 24 / n
        evidence = learned(evidence, [BatchSample(CAP, seconds, n, n, nd, nd if n > 1 else 0.0, 100.0 * at)] * 10)
    model = fit_model(readings, evidence)
    assert model.summary.named("eq1").held_out_error_pct < 1
    assert model.summary.named("batch-time").held_out_error_pct > 15
    assert model.used.law == "batch-time"


@pytest.mark.parametrize("law", ["eq1", "batch-time"])
def test_a_law_can_be_chosen(law):
    model = model_of(by_batch_time, law=law)
    assert model.summary.law == law
    assert [each.law for each in model.summary.laws] == ["eq1", "batch-time"]
    assert model.summary.held_out_error_pct == model.summary.named(law).held_out_error_pct


def test_without_saturation_only_batch_times_are_known():
    batches = [BatchSample(rows, 1 + rows / 1000, 1.0, 1.0, 0.0, 0.0, rows) for rows in (100.0, 300.0, 500.0)]
    model = fit_model([], learned(BatchEvidence(), batches), law="eq1")
    assert model.used.law == "batch-time"
    assert model.summary.named("eq1").parameters == ()
    assert fit_model([], BatchEvidence()) is None


def test_a_model_is_fitted_once_its_law_predicts_two_placements():
    assert not model_of(by_batch_time, places=((1, 0.0),)).summary.fitted
    assert model_of(by_batch_time).summary.fitted
    summary = model_of(lambda n, nd: 3000.0 if (n, nd) == (2, 100.0) else 500.0 * n, law="batch-time").summary
    assert summary.held_out_error_pct > 15
    assert not summary.fitted


def test_spark_is_described_by_batch_times(spark):
    for query, error_pct in (("map", 0.7), ("groupby", 5.3)):
        readings = spark(query)
        rates = {(r.replicas, r.nd_max_ms): r.rows_per_s for r in readings}
        model = model_of(lambda n, nd, rates=rates: rates[n, nd], places=tuple(rates))
        assert model.used.law == "batch-time"
        assert model.summary.held_out_error_pct == pytest.approx(error_pct, abs=0.5)
        for (n, nd), rate in rates.items():
            low, _, high = model.predict(Points.of(n, nd, pair_ms=nd if n > 1 else 0.0, cap_rows=CAP))
            assert low[0] <= rate <= high[0]
