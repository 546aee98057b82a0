"""The workload of an operator: what was offered, and what comes by ARIMA or a line (Daedalus, section 3.3)."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gesscale.model.observation import Batch
from testbed.baselines.daedalus.settings import DaedalusSettings

_ROUNDING = 1e-6

# Grid on which the workload is kept and forecast, half a loop: batches are too coarse for the paper's second.
STEP_S = 30.0

# Six hours, the length of the paper's runs; with two of forecast, 32 KiB of a memo hold them.
_MOST_BINS = 720

# Where ARIMA is not trusted, the slope of the newest five loops continues.
_LINE_BINS = 10

# WAPE of the previous forecast from which the line takes its place (section 4.8), and from which a loop is bad. After
# so many bad loops in a row, ARIMA is fitted again (section 3.3).
_WAPE_FALLBACK, _WAPE_BAD, _BAD_LIMIT = 0.25, 0.1, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Rows offered per second."""

    #: The end of the newest bin, seconds since the epoch.
    until_s: float
    #: Rows offered until then, as the batches count them.
    offered_rows: float
    #: Of each bin, oldest first, to five digits.
    rows_per_s: tuple[float, ...]


def extended(history: History | None, batches: Sequence[Batch]) -> History | None:
    """Return the history with the rows of newer batches.

    Parameters
    ----------
    history
        So far; None at the beginning.
    """
    points = _offered(batches)
    if history is not None:
        points = [point for point in points if point[0] > history.until_s]
        if points and points[0][1] >= history.offered_rows:
            points.insert(0, (history.until_s, history.offered_rows))
    if not points:
        return history
    times, totals = zip(*points, strict=True)
    last = math.floor(times[-1] / STEP_S + _ROUNDING)
    first = max(math.ceil(times[0] / STEP_S - _ROUNDING), last - _MOST_BINS)
    if last <= first:
        return history
    at_edges = np.interp(np.arange(first, last + 1) * STEP_S, times, totals)
    rates = np.diff(at_edges) / STEP_S
    kept = _before(history, first, float(rates[0]))
    return History(
        until_s=last * STEP_S,
        offered_rows=float(at_edges[-1]),
        rows_per_s=(*kept, *(rounded(rate) for rate in rates.tolist()))[-_MOST_BINS:],
    )


def idled(history: History | None, at_s: float) -> History | None:
    """Return the history of an operator to which nothing was offered until an instant."""
    if history is None:
        return None
    bins = math.floor((at_s - history.until_s) / STEP_S + _ROUNDING)
    if bins <= 0:
        return history
    return History(
        until_s=history.until_s + bins * STEP_S,
        offered_rows=history.offered_rows,
        rows_per_s=(*history.rows_per_s, *[0.0] * min(bins, _MOST_BINS))[-_MOST_BINS:],
    )


def rounded(figure: float) -> float:
    """Return a figure to five digits, as it is remembered."""
    return float(f"{figure:.5g}")


def _offered(batches: Sequence[Batch]) -> list[tuple[float, float]]:
    """Return when batches began and what had been offered by then, since the query last began to count."""
    points: list[tuple[float, float]] = []
    for batch in reversed(batches):
        total = batch.offered_rows_total
        if total is None or not math.isfinite(total):
            continue
        point = (batch.ended_at_s - batch.seconds, total)
        if points and not (point[0] < points[-1][0] and point[1] <= points[-1][1]):
            break
        points.append(point)
    return points[::-1]


def _before(history: History | None, first: int, next_rate: float) -> tuple[float, ...]:
    """Return the bins before the first new one, without a gap; none where the gap is longer than what is kept."""
    if history is None:
        return ()
    gap = round(first - history.until_s / STEP_S)
    if gap >= _MOST_BINS:
        return ()
    between = np.linspace(history.rows_per_s[-1], next_rate, gap + 2)[1:-1]
    return (*history.rows_per_s, *(rounded(rate) for rate in between.tolist()))


_UP_TO_TWO = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2))
#: Autoregressive and moving average terms by the number of differences. Two differences continue the slope.
#: With autoregressive terms they continue its change as well: a load of 250 rows/s, flat after a peak, became
#: 8,000 in 15 min.
_ORDERS = {0: _UP_TO_TWO, 1: _UP_TO_TWO, 2: ((0, 0), (0, 1), (0, 2))}

#: Of any of these; the likelihood leaves out as many values at the beginning, the same for all orders.
_MOST_STATES = 3

_SIGNIFICANT = 0.05
#: How a likelihood is climbed: to 2e-7 of it. statsmodels' 1e2 (2e-14) takes twice as long for the same
#: forecasts.
_SEARCH = {"disp": 0, "maxiter": 50, "factr": 1e9}

#: Models whose polynomials have a root nearer to the unit circle are left out, as the paper's library does.
_NEAREST_ROOT = 1 / 0.99

#: Errors of the parameters are not needed.
_NO_ERRORS = {"cov_type": "none"}

