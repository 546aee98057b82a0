"""When ARIMA is trusted, when a line stands in, when the model is fitted again (Daedalus 3.3)."""

import numpy as np
import pytest
from figures import figures

from testbed.baselines.daedalus import workload as forecasts
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.daedalus.workload import Arima, Forecaster, History

RULES = DaedalusSettings()
MODEL = Arima(order=(0, 1, 0), parameters=(), unit_rows_per_s=1.0)
"""A random walk, which predicts its last value."""


def history(*rates, until_s=3000.0):
    return History(until_s=until_s, offered_rows=0.0, rows_per_s=tuple(map(float, rates)))


def forecaster(*ahead, from_s=2940.0, bad_loops=0, tried_bins=100):
    return Forecaster(
        model=MODEL, tried_bins=tried_bins, bad_loops=bad_loops, from_s=from_s, rows_per_s=tuple(map(float, ahead))
    )


def updated(before, past, now_s=3000.0):
    return before.updated(past, now_s, RULES)


@pytest.mark.parametrize(
    ("ahead", "wape"),
    [
        ((100, 100), 0.0),
        ((90, 120), 0.15),  # (10 + 20) / 200
        ((150, 50), 0.5),
        ((80,), 0.2),  # only the bin that both have: 20 / 100
    ],
)
def test_wape_is_of_the_last_forecast_against_what_came(ahead, wape):
    assert updated(forecaster(*ahead), history(*[100] * 30)).wape == pytest.approx(wape)


def test_good_forecast_uses_arima_and_poor_one_a_trend():
    past = history(*range(100, 130))
    good = updated(forecaster(128, 129), past)
    ahead, name = good.forecast(past, 3000.0, RULES)
    assert name == "ARIMA(0,1,0)"
    assert ahead == pytest.approx(np.full(900, 129))
    poor = updated(forecaster(80, 80), past)  # 97 / 257: 38 %
    ahead, name = poor.forecast(past, 3000.0, RULES)
    assert figures(name) == [38]
    # From 129 up by one each 30 s: 130 in the first bin, 159 in the thirtieth.
    assert (ahead[0], ahead[29], ahead[30], ahead[-1]) == pytest.approx((130, 130, 131, 159))


def test_trend_is_used_without_a_forecast():
    past = history(50, 40, 30)
    first = updated(Forecaster(), past)
    assert (first.model, first.wape) == (None, None)
    ahead, name = first.forecast(past, 3000.0, RULES)
    assert "ARIMA" not in name
    # 20, 10, 0 and not below.
    assert (ahead[0], ahead[30], ahead[60], ahead[-1]) == pytest.approx((20, 10, 0, 0))
    assert first.forecast(history(70), 3000.0, RULES)[0] == pytest.approx(np.full(900, 70))


def test_bad_loops_count_on_end_and_the_fifteenth_fits_anew(monkeypatch):
    fits = []
    monkeypatch.setattr(forecasts, "fit_arima", lambda series: fits.append(len(series)) or MODEL)
    past = history(*[100] * 30)
    assert updated(forecaster(85, 85, bad_loops=3), past).bad_loops == 4  # WAPE 15 %: above 10 %
    assert updated(forecaster(95, 95, bad_loops=3), past).bad_loops == 0
    assert fits == []
    last = updated(forecaster(85, 85, bad_loops=14), past)
    assert (fits, last.bad_loops, last.tried_bins) == ([30], 0, 30)
