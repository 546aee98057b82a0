"""The quantile rule: which load it covers, and when fewer replicas suffice."""

import numpy as np
import pytest
from priced_situations import chosen, rival, stepped

from testbed.baselines.quantile import QuantileMemo, grown_load

EMPTY = QuantileMemo(policy="quantile", at_s=0.0, step_s=20.0)
FLAT = EMPTY.model_copy(update={"loads": (90.0,) * 100})
#: Every tenth load is twice as high.
PEAKS = EMPTY.model_copy(update={"loads": ((90.0,) * 9 + (180.0,)) * 10 + (90.0,) * 5})


def test_a_flat_load_needs_what_carries_it():
    # No load ever rose, so the quantile is the load: 90 of 100 rows/s.
    assert chosen(rival("quantile"), FLAT) == 1


def test_few_loads_may_rise_by_a_fifth():
    # 1.2 x 90 = 108 rows/s: two replicas.
    assert chosen(rival("quantile"), EMPTY.model_copy(update={"loads": (90.0,) * 5})) == 2


def test_the_price_decides_whether_a_rare_peak_is_covered():
    # L = 20 s to serve + 20 s of a step: two steps, and 2 of 10 windows of two steps contain a peak, so the peak is
    # beyond the quantile 0.8. r = 60 s: 1 replica-minute. Price 10: 10 / 11 = 0.91 covers it: 180 rows/s, two replicas.
    # Price 1: 1 / 2 = 0.5 does not: one.
    assert chosen(rival("quantile"), PEAKS) == 2
    assert chosen(rival("quantile", late_minute_price=1.0), PEAKS) == 1


def test_a_backlog_drains_within_the_objective():
    # 90 rows/s and 130 to drain: 220.
    assert chosen(rival("quantile"), FLAT, drain=130.0) == 3


def test_fewer_replicas_must_suffice_until_a_change_is_paid():
    # Two replicas are there. H = 2 x 2 replica-minutes / 1 replica = 240 s, 12 steps, in which a peak is certain: stay.
    # If a change costs a quarter, H is the minute to settle, three steps. At a price of 1 (quantile 0.5), 3 of 10
    # windows have a peak: one replica.
    assert chosen(rival("quantile", late_minute_price=1.0), PEAKS, replicas=2) == 2
    assert chosen(rival("quantile", late_minute_price=1.0, change_price=0.5), PEAKS, replicas=2) == 1


def test_where_no_number_carries_the_load_it_takes_the_one_that_carries_most():
    capacity = [100.0, 150.0, 120.0, 110.0, 100.0, 90.0, 80.0, 70.0]
    assert chosen(rival("quantile"), FLAT, load=500.0, drain=500.0, capacity=np.array(capacity)) == 2


def test_missed_loads_raise_the_quantile_and_covered_ones_lower_it():
    # The nominal quantile is 10 / 11. The bound of two steps ago was 90: 90 is covered, 180 missed, so the adjustment
    # changes by 0.01 x (0 - 1/11) = -0.000909, or by 0.01 x (1 - 1/11) = +0.009091.
    bounded = FLAT.model_copy(update={"bounds": (90.0, 90.0)})
    assert stepped(rival("quantile"), bounded, 90.0).adjustment == pytest.approx(-0.000909, abs=1e-6)
    assert stepped(rival("quantile"), bounded, 180.0).adjustment == pytest.approx(0.009091, abs=1e-6)


def test_the_memo_stays_short():
    memo = stepped(rival("quantile"), EMPTY, *(100.0 + index % 7 + 0.123456 for index in range(400)))
    assert len(memo.loads) == 182  # the errors kept and the two steps ahead
    assert len(memo.model_dump_json()) < 2048


def test_growth_is_relative_to_the_load():
    # The largest rise is from 10 to 20, so 10 may become 20; then from 10 to 100, so 100 may become 1000.
    loads = (10.0, 20.0, *(10.0,) * 10)
    assert grown_load(loads, 1, 1.0) == 20.0
    assert grown_load((*loads, 100.0), 1, 1.0) == 1000.0
