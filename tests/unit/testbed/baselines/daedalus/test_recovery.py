"""Daedalus 3.4 and 3.5: predicted recovery times, downtimes learned."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.baselines.daedalus.scale_out import Downtimes, predicted_recovery_s

FORECAST = np.full(900, 10_000.0)
REPLAYED = 100_000.0
"""Ten seconds since the checkpoint at 10,000 rows/s."""


@pytest.mark.parametrize(
    ("capacity", "lag", "expected"),
    [
        (15_000, 0, 111),  # 100,000 + 30 x 10,000 = 400,000 rows at 5,000/s: 80 s, exceeded in the 81st
        (15_000, 50_000, 121),
        (10_000, 0, math.inf),
    ],
)
def test_known_vectors(capacity, lag, expected):
    assert predicted_recovery_s(capacity, REPLAYED + lag, FORECAST, 30.0) == expected


def test_load_above_capacity_delays_recovery():
    # 30 s down: 300 rows. Ten seconds at +10, then ten at -10, then +20 for good: 300 more in the 16th second of these.
    forecast = np.concatenate((np.full(30, 10.0), np.full(10, 10.0), np.full(10, 30.0), np.zeros(850)))
    assert predicted_recovery_s(20.0, 0.0, forecast, 30.0) == 66


@given(st.floats(1, 1e5), st.floats(0, 1e6), st.floats(1, 300), st.floats(1.0, 2.0))
def test_more_capacity_recovers_no_later_and_a_longer_stop_no_earlier(capacity, waiting, downtime_s, more):
    first = predicted_recovery_s(capacity, waiting, FORECAST, downtime_s)
    assert predicted_recovery_s(capacity * more, waiting, FORECAST, downtime_s) <= first
    assert predicted_recovery_s(capacity, waiting, FORECAST, downtime_s * more) >= first


def test_downtimes_are_learned_by_direction():
    first = Downtimes(out_s=30.0, in_s=15.0)
    assert first.updated(2, 50.0) == Downtimes(out_s=36.0, in_s=15.0)  # 30 + 0.3 x 20
    assert first.updated(-1, 5.0) == Downtimes(out_s=30.0, in_s=12.0)
    assert first.updated(0, 500.0) == first
