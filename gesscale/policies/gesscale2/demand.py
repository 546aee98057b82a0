"""The offered load of an operator: its history, and a learned forecast of the next period with its spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict

from gesscale.observation import Batch

KEPT = 180


class LoadHistory(BaseModel):
    """Offered rates by period, and what is learned of how they go on.

    Attributes
    ----------
    rates
        Mean rate of each past period, oldest first, rows/s.
    until_s, total
        Up to when rows are counted, and the driver's counter then.
    """

    model_config = ConfigDict(frozen=True)

    rates: tuple[float, ...] = ()
    until_s: float = 0.0
    total: float = 0.0
    gram: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moments: tuple[float, float] = (0.0, 0.0)
    error2: float = 0.0
    errors: float = 0.0
    newest: float = 0.0
    forecast: float = 0.0
    features: tuple[float, float] = (0.0, 0.0)


def counted(batches: Sequence[Batch]) -> list[tuple[float, float]]:
    """Return instants with the rows offered until then, of the newest run of the query."""
    points: list[tuple[float, float]] = []
    for batch in batches:
        if batch.offered_rows_total is None:
            continue
        at_s = batch.ended_at_s - batch.seconds
        if points and (batch.offered_rows_total < points[-1][1] or at_s <= points[-1][0]):
            points.clear()
        points.append((at_s, batch.offered_rows_total))
    return points


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is expected of the next period: mean and spread of the rate, and the trend per period."""

    rate: float
    newest: float
    spread: float
    trend: float


def learned(history: LoadHistory, points: Sequence[tuple[float, float]], period_s: float) -> LoadHistory:
    """Return the history with what the driver has counted since."""
    if len(points) < 2:
        return history
    times = np.array([each[0] for each in points])
    totals = np.array([each[1] for each in points])
    until_s, total = float(times[-1]), float(totals[-1])
    if until_s <= history.until_s:
        return history
    from_s = max(until_s - period_s, float(times[0]))
    rate = (total - float(np.interp(from_s, times, totals))) / (until_s - from_s)
    newest = (total - float(totals[-2])) / (until_s - float(times[-2]))
    rates = history.rates
    if rates and history.until_s:
        missed = round((until_s - history.until_s) / period_s) - 1
        if missed > 0:
            since = max(0.0, total - history.total) / (until_s - history.until_s)
            rates = (*rates, *([since] * min(missed, KEPT)))
    gram, moments, error2, errors = (
        np.array(history.gram),
        np.array(history.moments),
        history.error2,
        history.errors,
    )
    if history.rates:
        one, two = history.features
        scale = max(1.0, history.rates[-1])
        fade = 0.98
        weight = 1 / (0.05 * scale + abs(rate - history.forecast)) / scale
        gram = fade * gram + weight * np.array([one * one, one * two, two * two])
        moments = fade * moments + weight * (rate - history.rates[-1]) * np.array([one, two])
        error2 = fade * error2 + min((rate - history.forecast) ** 2, (0.5 * scale) ** 2)
        errors = fade * errors + 1
    features = (newest - rate, rate - rates[-1] if rates else 0.0)
    grown = LoadHistory(
        rates=tuple(float(f"{each:.5g}") for each in (*rates, rate)[-KEPT:]),
        until_s=until_s,
        total=total,
        gram=tuple(float(f"{each:.6g}") for each in gram),
        moments=tuple(float(f"{each:.6g}") for each in moments),
        error2=error2,
        errors=errors,
        newest=newest,
        features=features,
    )
    return grown.model_copy(update={"forecast": forecast(grown).rate})


PRIOR_SHARE = 0.10
PRIOR_WEIGHT = 6.0


def forecast(history: LoadHistory) -> Forecast:
    """Forecast the next period."""
    level = history.rates[-1] if history.rates else 0.0
    one, two = history.features
    scale2 = max(level, 1.0) ** 2
    # Priors: all of what the newest batch says, and none of the trend.
    prior = np.array([0.9, 0.2])
    stiff = np.array([0.2, 0.5])
    gram = np.array([[history.gram[0], history.gram[1]], [history.gram[1], history.gram[2]]]) + np.diag(stiff)
    slope = np.linalg.solve(gram, np.array(history.moments) + stiff * prior)
    slope = np.clip(slope, [-0.5, -1.0], [1.5, 1.5])
    rate = max(0.0, level + float(slope[0]) * one + float(slope[1]) * two)
    spread2 = (history.error2 + PRIOR_WEIGHT * (PRIOR_SHARE**2) * scale2) / (history.errors + PRIOR_WEIGHT)
    return Forecast(
        rate=rate, newest=history.newest, spread=math.sqrt(spread2), trend=float(slope[1]) * two
    )