#: What statsmodels raises at series that no model fits: singular, constant, too short.
_FAILURES = (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arima:
    """A fitted model, without seasons."""

    #: Autoregressive terms, differences, moving average terms.
    order: tuple[int, int, int]
    #: As statsmodels orders them.
    parameters: tuple[float, ...]
    #: The series was divided by this before it was fitted.
    unit_rows_per_s: float

    def __str__(self) -> str:
        """Return its name as people write it."""
        return f"ARIMA({','.join(map(str, self.order))})"


def fitted(rows_per_s: NDArray[np.float64]) -> Arima | None:
    """Find the model of least AIC."""
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
    """Forecast a series with the parameters as they are."""
    with _quiet():
        try:
            state = _model(rows_per_s / model.unit_rows_per_s, model.order)
            ahead = state.filter(model.parameters, **_NO_ERRORS).forecast(steps)
        except _FAILURES:
            return None
    rates = np.maximum(0.0, np.asarray(ahead, dtype=float) * model.unit_rows_per_s)
    return rates if np.isfinite(rates).all() else None


def _model(series: NDArray[np.float64], order: tuple[int, int, int], *, differenced_first: bool = False) -> Any:
    """Return the model; differenced first it is fitted in a third of the time, and nearer to its optimum.

    Its first state is almost unknown. For a stationary one, every step of the search would solve equations, with
    threads that wait for each other on a busy machine.
    """
    from statsmodels.tsa.statespace.sarimax import SARIMAX

    model = SARIMAX(
        series,
        order=order,
        trend="n" if order[1] else "c",
        simple_differencing=differenced_first,
        concentrate_scale=True,
        loglikelihood_burn=_MOST_STATES,
    )
    model.initialize_approximate_diffuse()
    return model


def _differences(series: NDArray[np.float64]) -> int:
    for count in range(max(_ORDERS)):
        if not _wanders(np.diff(series, count)):
            return count
    return max(_ORDERS)


def _wanders(series: NDArray[np.float64]) -> bool:
    """Say whether a series has no fixed level, by either test."""
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
    """Suppress warnings of searches that begin or end imperfectly: the WAPE shows whether a model is good."""
    import_module("statsmodels.tsa.statespace.sarimax")  # sets filters of its own when it is first imported
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


#: Of the history before a first model is fitted; tests and orders say little of fewer.
_LEAST_BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecaster:
    """The model, and how good it was."""

    #: None before there is one.
    model: Arima | None = None
    #: How long the history was when one was last looked for; 0: never.
    tried_bins: int = 0
    #: Bad loops in a row; one without a model is bad.
    bad_loops: int = 0
    #: Of the previous forecast against what came; None where there was none.
    wape: float | None = None
    #: Where the newest forecast of the model begins, seconds since the epoch.
    from_s: float = 0.0
    #: That forecast, bin by bin; empty without a model.
    rows_per_s: tuple[float, ...] = ()

    def updated(self, history: History, now_s: float, settings: DaedalusSettings) -> "Forecaster":
        """Return it after one more loop: judged, fitted again where it must be, and with a new forecast.

        Notes
        -----
        A model is looked for at first, after too many bad loops, and whenever the history is twice as long as at the
        last time: in place of the steps by which the paper's library updates its coefficients every minute.
        """
        if self.model is not None and history.until_s <= self.from_s:
            return self
        wape = self._wape(history)
        bad_loops = self.bad_loops + 1 if wape is None or wape >= _WAPE_BAD else 0
        series = np.asarray(history.rows_per_s)
        model, tried_bins = self.model, self.tried_bins
        grown = len(series) >= max(_LEAST_BINS, 2 * tried_bins)
        if grown or (tried_bins and bad_loops >= _BAD_LIMIT):
            model, tried_bins, bad_loops = fitted(series) or model, len(series), 0
        return Forecaster(
            model=model,
            tried_bins=tried_bins,
            bad_loops=bad_loops,
            wape=wape,
            from_s=history.until_s,
            rows_per_s=_forecast_of(model, series, _steps(history, now_s, settings)),
        )

    def forecast(self, history: History, now_s: float, settings: DaedalusSettings) -> tuple[NDArray[np.float64], str]:
        """Return the forecast to plan by, second by second from now, and what it is, for people."""
        trusted = self.rows_per_s and self.wape is not None and self.wape < _WAPE_FALLBACK
        if trusted:
            values, from_s, name = np.asarray(self.rows_per_s), self.from_s, str(self.model)
        else:
            values, from_s = _line(history, _steps(history, now_s, settings)), history.until_s
            name = "a line" if self.wape is None else f"a line, as the WAPE was {100 * self.wape:.0f} %"
        seconds = np.arange(round(settings.forecast_s)) + 0.5 + now_s - from_s
        bins = np.clip(seconds / STEP_S, 0, len(values) - 1).astype(int)
        return values[bins], name

    def _wape(self, history: History) -> float | None:
        """Return the weighted absolute percentage error of the newest forecast, 0..; None where it is unknown."""
        came = round((history.until_s - self.from_s) / STEP_S)
        count = min(came, len(self.rows_per_s))
        if not 0 < count <= came <= len(history.rows_per_s):
            return None
        actual = np.asarray(history.rows_per_s[-came:][:count])
        missed = float(np.abs(actual - np.asarray(self.rows_per_s[:count])).sum())
        total = float(actual.sum())
        if total <= 0:
            return 0.0 if missed == 0 else None
        return missed / total


def _steps(history: History, now_s: float, settings: DaedalusSettings) -> int:
    """Return how many bins reach from the history to the horizon; what is older than a horizon predicts no more."""
    gap_s = min(max(0.0, now_s - history.until_s), settings.forecast_s)
    return int(np.ceil((gap_s + settings.forecast_s) / STEP_S))


def _forecast_of(model: Arima | None, series: NDArray[np.float64], steps: int) -> tuple[float, ...]:
    values = None if model is None else forecast(model, series, steps)
    return () if values is None else tuple(rounded(value) for value in values.tolist())


def _line(history: History, steps: int) -> NDArray[np.float64]:
    """Return the slope of the newest workload, carried on from its last value, not below 0."""
    newest = np.asarray(history.rows_per_s[-_LINE_BINS:])
    slope = float(np.polyfit(np.arange(len(newest)), newest, 1)[0]) if len(newest) > 1 else 0.0
    line: NDArray[np.float64] = newest[-1] + slope * np.arange(1, steps + 1)
    return line.clip(0.0)
