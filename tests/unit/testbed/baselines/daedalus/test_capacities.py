"""Daedalus 3.1: capacities of scale-outs that were seen, and in proportion of those that were not."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.baselines.daedalus.scale_out import Capacities, ObservedRate


def with_rate(before, workers, rows_per_s, at_s=0.0):
    return before.updated(workers, rows_per_s, at_s)


def test_unobserved_capacities_are_proportional():
    assert with_rate(Capacities(), 2, 200.0).up_to(4) == pytest.approx((100, 200, 300, 400))


def test_observed_capacities_are_averaged():
    known = with_rate(with_rate(Capacities(), 2, 200.0), 4, 340.0)  # 85 each
    assert known.up_to(5) == pytest.approx((85, 200, 255, 340, 425))
    assert with_rate(known, 2, 180.0).up_to(2)[1] == pytest.approx(190)  # (200 + 180) / 2
    assert with_rate(with_rate(known, 2, 180.0), 2, 170.0).up_to(2)[1] == pytest.approx(180)  # (190 + 170) / 2


def test_drift_drops_all_observed_capacities():
    known = with_rate(with_rate(Capacities(), 2, 200.0), 4, 400.0)
    slower = with_rate(known, 4, 300.0)  # a quarter less
    assert slower.observed == {4: ObservedRate(rows_per_s=300.0, at_s=0.0)}
    assert slower.up_to(4) == pytest.approx((75, 150, 225, 300))


def test_more_workers_never_do_less():
    # 3 were seen to do 330 and 4 to do 310: both count as 320. 5 in proportion (387.5) is above and stays.
    known = with_rate(with_rate(Capacities(), 3, 330.0), 4, 310.0)
    assert known.up_to(5) == pytest.approx((77.5, 155, 320, 320, 387.5))
    # 1 and 2 in proportion to 5 would do more than 3 were seen to do: they yield, all but a thousandth.
    slow = with_rate(with_rate(Capacities(), 3, 100.0), 5, 500.0)
    assert slow.up_to(3) == pytest.approx((100, 100, 100), rel=2e-3)


@given(st.lists(st.tuples(st.integers(1, 18), st.floats(1.0, 1e6)), min_size=1, max_size=20))
def test_capacities_are_monotonic_and_bounded(found):
    known = Capacities()
    for at_s, (workers, rows_per_s) in enumerate(found):
        known = with_rate(known, workers, rows_per_s, float(at_s))
    capacities = known.up_to(18)
    assert len(capacities) == 18
    # Rounding in the last digits is no fall.
    assert all(more >= less * (1 - 1e-9) for less, more in pairwise(capacities))
    assert capacities[0] > 0
