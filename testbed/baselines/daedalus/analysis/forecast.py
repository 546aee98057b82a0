"""The workload of the next minutes: ARIMA while it is trusted, else a line (Daedalus, section 3.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.baselines.daedalus.analysis.arima import Arima, fitted
from testbed.baselines.daedalus.analysis.arima import forecast as arima_forecast
from testbed.baselines.daedalus.analysis.workload import History, rounded

_LEAST_BINS = 20
"""Of the history before a first model is fitted; tests and orders say little of fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRules:
    """What is expected of forecasts.

    Attributes
    ----------
    step_s
        Length of a bin.
    horizon_s
        How far they reach.
    line_s
        Length of the newest workload through which the line goes.
    wape_fallback, wape_bad
        WAPE from which the line takes the forecast's place, and from which a loop is a bad one.
    bad_limit
        After so many bad loops in a row, the model is fitted again.
    """

    step_s: float
    horizon_s: float
    line_s: float
    wape_fallback: float
    wape_bad: float
    bad_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecaster:
    """The model, and how good it was.

    Attributes
    ----------
    model
        None before there is one.
    tried_bins
        How long the history was when one was last looked for; 0: never.
    bad_loops
        Bad loops in a row; one without a model is bad.
    wape
        Of the previous forecast against what came; None where there was none.
    from_s
        Where the newest forecast of the model begins, seconds since the epoch.
    rows_per_s
        That forecast, bin by bin; empty without a model.
    """

    model: Arima | None = None
    tried_bins: int = 0
    bad_loops: int = 0
    wape: float | None = None
    from_s: float = 0.0
    rows_per_s: tuple[float, ...] = ()

    def updated(self, history: History, now_s: float, rules: ForecastRules) -> "Forecaster":
        """Return it after one more loop: judged, fitted again where it must be, and with a new forecast.

        Parameters
        ----------
        history
            The workload. Where it holds nothing newer than the last forecast, that one stands.
        now_s
            Seconds since the epoch.
        rules
            What is expected.

        Notes
        -----
        A model is looked for at first, after too many bad loops, and whenever the history is twice as long as at the
        last time: in place of the steps by which the paper's library updates its coefficients every minute.
        """
        if self.model is not None and history.until_s <= self.from_s:
            return self
        wape = self._wape(history, rules.step_s)
        bad_loops = self.bad_loops + 1 if wape is None or wape >= rules.wape_bad else 0
        series = np.asarray(history.rows_per_s)
        model, tried_bins = self.model, self.tried_bins
        grown = len(series) >= max(_LEAST_BINS, 2 * tried_bins)
        if grown or (tried_bins and bad_loops >= rules.bad_limit):
            model, tried_bins, bad_loops = fitted(series) or model, len(series), 0
        return Forecaster(
            model=model,
            tried_bins=tried_bins,
            bad_loops=bad_loops,
            wape=wape,
            from_s=history.until_s,
            rows_per_s=_ahead(model, series, _steps(history, now_s, rules)),
        )

    def outlook(
        self, history: History, now_s: float, rules: ForecastRules
    ) -> tuple[NDArray[np.float64], str]:
        """Return the forecast to plan by, second by second from now, and what it is, for people.

        Parameters
        ----------
        history
            As `updated` had it.
        now_s
            Seconds since the epoch.
        rules
            What is expected.
        """
        trusted = self.rows_per_s and self.wape is not None and self.wape < rules.wape_fallback
        if trusted:
            values, from_s, name = np.asarray(self.rows_per_s), self.from_s, str(self.model)
        else:
            values, from_s = _line(history, _steps(history, now_s, rules), rules), history.until_s
            name = "a line" if self.wape is None else f"a line, as the WAPE was {100 * self.wape:.0f} %"
        seconds = np.arange(round(rules.horizon_s)) + 0.5 + now_s - from_s
        bins = np.clip(seconds / rules.step_s, 0, len(values) - 1).astype(int)
        return values[bins], name

    def _wape(self, history: History, step_s: float) -> float | None:
        """Return the weighted absolute percentage error of the newest forecast, 0..; None where it is unknown."""
        came = round((history.until_s - self.from_s) / step_s)
        count = min(came, len(self.rows_per_s))
        if not 0 < count <= came <= len(history.rows_per_s):
            return None
        actual = np.asarray(history.rows_per_s[-came:][:count])
        missed = float(np.abs(actual - np.asarray(self.rows_per_s[:count])).sum())
        total = float(actual.sum())
        if total <= 0:
            return 0.0 if missed == 0 else None
        return missed / total


def _steps(history: History, now_s: float, rules: ForecastRules) -> int:
    """Return how many bins reach from the history to the horizon; what is older than a horizon predicts no more."""
    gap_s = min(max(0.0, now_s - history.until_s), rules.horizon_s)
    return int(np.ceil((gap_s + rules.horizon_s) / rules.step_s))


def _ahead(model: Arima | None, series: NDArray[np.float64], steps: int) -> tuple[float, ...]:
    values = None if model is None else arima_forecast(model, series, steps)
    return () if values is None else tuple(rounded(value) for value in values.tolist())


def _line(history: History, steps: int, rules: ForecastRules) -> NDArray[np.float64]:
    """Return the slope of the newest workload, carried on from its last value, not below 0."""
    newest = np.asarray(history.rows_per_s[-max(2, round(rules.line_s / rules.step_s)) :])
    slope = float(np.polyfit(np.arange(len(newest)), newest, 1)[0]) if len(newest) > 1 else 0.0
    line: NDArray[np.float64] = newest[-1] + slope * np.arange(1, steps + 1)
    return line.clip(0.0)
