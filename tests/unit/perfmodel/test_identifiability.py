"""Which parameters a set of readings identifies, and what stands for the others."""

import pytest
from refusals import refused

from gesscale.common.errors import Problem
from perfmodel import AutoLaw, Conditions, GesscaleLaw, MicroBatchLaw, ModelError, Reading


def mst(*points):
    return [Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate) for n, nd, rate in points]


def batches(*points):
    return [
        Reading(replicas=n, nd_max_ms=nd, batch_rows=rows, rows_per_s=rows / seconds, saturated=False)
        for n, nd, rows, seconds in points
    ]


@pytest.mark.parametrize(
    ("readings", "fitted"),
    [
        pytest.param(mst((1, 0, 2000)), {"alpha"}, id="one"),
        pytest.param(mst((2, 50, 2000), (2, 50, 2100)), {"alpha"}, id="two-alike"),
        pytest.param(mst((1, 0, 2000), (2, 100, 3500)), {"alpha", "gamma"}, id="two-distinct"),
        pytest.param(mst((3, 0, 5000), (3, 200, 4000)), {"alpha", "gamma"}, id="one-size-two-delays"),
        pytest.param(mst((1, 0, 2000), (2, 0, 3600)), {"alpha", "beta"}, id="no-delay"),
        pytest.param(mst((1, 80, 2000), (2, 80, 3600), (4, 80, 6000)), {"alpha", "beta"}, id="one-delay"),
        pytest.param(mst((2, 0, 4000), (2, 50, 3800), (2, 99, 3600)), {"alpha", "gamma"}, id="one-size"),
        # NDmax 0, 100, 200 grows exactly as ln n: the effects of beta and gamma cannot be separated.
        pytest.param(mst((1, 0, 2000), (2, 100, 3500), (4, 200, 7000)), {"alpha", "gamma"}, id="in-step"),
        pytest.param(mst((1, 0, 2000), (2, 0, 3600), (2, 90, 3000)), {"alpha", "beta", "gamma"}, id="all"),
        # 1 ms is less than a latency map can vouch for.
        pytest.param(mst((2, 50, 2000), (2, 51, 1900)), {"alpha"}, id="delays-too-close"),
    ],
)
def test_equation_1_fits_what_the_evidence_identifies(readings, fitted):
    model = GesscaleLaw().fit(readings)
    assert model.fitted == fitted
    if "beta" not in fitted:
        assert model.parameters["beta"] == 1
    if "gamma" not in fitted:
        assert model.parameters["gamma"] == 0
    assert model.calibrated == (len({(r.replicas, r.nd_max_ms) for r in readings}) >= 3)


@pytest.mark.parametrize(
    ("readings", "fitted"),
    [
        pytest.param(batches((1, 0, 6000, 3.0)), {"s_ms_per_row"}, id="one"),
        pytest.param(batches((1, 0, 2400, 1.5), (1, 0, 6000, 3.3)), {"s_ms_per_row", "t0_s"}, id="two-sizes"),
        pytest.param(
            batches((1, 0, 6000, 3.3), (1, 100, 6000, 3.7)), {"s_ms_per_row", "k_round_trips"}, id="two-delays"
        ),
        # 6,000 rows on one node and 12,000 on two are the same share: T0 stays open.
        pytest.param(batches((1, 0, 6000, 3.3), (2, 0, 12000, 3.3)), {"s_ms_per_row"}, id="same-share"),
        pytest.param(
            batches((1, 0, 2400, 1.5), (1, 0, 6000, 3.3), (2, 90, 6000, 2.2)),
            {"s_ms_per_row", "t0_s", "k_round_trips"},
            id="all",
        ),
    ],
)
def test_micro_batch_law_fits_what_the_evidence_identifies(readings, fitted):
    model = MicroBatchLaw().fit(readings)
    assert model.fitted == fitted
    assert all(model.parameters[name] == 0 for name in model.parameters if name not in fitted)


def test_one_reading_gives_a_rate_and_warns_of_defaults():
    model = GesscaleLaw().fit(mst((2, 0, 3000)))
    assert model.parameters["alpha"] == pytest.approx(1500)
    assert not model.calibrated
    assert model.warnings[0] == Problem("model-parameters-default", {"parameters": ["beta = 1", "gamma = 0"]})


def test_capacity_is_learned_without_saturation():
    # 3,600 rows more took 3.25 - 1.48 = 1.77 s more: 0.49167 ms a row; T0 = 1.48 - 2.4 * 0.49167 = 0.300 s.
    # B = 9,000: T = 0.300 + 4.425 = 4.725 s, MST = 1904.8 rows/s; seen on Spark: 1,894 to 1,918.
    model = MicroBatchLaw().fit(batches((1, 0, 2400, 1.48), (1, 0, 6000, 3.25)))
    estimate = model.predict(Conditions(replicas=1, nd_max_ms=0, batch_rows=9000))
    assert estimate.mid == pytest.approx(1904.8, abs=0.1)
    assert estimate.low < 1894
    assert estimate.high > 1918


def test_weights_replace_replicas():
    # A node of weight 2 does the work of two: at 0.5 ms a row, 12,000 rows take 2 s on weight 3.
    for replicas in (2, 3):
        readings = [
            Reading(replicas=replicas, weight=weight, nd_max_ms=0, batch_rows=12_000, rows_per_s=2000 * weight)
            for weight in (1.0, 2.0)
        ]
        at_three = Conditions(replicas=replicas, weight=3.0, nd_max_ms=0, batch_rows=12_000)
        assert MicroBatchLaw().fit(readings).predict(at_three).mid == pytest.approx(6000, rel=1e-3)
        assert GesscaleLaw().fit(readings).predict(at_three).mid == pytest.approx(6000, rel=1e-3)


@pytest.mark.parametrize(
    ("law", "readings", "code"),
    [
        (GesscaleLaw(), [], "readings-unsaturated"),
        (GesscaleLaw(), batches((1, 0, 600, 0.5)), "readings-unsaturated"),
        (MicroBatchLaw(), mst((1, 0, 2000)), "readings-without-sizes"),
        (AutoLaw(), [], "readings-unsaturated"),
    ],
)
def test_no_usable_reading_is_an_error_(law, readings, code):
    with refused(code, ModelError, law=law.name if law.name != "auto" else "gesscale", count=len(readings)):
        law.fit(readings)
