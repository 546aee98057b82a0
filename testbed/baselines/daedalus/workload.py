"""Load history of an operator and its forecast by ARIMA or a linear trend (Daedalus, section 3.3)."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gesscale.model.offered import OfferedPoint
from testbed.baselines.daedalus.settings import DaedalusSettings

_ROUNDING = 1e-6

# Resolution of history and forecast, half a loop: batches are too coarse for the second of the paper.
STEP_S = 30.0

# Six hours, the length of the paper's runs; with two hours of forecast they fit in a memo of 32 KiB.
_MAX_BINS = 720

# Without a trusted ARIMA model the slope of the newest five loops continues.
_LINE_BINS = 10

# WAPE of the previous forecast above which the linear trend replaces it (section 4.8), WAPE above which a loop is bad,
# and the number of consecutive bad loops after which ARIMA is fitted again (section 3.3).
_WAPE_FALLBACK, _WAPE_BAD, _BAD_LIMIT = 0.25, 0.1, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Offered rows per second."""

    #: End of the newest bin, seconds since the epoch.
    until_s: float
    #: Rows offered until then, by the counter of the sources.
    offered_rows: float
    #: Rate of each bin, oldest first, with five digits.
    rows_per_s: tuple[float, ...]


def extend_history(history: History | None, counted: Sequence[OfferedPoint]) -> History | None:
    """Add the rows of newer points to the history.

    Parameters
    ----------
    history
        The history so far; None at the beginning.
    """
    points = list(counted)
    if history is not None:
        points = [point for point in points if point.at_s > history.until_s]
        if points and points[0].rows >= history.offered_rows:
            points.insert(0, OfferedPoint(history.until_s, history.offered_rows))
    if not points:
        return history
    times, totals = zip(*points, strict=True)
    last = math.floor(times[-1] / STEP_S + _ROUNDING)
    first = max(math.ceil(times[0] / STEP_S - _ROUNDING), last - _MAX_BINS)
    if last <= first:
        return history
    at_edges = np.interp(np.arange(first, last + 1) * STEP_S, times, totals)
    rates = np.diff(at_edges) / STEP_S
    earlier = _before(history, first, float(rates[0]))
    return History(
        until_s=last * STEP_S,
        offered_rows=float(at_edges[-1]),
        rows_per_s=(*earlier, *(round_figure(rate) for rate in rates.tolist()))[-_MAX_BINS:],
    )


def with_idle_time(history: History | None, at_s: float) -> History | None:
    """Extend the history of an idle operator until an instant."""
    if history is None:
        return None
    bins = math.floor((at_s - history.until_s) / STEP_S + _ROUNDING)
    if bins <= 0:
        return history
    return History(
        until_s=history.until_s + bins * STEP_S,
        offered_rows=history.offered_rows,
        rows_per_s=(*history.rows_per_s, *[0.0] * min(bins, _MAX_BINS))[-_MAX_BINS:],
    )


def round_figure(figure: float) -> float:
    """Round a figure to five digits."""
    return float(f"{figure:.5g}")


def _before(history: History | None, first: int, next_rate: float) -> tuple[float, ...]:
    """Return the bins before the first new one, gaps interpolated; empty if the gap exceeds the maximum history."""
    if history is None:
        return ()
    gap = round(first - history.until_s / STEP_S)
    if gap >= _MAX_BINS:
        return ()
    between = np.linspace(history.rows_per_s[-1], next_rate, gap + 2)[1:-1]
    return (*history.rows_per_s, *(round_figure(rate) for rate in between.tolist()))


_UP_TO_TWO = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2))
#: Autoregressive and moving average terms by the number of differences. Two differences extrapolate the slope, and with
#: autoregressive terms its change too: a load of 250 rows/s, flat after a peak, became 8,000 in 15 min.
_ORDERS = {0: _UP_TO_TWO, 1: _UP_TO_TWO, 2: ((0, 0), (0, 1), (0, 2))}

#: Maximum number of states; the likelihood of every order skips this number of values at the beginning.
_MAX_STATES = 3

_SIGNIFICANT = 0.05
#: Search options, with a tolerance of 2e-7. The 1e2 of statsmodels (2e-14) takes twice as long for equal forecasts.
_SEARCH = {"disp": 0, "maxiter": 50, "factr": 1e9}

