"""The law of batch times: identification, bad batches, and the error for held-out placements."""

import math

import numpy as np
import pytest

from perfmodel import BatchEvidence, BatchSample, Points, fit_batch_time, learned

SIZES = np.linspace(200, 9000, 30)


def seconds(rows, even_weight, driver_ms, pair_ms):
    """0.5 s, 5 ms a row on the slowest replica, 5 round trips to the driver, 2 between replicas."""
    return 0.5 + 0.005 * rows / even_weight + 0.005 * driver_ms + 0.002 * pair_ms


def batches(n, rtt_ms=0.0, *, sizes=SIZES, weight=None, even=None, factor=1.0, from_s=0.0):
    pair_ms = rtt_ms if n > 1 else 0.0
    weight, even = weight or float(n), even or float(n)
    return [
        BatchSample(rows, factor * seconds(rows, even, rtt_ms, pair_ms), weight, even, rtt_ms, pair_ms, from_s + at)
        for at, rows in enumerate(sizes)
    ]


def evidence(*placements):
    found = BatchEvidence()
    for each in placements:
        found = learned(found, each)
    return found


def capacity(fitted, n, rtt_ms=0.0, cap_rows=2400.0, **changes):
    return fitted.predict(Points.of(n, rtt_ms, cap_rows=cap_rows, trigger_s=0.1, **changes)).at(0)


def named(fitted):
    return {each.name: each for each in fitted.summary.parameters}


VARIED = evidence(batches(1), batches(2, 20), batches(3, 60), batches(2, 120), batches(4, 90))


def test_parameters_are_found_from_unsaturated_batches():
    fitted = fit_batch_time(VARIED)
    found = named(fitted)
    assert found["fixed_s"].value == pytest.approx(0.5, abs=0.1)
    assert found["row_s"].value == pytest.approx(0.005, rel=0.05)
    assert found["driver_trips"].value + found["pair_trips"].value == pytest.approx(7, abs=1)
    # 2,400 rows on three replicas 50 ms away: 0.5 + 4 + 0.25 + 0.1 = 4.85 s.
    estimate = capacity(fitted, 3, 50)
    assert estimate.mid == pytest.approx(2400 / 4.85, rel=0.02)
    assert estimate.low < 2400 / 4.85 < estimate.high


def test_a_batch_is_no_shorter_than_the_trigger_interval():
    # 100 rows take 0.5 + 0.1 s on five replicas, but a batch starts only every 2 s.
    fitted = fit_batch_time(evidence(batches(5, sizes=[100.0] * 30)))
    point = Points.of(5, 0, cap_rows=100, trigger_s=2.0)
    assert fitted.middle(point)[0] == 50
    assert fitted.predict(point).at(0).high == 50
    # Without a cap: (2 - 0.5) s of rows each 2 s, 1 ms a row.
    fitted = fit_batch_time(evidence(batches(5)))
    assert fitted.middle(Points.of(5, 0, trigger_s=2.0))[0] == pytest.approx(750, rel=0.05)


def test_no_evidence_is_no_law_and_one_batch_is_one():
    assert fit_batch_time(BatchEvidence()) is None
    fitted = fit_batch_time(evidence(batches(1, sizes=[2400.0])))
    # 2,400 rows in 12.5 s.
    assert capacity(fitted, 1).mid == pytest.approx(192, rel=0.15)


def test_what_batches_do_not_identify_is_a_prior():
    found = named(fit_batch_time(evidence(batches(1))))
    assert found["row_s"].identified
    # A lone replica identifies no price of distance, nor whether a batch waits for the slowest of several.
    assert not any(found[name].identified for name in ("driver_trips", "pair_trips", "even_share"))
    assert found["even_share"].value == pytest.approx(0.5)
    assert found["driver_trips"].value == pytest.approx(4.5, abs=0.1)


