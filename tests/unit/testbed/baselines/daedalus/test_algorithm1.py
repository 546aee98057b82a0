"""Algorithm 1 of Daedalus, test by test and in order."""

import math
from dataclasses import replace

import numpy as np
import pytest
from figures import figures
from hypothesis import given
from hypothesis import strategies as st

from testbed.baselines.daedalus.scale_out import Downtimes, ScaleOutCheck, ScaleOutContext, choose, explain
from testbed.baselines.daedalus.settings import DaedalusSettings

RULES = DaedalusSettings()


def situation(workers, *, rate=500.0, each=200.0, most=8, forecast=None, **changes):
    """Return a job of workers that do 200 rows/s each, at 500 rows/s for ever."""
    made = ScaleOutContext(
        workers=workers,
        capacities=tuple(each * count for count in range(1, max(most, workers) + 1)),
        max_workers=most,
        input_rows_per_s=rate,
        backlog_rows=0.0,
        replayed_rows=10 * rate,
        forecast_rows_per_s=np.full(900, rate) if forecast is None else np.asarray(forecast, dtype=float),
        downtimes=Downtimes(out_s=30.0, in_s=15.0),
        since_rescale_s=math.inf,
    )
    return replace(made, **changes)


def later(first, then, at=300):
    return np.concatenate((np.full(at, float(first)), np.full(900 - at, float(then))))


@pytest.mark.parametrize(
    ("workers", "rate", "wanted", "recovery_s", "failed"),
    [
        # 3 do 600: 5,000 rows again and 30 s of 500 are 20,000, at 100/s 200 s, exceeded in the 201st.
        # The present number is judged by a failure, which stops for as long as adding.
        (3, 500.0, 3, 231, (ScaleOutCheck.INPUT, ScaleOutCheck.INPUT)),
        (1, 500.0, 3, 231, (ScaleOutCheck.INPUT, ScaleOutCheck.INPUT)),
        # Removing stops for 15 s: 12,500 rows, 125 s, and one.
        (5, 500.0, 3, 141, (ScaleOutCheck.INPUT, ScaleOutCheck.INPUT)),
        # 3 do 600 and 580 come: 580 x 40 = 23,200 rows at 20/s take 1,160 s.
        (3, 580.0, 4, 136, (ScaleOutCheck.INPUT, ScaleOutCheck.INPUT, ScaleOutCheck.RECOVERY)),
        (4, 0.0, 1, 16, ()),
    ],
)
def test_the_fewest_that_carry_and_recover(workers, rate, wanted, recovery_s, failed):
    seen = situation(workers, rate=rate)
    choice = choose(seen, RULES)
    assert (choice.workers, [check for _, check in choice.failed]) == (wanted, [*failed])
    text = explain(choice, seen, RULES)
    assert figures(text)[:2] == [wanted, recovery_s]
    assert figures(text)[2:] == {0: [], 2: [1, 2], 3: [1, 2, 3, 600]}[len(failed)]


def test_present_number_needs_no_long_forecast():
    # From 500 to 700 rows/s in 500 s: 3 have recovered by then (231 s). A new number must carry the 700.
    growing = later(500, 700, at=500)
    assert choose(situation(3, forecast=growing), RULES).workers == 3
    assert choose(situation(2, forecast=growing), RULES).workers == 4
    assert choose(situation(5, forecast=growing), RULES).failed[-1] == (3, ScaleOutCheck.FORECAST)


def test_forecast_during_recovery_is_checked():
    # A peak of 650 for ten seconds from 100 s on; 3 would still have recovered within 600 s.
    peak = np.full(900, 500.0)
    peak[100:110] = 650.0
    choice = choose(situation(3, forecast=peak), RULES)
    assert choice.workers == 4
    assert choice.failed[-1] == (3, ScaleOutCheck.FORECAST_IN_RECOVERY)


def test_nothing_is_removed_while_it_lags():
    # 601 rows wait: more than 3 do in a second, and 3 recover in 147 s nevertheless.
    held = choose(situation(5, backlog_rows=601.0), RULES)
    assert held.workers == 4  # 800 a second
    assert held.failed[-1] == (3, ScaleOutCheck.BACKLOG)
    assert choose(situation(5, backlog_rows=600.0), RULES).workers == 3
    assert choose(situation(5, backlog_rows=2000.0), RULES).workers == 5


def test_recent_change_is_kept_if_sufficient_for_a_minute():
    recent = situation(5, since_rescale_s=300.0)
    assert choose(recent, RULES).workers == 5
    assert choose(replace(recent, since_rescale_s=600.0), RULES).workers == 3
    # 5 do 1,000: not enough if 1,100 come within the minute, enough if they come after.
    assert choose(replace(recent, forecast_rows_per_s=later(500, 1100, at=59)), RULES).workers > 5
    assert choose(replace(recent, forecast_rows_per_s=later(500, 1100, at=60)), RULES).workers == 5


@given(
    workers=st.integers(1, 10),
    rate=st.floats(0, 3000),
    backlog=st.none() | st.floats(0, 1e7),
    growth=st.floats(0, 3),
    since_s=st.floats(0, 1e4),
)
def test_choice_is_within_limits_and_safe_under_overload(workers, rate, backlog, growth, since_s):
    seen = situation(
        workers,
        rate=rate,
        forecast=np.linspace(rate, rate * growth, 900),
        backlog_rows=backlog,
        since_rescale_s=since_s,
    )
    choice = choose(seen, RULES)
    assert 1 <= choice.workers <= max(8, workers)
    if choice.workers < min(workers, 8):
        assert seen.capacities[choice.workers - 1] > rate
        assert backlog is not None