#: Models with a root of a polynomial nearer to the unit circle are rejected, as in the paper's library.
_NEAREST_ROOT = 1 / 0.99

#: No standard errors of the parameters.
_NO_ERRORS = {"cov_type": "none"}

#: Errors of statsmodels for singular, constant or too short series.
_FAILURES = (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arima:
    """Fitted model without seasonality."""

    #: Autoregressive terms, differences, moving average terms.
    order: tuple[int, int, int]
    #: Parameters in the order of statsmodels.
    parameters: tuple[float, ...]
    #: Divisor of the series before the fit.
    unit_rows_per_s: float

    def __str__(self) -> str:
        """Return the usual notation, such as ARIMA(1,0,1)."""
        return f"ARIMA({','.join(map(str, self.order))})"


def fit_arima(rows_per_s: NDArray[np.float64]) -> Arima | None:
    """Fit the model with the lowest AIC; None if none fits."""
    unit = float(np.mean(rows_per_s)) if len(rows_per_s) else 0.0
    if unit <= 0 or not math.isfinite(unit) or np.ptp(rows_per_s) <= 1e-9 * unit:
        return None
    series = rows_per_s / unit
    best: tuple[float, Arima] | None = None
    with _quiet():
        differences = _differences(series)
        for ar_terms, ma_terms in _ORDERS[differences]:
            order = (ar_terms, differences, ma_terms)
            try:
                model = _model(series, order, differenced_first=True)
                result = model.fit(**_SEARCH, **_NO_ERRORS) if model.k_params else model.filter([])
                aic, parameters = float(result.aic), tuple(float(each) for each in result.params)
                roots = np.abs(np.concatenate((result.arroots, result.maroots)))
            except _FAILURES:
                continue
            good = all(map(math.isfinite, (aic, *parameters))) and (roots >= _NEAREST_ROOT).all()
            if good and (best is None or aic < best[0]):
                best = aic, Arima(order=order, parameters=parameters, unit_rows_per_s=unit)
    return best[1] if best else None


def forecast(model: Arima, rows_per_s: NDArray[np.float64], steps: int) -> NDArray[np.float64] | None:
    """Forecast a series with given parameters; None if that fails."""
    with _quiet():
        try:
            state = _model(rows_per_s / model.unit_rows_per_s, model.order)
            ahead = state.filter(model.parameters, **_NO_ERRORS).forecast(steps)
        except _FAILURES:
            return None
    rates = np.maximum(0.0, np.asarray(ahead, dtype=float) * model.unit_rows_per_s)
    return rates if np.isfinite(rates).all() else None


def _model(series: NDArray[np.float64], order: tuple[int, int, int], *, differenced_first: bool = False) -> Any:
    """Return the model. Differencing first takes a third of the time of a fit, and ends nearer to the optimum.

    The initial state is approximately diffuse. A stationary one would solve equations in every step of the search, with
    threads that wait for each other on a busy machine.
    """
    from statsmodels.tsa.statespace.sarimax import SARIMAX

    model = SARIMAX(
        series,
        order=order,
        trend="n" if order[1] else "c",
        simple_differencing=differenced_first,
        concentrate_scale=True,
        loglikelihood_burn=_MAX_STATES,
    )
    model.initialize_approximate_diffuse()
    return model


def _differences(series: NDArray[np.float64]) -> int:
    for count in range(max(_ORDERS)):
        if not _wanders(np.diff(series, count)):
            return count
    return max(_ORDERS)


def _wanders(series: NDArray[np.float64]) -> bool:
    """Return True if either test rejects a constant level."""
    from statsmodels.tsa.stattools import adfuller, kpss

    if np.ptp(series) <= 1e-9:
        return False
    try:
        by_kpss = kpss(series, regression="c", nlags="auto")[1] < _SIGNIFICANT
        return bool(by_kpss or adfuller(series)[1] > _SIGNIFICANT)
    except _FAILURES:
        return False


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings of imperfect searches: the WAPE measures the quality of a model."""
    import_module("statsmodels.tsa.statespace.sarimax")  # adds warning filters at its first import
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


#: Minimum number of bins for a first model.
_MIN_BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecaster:
    """Forecast model and its quality."""

    #: The model; None if there is none yet.
    model: Arima | None = None
    #: Length of the history at the last fit, bins; 0 if there was none.
    tried_bins: int = 0
    #: Number of consecutive bad loops; a loop without a model is bad.
    bad_loops: int = 0
    #: Error of the previous forecast; None if there was none.
    wape: float | None = None
    #: Start of the newest forecast, seconds since the epoch.
    from_s: float = 0.0
    #: The newest forecast by bins; empty without a model.
    rows_per_s: tuple[float, ...] = ()

    def updated(self, history: History, now_s: float, settings: DaedalusSettings) -> "Forecaster":
        """Evaluate the last forecast, fit the model again if necessary, and make a new forecast.

        Notes
        -----
        The model is fitted first, after too many bad loops, and whenever the history is twice as long as at the last
        fit. This replaces the updates of the coefficients every minute in the paper's library.
        """
        if self.model is not None and history.until_s <= self.from_s:
            return self
        wape = self._wape(history)
        bad_loops = self.bad_loops + 1 if wape is None or wape >= _WAPE_BAD else 0
        series = np.asarray(history.rows_per_s)
        model, tried_bins = self.model, self.tried_bins
        grown = len(series) >= max(_MIN_BINS, 2 * tried_bins)
        if grown or (tried_bins and bad_loops >= _BAD_LIMIT):
            model, tried_bins, bad_loops = fit_arima(series) or model, len(series), 0
        return Forecaster(
            model=model,
            tried_bins=tried_bins,
            bad_loops=bad_loops,
            wape=wape,
            from_s=history.until_s,
            rows_per_s=_forecast_of(model, series, _steps(history, now_s, settings)),
        )

    def forecast(self, history: History, now_s: float, settings: DaedalusSettings) -> tuple[NDArray[np.float64], str]:
        """Return the forecast by seconds from now, and the name of its model."""
        trusted = self.rows_per_s and self.wape is not None and self.wape < _WAPE_FALLBACK
        if trusted:
            values, from_s, name = np.asarray(self.rows_per_s), self.from_s, str(self.model)
        else:
            values, from_s = _line(history, _steps(history, now_s, settings)), history.until_s
            name = "linear trend" if self.wape is None else f"linear trend, WAPE of ARIMA {100 * self.wape:.0f} %"
        seconds = np.arange(round(settings.forecast_s)) + 0.5 + now_s - from_s
        bins = np.clip(seconds / STEP_S, 0, len(values) - 1).astype(int)
        return values[bins], name

    def _wape(self, history: History) -> float | None:
        """Return the weighted absolute percentage error of the newest forecast, 0..; None if unknown."""
        passed = round((history.until_s - self.from_s) / STEP_S)
        count = min(passed, len(self.rows_per_s))
        if not 0 < count <= passed <= len(history.rows_per_s):
            return None
        actual = np.asarray(history.rows_per_s[-passed:][:count])
        missed = float(np.abs(actual - np.asarray(self.rows_per_s[:count])).sum())
        total = float(actual.sum())
        if total <= 0:
            return 0.0 if missed == 0 else None
        return missed / total


def _steps(history: History, now_s: float, settings: DaedalusSettings) -> int:
    """Return the number of bins from the history to the horizon; a gap counts up to one horizon."""
    gap_s = min(max(0.0, now_s - history.until_s), settings.forecast_s)
    return int(np.ceil((gap_s + settings.forecast_s) / STEP_S))


def _forecast_of(model: Arima | None, series: NDArray[np.float64], steps: int) -> tuple[float, ...]:
    values = None if model is None else forecast(model, series, steps)
    return () if values is None else tuple(round_figure(value) for value in values.tolist())


def _line(history: History, steps: int) -> NDArray[np.float64]:
    """Extrapolate the slope of the newest load from its last value, not below 0."""
    newest = np.asarray(history.rows_per_s[-_LINE_BINS:])
    slope = float(np.polyfit(np.arange(len(newest)), newest, 1)[0]) if len(newest) > 1 else 0.0
    line: NDArray[np.float64] = newest[-1] + slope * np.arange(1, steps + 1)
    return line.clip(0.0)
