"""ARIMA by statsmodels: orders, forecasts with fixed parameters, and series that no model fits."""

import numpy as np
import pytest

from testbed.baselines.daedalus.workload import fit_arima, forecast


def test_a_ramp_goes_on():
    ramp = 100.0 + 5.0 * np.arange(60) + np.random.default_rng(1).normal(0, 0.5, 60)
    model = fit_arima(ramp)
    assert model.order[1] >= 1
    ahead = forecast(model, ramp, 30)
    # 100 + 5 x 89 = 545 at the 30th step.
    assert ahead[-1] == pytest.approx(545, rel=0.05)


@pytest.mark.parametrize(
    "series", [[], [5.0], [0.0] * 50, [7.0] * 50, [1.0, 2.0, 3.0]], ids=["none", "one", "zero", "level", "few"]
)
def test_unfittable_series_is_no_error(series):
    model = fit_arima(np.array(series))
    assert model is None or np.isfinite(forecast(model, np.array(series), 5)).all()


def test_slope_is_extrapolated_but_not_its_change():
    # The change of the slope remembers nine tenths of itself: ARIMA(1,2,0), which would bend ever further.
    bend = [0.0]
    for shock in np.random.default_rng(3).normal(0, 0.1, 119):
        bend.append(0.9 * bend[-1] + shock)
    trajectory = 5000 + np.cumsum(np.cumsum(bend))
    model = fit_arima(trajectory)
    assert model.order[:2] == (0, 2)
    slopes = np.diff(forecast(model, trajectory, 30))
    assert slopes == pytest.approx(np.full(29, slopes[0]))


def test_a_peak_that_is_over_does_not_echo():
    # An ever steeper rise, which asks for two differences, then a peak of 6 min, and calm: nothing carries its bend on.
    rise = 100 + 100 * (1 - np.cos(np.pi * np.arange(160) / 200))
    peak = rise[-1] + 300 * np.sin(np.linspace(0, np.pi, 12))
    model = fit_arima(rise)
    assert model.order[:2] == (0, 2)
    calm = np.concatenate((rise, peak, np.full(3, rise[-1])))
    assert forecast(model, calm, 30) == pytest.approx(np.full(30, rise[-1]), rel=0.05)
