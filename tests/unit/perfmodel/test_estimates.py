"""Intervals: never negative, wide where little is known, wider away from the evidence."""

import math

import pytest
from refusals import refused

from gesscale.common.errors import Problem
from perfmodel import Conditions, GesscaleLaw, MicroBatchLaw, ModelError, Reading

EXTRAPOLATED = str(Problem("estimate-extrapolated"))


def remark(code, **fields):
    return str(Problem(code, fields))


def swept(law, replicas=(1, 2, 3), delays_ms=(0, 100)):
    """Exact readings of alpha 2000, beta 0.8, gamma 2, or of T0 0.3 s, s 0.5 ms, k 4 at B = 12,000."""
    for n in replicas:
        for nd in delays_ms:
            if law.name == "gesscale":
                rate = 2000 * n**0.8 - 2 * nd
            else:
                rate = 12_000 / (0.3 + 6.0 / n + 0.004 * nd)
            yield Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate, batch_rows=12_000)


LAWS = pytest.mark.parametrize("law", [GesscaleLaw(), MicroBatchLaw()], ids=lambda law: law.name)


def width(estimate):
    return math.log(estimate.high / estimate.low)


@LAWS
def test_interval_widens_with_the_distance_from_the_evidence(law):
    model = law.fit(list(swept(law)))
    nested = [Conditions(replicas=n, nd_max_ms=0) for n in (3, 6, 12, 25)]
    widths = [width(model.predict(conditions)) for conditions in nested]
    assert widths == sorted(widths)
    assert widths[-1] > 3 * widths[0]
    assert EXTRAPOLATED not in model.predict(nested[0]).reason
    assert EXTRAPOLATED in model.predict(nested[1]).reason
    assert width(model.predict(Conditions(replicas=2, nd_max_ms=300))) > width(
        model.predict(Conditions(replicas=2, nd_max_ms=100))
    )


@LAWS
def test_conditions_between_two_lines_of_evidence_count_as_beyond_it(law):
    # n = 1..4 at 0 ms and n = 1 at 150 ms do not surround n = 4 at 150 ms, though each value was seen.
    evidence = [*swept(law, (1, 2, 3, 4), (0,)), *swept(law, (1,), (150,))]
    model = law.fit(evidence)
    assert EXTRAPOLATED in model.predict(Conditions(replicas=4, nd_max_ms=150)).reason
    assert model.predict(Conditions(replicas=1, nd_max_ms=75, batch_rows=12_000)).reason == ""


@pytest.mark.parametrize(("contention", "coherence"), [(0.02, 0.0), (0.025, 0.0), (0.01, 0.0005)])
def test_low_end_covers_published_like_scaling_from_the_three_lowest_sizes(contention, coherence):
    def truth(n):  # universal scalability law, 1,000 rows/s per node
        return 1000 * n / (1 + contention * (n - 1) + coherence * n * (n - 1))

    readings = [Reading(replicas=n, nd_max_ms=0, rows_per_s=truth(n)) for n in (1, 2, 3)]
    estimate = GesscaleLaw().fit(readings).predict(Conditions(replicas=25, nd_max_ms=0))
    # Published Flink tables: + 30 to + 42 % at n = 25.
    assert 1.3 < estimate.mid / truth(25) < 1.45
    assert estimate.low <= truth(25) <= estimate.high


def test_negative_prediction_is_clipped():
    # alpha 1000, gamma 5: 1000 - 5 * 300 = -500 rows/s.
    model = GesscaleLaw().fit(
        [Reading(replicas=1, nd_max_ms=0, rows_per_s=1000), Reading(replicas=1, nd_max_ms=100, rows_per_s=500)]
    )
    estimate = model.predict(Conditions(replicas=1, nd_max_ms=300))
    assert (estimate.low, estimate.mid) == (0, 0)
    assert remark("estimate-clipped", rows_per_s=-500) in estimate.reason


def test_missing_batch_rows_use_the_largest_batch():
    model = MicroBatchLaw().fit(list(swept(MicroBatchLaw())))
    estimate = model.predict(Conditions(replicas=2, nd_max_ms=0))
    assert estimate.mid == pytest.approx(12_000 / 3.3)
    assert remark("estimate-batch-assumed", batch_rows=12_000) in estimate.reason


@pytest.mark.parametrize(
    ("value", "limit", "got"),
    [
        ({"replicas": 0}, ">= 1", 0),
        ({"nd_max_ms": -1.0}, ">= 0", -1.0),
        ({"rows_per_s": 0.0}, "> 0", 0.0),
        ({"tasks": 0}, ">= 1", 0),
        ({"at_s": math.nan}, ">= -1e+30", pytest.approx(math.nan, nan_ok=True)),
        ({"tasks": 10**5000}, ">= 1", math.inf),
    ],
)
def test_impossible_readings_cannot_be_built(value, limit, got):
    (field,) = value
    with refused("reading-invalid", ModelError, field=field, limit=limit, got=got):
        Reading(**({"replicas": 1, "nd_max_ms": 0.0, "rows_per_s": 1.0} | value))
