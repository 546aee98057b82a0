"""The workload of Daedalus on a grid of time: from offered totals, through gaps, restarts and idling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch
from gesscale.monitor.offered import driver_points
from testbed.baselines.daedalus.workload import History, extend_history, with_idle_time

STEP_S = 30.0


def batch(began_s, total, *, rows=0, seconds=5.0, trigger_s=10.0):
    return Batch(
        batch_id=int(began_s),
        ended_at_s=began_s + seconds,
        rows=rows,
        seconds=seconds,
        nodes=("hub",),
        trigger_s=trigger_s,
        offered_rows_total=total,
    )


def steady(from_s, until_s, rate, *, start=0.0):
    return tuple(
        batch(float(at_s), start + rate * (at_s - from_s), rows=int(10 * rate))
        for at_s in range(from_s, until_s + 1, 10)
    )


def extend(history, batches):
    return extend_history(history, driver_points(batches))


def test_whole_bins_between_the_batches_are_known():
    # The first batch began at 1010 s and the last at 1100 s: 1020 to 1080 s are two bins.
    found = extend(None, steady(1010, 1100, 50.0))
    assert found == History(until_s=1080.0, offered_rows=3500.0, rows_per_s=(50.0, 50.0))


def test_gap_is_filled_with_the_mean_rate():
    first = extend(None, steady(990, 1080, 50.0))
    # 4500 rows by 1080 s and 9900 by 1260 s: 30/s in between, although no batch tells of it.
    later = extend(first, steady(1260, 1290, 70.0, start=9900.0))
    assert later.rows_per_s[3:] == pytest.approx((30,) * 6 + (70,))


def test_idle_time_has_no_load():
    first = extend(None, steady(990, 1080, 50.0))
    idle = with_idle_time(first, 1170.0)
    assert (idle.until_s, idle.rows_per_s) == (1170.0, (50.0, 50.0, 50.0, 0.0, 0.0, 0.0))
    assert with_idle_time(first, 1100.0) is first
    assert with_idle_time(None, 1100.0) is None
    woken = extend(idle, steady(1170, 1230, 40.0, start=4500.0))
    assert woken.rows_per_s[-2:] == pytest.approx((40, 40))


@given(st.lists(st.floats(0, 1e4), min_size=4, max_size=40), st.integers(1, 9))
def test_no_row_is_lost_however_the_batches_are_looked_at(rates, looks):
    totals = np.concatenate(([0.0], np.cumsum(rates) * 10))
    reported = tuple(batch(10.0 * index, float(total)) for index, total in enumerate(totals))
    history = None
    for end in range(looks, len(reported) + looks, looks):
        history = extend(history, reported[max(0, end - 2 * looks - 1) : end])
    if history is not None:
        # Rates are kept to five digits.
        began_s = history.until_s - STEP_S * len(history.rows_per_s)
        offered = totals[round(history.until_s / 10)] - totals[round(began_s / 10)]
        assert sum(history.rows_per_s) * STEP_S == pytest.approx(offered, rel=1e-4, abs=1e-3)
