"""The choice between the two laws."""

import itertools

from perfmodel import AutoLaw, Reading


def readings(rate, batch_rows=12_000.0, delays_ms=(0, 100, 200)):
    return [
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate(n, nd), batch_rows=batch_rows)
        for n, nd in itertools.product((1, 2, 4), delays_ms)
    ]


def test_equation_1_is_taken_where_delay_costs_the_same_at_every_size():
    model = AutoLaw().fit(readings(lambda n, nd: 2000 * n**0.8 - 5 * nd))
    assert model.law == "gesscale"
    assert (model.warnings[0].code, model.warnings[0].fields["law"]) == ("law-compared", "gesscale")


def test_micro_batch_law_is_taken_where_delay_costs_time_per_batch():
    model = AutoLaw().fit(readings(lambda n, nd: 12_000 / (0.3 + 6 / n + 0.02 * nd)))
    assert model.law == "microbatch"


def test_safer_law_is_chosen_if_both_predict_equally():
    # Linear scaling without delay: both laws are exact.
    model = AutoLaw().fit(readings(lambda n, _: 2000 * n, delays_ms=(0, 1)))
    assert model.law == "microbatch"