def test_batches_of_unequal_nodes_tell_whether_they_wait_for_the_slowest():
    # Weights 1 and 2.5: each gets half of the rows, so the slow one takes as long as two of weight 1.
    placements = (
        batches(1),
        batches(2, 10),
        batches(2, 10, weight=3.5, even=2.0),
        batches(3, 10, weight=6.0, even=3.0),
    )
    fitted = fit_batch_time(evidence(*placements))
    assert named(fitted)["even_share"].value > 0.9
    # 9,600 rows: 0.5 + 0.005 * 9600 / 2 = 24.5 s, 392 rows/s.
    assert capacity(fitted, 3.5, 0, 9600.0, even_weight=2.0).mid == pytest.approx(392, rel=0.05)


def test_no_parameter_is_negative():
    # Shorter with more rows and with more distance.
    odd = [BatchSample(rows, 3 - rows / 5000, 1.0, 1.0, 0.0, 0.0, rows) for rows in SIZES]
    far = [BatchSample(rows, 1.0, 2.0, 2.0, 200.0, 200.0, 9999 + rows) for rows in SIZES]
    fitted = fit_batch_time(evidence(odd, far))
    assert min(fitted.theta) >= 0
    assert capacity(fitted, 8, 300).low >= 0


@pytest.mark.parametrize(
    "change",
    [
        *(
            {name: value}
            for name in ("rows", "seconds", "weight", "even_weight")
            for value in (math.nan, math.inf, 0.0, -1.0)
        ),
        *({name: value} for name in ("driver_ms", "pair_ms") for value in (math.nan, -1.0)),
        {"at_s": math.nan},
    ],
)
def test_an_invalid_batch_is_ignored(change):
    bad = [each._replace(**change) for each in batches(2, 30)]
    assert learned(VARIED, bad) == VARIED
    mixed = [each for pair in zip(bad, batches(2, 30), strict=True) for each in pair]
    assert learned(BatchEvidence(), mixed) == learned(BatchEvidence(), batches(2, 30))


def test_equal_rows_leave_fixed_time_and_rows_apart_only_by_the_prior():
    fitted = fit_batch_time(evidence(batches(2, sizes=[3000.0] * 40)))
    # 0.5 + 7.5 s: at the same size it is certain, at a tenth of it the share of the fixed time is not.
    same, small = capacity(fitted, 2, cap_rows=3000), capacity(fitted, 2, cap_rows=300)
    assert same.mid == pytest.approx(3000 / 8.0, rel=0.01)
    assert small.high / small.low > same.high / same.low
    assert fitted.summary.held_out_error_pct is None


def test_a_clock_that_steps_back_is_harmless():
    forward = evidence(batches(1), batches(2, 20, from_s=1e6), batches(2, 20, from_s=10.0))
    assert fit_batch_time(forward).summary.conditions == 2
    assert capacity(fit_batch_time(forward), 2, 20).mid == pytest.approx(2400 / 6.64, rel=0.03)


def test_held_out_placements_are_predicted_by_the_others():
    fitted = fit_batch_time(VARIED)
    summary = fitted.summary
    assert (summary.conditions, summary.readings) == (5, pytest.approx(5 * 30, rel=0.05))
    assert summary.held_out_error_pct < 4
    assert fitted.warnings == ()


def test_a_node_whose_weight_is_wrong_is_a_warning():
    # Reported as four times as fast as it is: three batches wait for it as if for weight 0.25.
    liar = batches(2, 20, weight=5.0, even=8.0, factor=4.0, from_s=500.0)
    fitted = fit_batch_time(evidence(batches(1), batches(2, 20), batches(3, 60), liar))
    assert [each.code for each in fitted.warnings] == ["model-placement-odd"]


def test_the_number_of_placements_is_bounded_and_the_newest_stay():
    found = evidence(*(batches(n, 40, from_s=100.0 * n) for n in range(1, 30)))
    assert len(found.placements) == 16
    assert found.placements[-1].weight == 29


def test_batches_of_one_small_size_are_a_warning():
    # A batch of one row takes 0.5 + 0.005 s: whether a row takes 5 or 500 ms is not known. Larger batches show it.
    small = evidence(batches(1, sizes=[1.0] * 40))
    assert [each.code for each in fit_batch_time(small).warnings] == ["model-rows-alike"]
    assert fit_batch_time(learned(small, batches(1, from_s=100.0))).warnings == ()
