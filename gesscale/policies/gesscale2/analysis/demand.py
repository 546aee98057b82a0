"""The offered load: its history, and a forecast of the next period that learns how the load goes on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from gesscale.observation import Batch

PERIODS_KEPT = 180
"""Three hours of one-minute periods."""

_FADE = 0.98
_PRIOR_SLOPES = np.array([0.9, 0.2])
_PRIOR_WEIGHTS = np.array([0.2, 0.5])
"""First guess: nearly all of what the newest batch says beyond the period, and a fifth of the last growth, goes on."""
_SLOPE_RANGES = ([-0.5, -1.0], [1.5, 1.5])
_PRIOR_SPREAD_SHARE = 0.10
_PRIOR_SPREAD_PERIODS = 6.0
"""First guess of the spread: a tenth of the load, worth as much as six periods of errors."""
_LARGEST_ERROR_SHARE = 0.5
"""A larger error counts as this share of the load: a jump is no noise."""

Points = Sequence[tuple[float, float]]
"""Instants (seconds since the epoch) and the rows that the sources had offered until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The next period.

    Attributes
    ----------
    rate, spread
        Expected mean rate and its standard deviation, rows/s.
    newest
        The rate between the two newest batches, rows/s.
    growth
        How much of `rate` goes on from the last growth, rows/s per period.
    """

    rate: float
    spread: float
    newest: float
    growth: float


class LoadHistory(BaseModel):
    """Mean rates of past periods, and what they tell of the next.

    Attributes
    ----------
    rates
        Of the last periods, oldest first, rows/s; at most `PERIODS_KEPT`.
    until_s, total_rows
        When the newest one ended, and how many rows had been offered then.
    newest
        The rate between the two newest batches, rows/s.
    expected
        What was forecast for the next period, rows/s.
    gram, moments
        Sums of the regression of the next growth on how much the newest batch is above its period, and on the last
        growth.
    squared_errors, errors
        Of forecasts, faded: their sum, (rows/s)^2, and how many.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    rates: tuple[float, ...] = ()
    until_s: float = 0.0
    total_rows: float = 0.0
    newest: float = 0.0
    expected: float = 0.0
    gram: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moments: tuple[float, float] = (0.0, 0.0)
    squared_errors: float = 0.0
    errors: float = 0.0

    def learned(self, points: Points, period_s: float) -> "LoadHistory":
        """Return the history with the period that ends at the newest point; as it is where that is known."""
        if len(points) < 2 or points[-1][0] <= self.until_s:
            return self
        times, totals = (np.array(column) for column in zip(*points, strict=True))
        until_s, total = float(times[-1]), float(totals[-1])
        from_s = max(until_s - period_s, float(times[0]))
        rate = (total - float(np.interp(from_s, times, totals))) / (until_s - from_s)
        scored = self._scored(rate) if self.rates else self
        rates = (*self.rates, *self._missed(until_s, total, period_s), rate)
        grown = scored.model_copy(
            update={
                "rates": tuple(float(f"{each:.5g}") for each in rates[-PERIODS_KEPT:]),
                "until_s": until_s,
                "total_rows": total,
                "newest": (total - float(totals[-2])) / (until_s - float(times[-2])),
            }
        )
        return grown.model_copy(update={"expected": grown.forecast().rate})

    def forecast(self) -> Forecast:
        """Forecast the next period; nothing is offered in it where nothing is known."""
        level = self.rates[-1] if self.rates else 0.0
        features = self._features()
        one, both, two = self.gram
        gram = np.array([[one, both], [both, two]]) + np.diag(_PRIOR_WEIGHTS)
        found = np.linalg.solve(gram, np.array(self.moments) + _PRIOR_WEIGHTS * _PRIOR_SLOPES)
        slopes = np.clip(found, *_SLOPE_RANGES)
        prior = _PRIOR_SPREAD_PERIODS * (_PRIOR_SPREAD_SHARE * max(level, 1.0)) ** 2
        return Forecast(
            rate=max(0.0, level + float(slopes @ features)),
            spread=math.sqrt((self.squared_errors + prior) / (self.errors + _PRIOR_SPREAD_PERIODS)),
            newest=self.newest,
            growth=float(slopes[1] * features[1]),
        )

    def _features(self) -> NDArray[np.float64]:
        if not self.rates:
            return np.zeros(2)
        level = self.rates[-1]
        return np.array([self.newest - level, level - self.rates[-2] if len(self.rates) > 1 else 0.0])

    def _scored(self, rate: float) -> "LoadHistory":
        """Learn from how the last forecast turned out."""
        level, error = self.rates[-1], rate - self.expected
        scale = max(1.0, level)
        one, two = self._features().tolist()
        # Large errors weigh less: the slope of a jump is not that of the load.
        weight = 1 / (0.05 * scale + abs(error)) / scale
        terms, growth = (one * one, one * two, two * two), weight * (rate - level)
        return self.model_copy(
            update={
                "gram": tuple(
                    float(f"{_FADE * old + weight * new:.6g}")
                    for old, new in zip(self.gram, terms, strict=True)
                ),
                "moments": tuple(
                    float(f"{_FADE * old + growth * new:.6g}")
                    for old, new in zip(self.moments, (one, two), strict=True)
                ),
                "squared_errors": _FADE * self.squared_errors
                + min(abs(error), _LARGEST_ERROR_SHARE * scale) ** 2,
                "errors": _FADE * self.errors + 1,
            }
        )

    def _missed(self, until_s: float, total: float, period_s: float) -> tuple[float, ...]:
        """Return the periods between the last one and this, at their mean rate."""
        since_s = until_s - self.until_s
        missed = round(since_s / period_s) - 1 if self.rates else 0
        return (max(0.0, total - self.total_rows) / since_s,) * min(missed, PERIODS_KEPT)


def offered_points(batches: Sequence[Batch]) -> Points:
    """Return when how many rows had been offered, of the newest run of the query.

    Spark asks its sources while it plans a batch, so the counter belongs to the beginning of the batch.
    """
    points: list[tuple[float, float]] = []
    before: Batch | None = None
    for batch in batches:
        if before is not None and batch.began_again_since(before):
            points.clear()
        at_s, before = batch.ended_at_s - batch.seconds, batch
        if batch.offered_rows_total is not None and (not points or at_s > points[-1][0]):
            points.append((at_s, batch.offered_rows_total))
    return points
