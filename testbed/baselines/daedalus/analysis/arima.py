"""ARIMA by statsmodels: orders found once in a while, forecasts with fixed parameters in between (Daedalus, 3.3)."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

_UP_TO_TWO = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2))
_ORDERS = {0: _UP_TO_TWO, 1: _UP_TO_TWO, 2: ((0, 0), (0, 1), (0, 2))}
"""Autoregressive and moving average terms by the number of differences.

Two differences continue the slope. With autoregressive terms they continue its change as well: a load of 250 rows/s,
flat after a peak, became 8,000 in 15 min.
"""

_MOST_STATES = 3
"""Of any of these; the likelihood leaves out as many values at the beginning, the same for all orders."""

_SIGNIFICANT = 0.05
_SEARCH = {"disp": 0, "maxiter": 50, "factr": 1e9}
"""How a likelihood is climbed: to 2e-7 of it. statsmodels' 1e2 (2e-14) takes twice as long for the same forecasts."""

_NEAREST_ROOT = 1 / 0.99
"""Models whose polynomials have a root nearer to the unit circle are left out, as the paper's library does."""

_NO_ERRORS = {"cov_type": "none"}
"""Errors of the parameters are not needed."""

_FAILURES = (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError)
"""What statsmodels raises at series that no model fits: singular, constant, too short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arima:
    """A fitted model, without seasons.

    Attributes
    ----------
    order
        Autoregressive terms, differences, moving average terms.
    parameters
        As statsmodels orders them.
    unit_rows_per_s
        The series was divided by this before it was fitted.
    """

    order: tuple[int, int, int]
    parameters: tuple[float, ...]
    unit_rows_per_s: float

    def __str__(self) -> str:
        """Return its name as people write it."""
        return f"ARIMA({','.join(map(str, self.order))})"


def fitted(rows_per_s: NDArray[np.float64]) -> Arima | None:
    """Find the model of least AIC.

    Parameters
    ----------
    rows_per_s
        The series, oldest first.

    Returns
    -------
    Arima or None
        Differences by KPSS and ADF tests, whichever asks for more; up to two terms of each kind. None where nothing
        can be fitted, as to a constant.
    """
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
    """Forecast a series with the parameters as they are.

    Parameters
    ----------
    model
        Fitted to an earlier state of the series.
    rows_per_s
        The series up to now, oldest first.
    steps
        How far.

    Returns
    -------
    array or None
        Rows/s of each step, not below 0; None where it cannot be computed.
    """
    with _quiet():
        try:
            state = _model(rows_per_s / model.unit_rows_per_s, model.order)
            ahead = _ahead(state, model, steps)
        except _FAILURES:
            return None
    rates = np.maximum(0.0, np.asarray(ahead, dtype=float) * model.unit_rows_per_s)
    return rates if np.isfinite(rates).all() else None


def _ahead(state: Any, model: Arima, steps: int) -> Any:
    """Return the mean of the next steps.

    Without an intercept that changes over time the filter's own results say it, in half of the time that
    statsmodels takes to wrap them up; its figures are the same.
    """
    if not model.order[1]:
        return state.filter(model.parameters, **_NO_ERRORS).forecast(steps)
    from statsmodels.tsa.statespace.kalman_filter import MEMORY_CONSERVE

    state.update(np.array(model.parameters), transformed=True, includes_fixed=True)
    filtered = state.ssm.filter(conserve_memory=MEMORY_CONSERVE)
    return filtered.predict(filtered.nobs, filtered.nobs + steps).forecasts[0]


def _model(
    series: NDArray[np.float64], order: tuple[int, int, int], *, differenced_first: bool = False
) -> Any:
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
