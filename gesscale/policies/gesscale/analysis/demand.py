"""Offered load: its history, and an adaptive forecast of the next bucket.

A bucket is as long as the objective, or as the period if that is longer. Rows may wait this long, so variation of the
load within a bucket is irrelevant.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.offered import OfferedPoint, offered_rate

Array = NDArray[np.float64]

#: Three hours of one-minute buckets.
BUCKETS_KEPT = 180

#: Up to twelve points per bucket are kept of the last two buckets, and one per bucket of older ones.
_FINE_BUCKETS, _FINE_STEPS = 2.0, 12

_FADE = 0.98
_PRIOR_SLOPES = np.array([0.9, 0.2])
#: Prior: nearly all of the excess of the newest rate over its bucket, and a fifth of the last growth, continue.
_PRIOR_WEIGHTS = np.array([0.2, 0.5])
_SLOPE_RANGES = ([-0.5, -1.0], [1.5, 1.5])
_PRIOR_SPREAD_SHARE = 0.10
#: Prior of the spread: a tenth of the load, with the weight of six buckets of errors.
_PRIOR_SPREAD_BUCKETS = 6.0
#: Errors are limited to this share of the load: a jump is not noise.
_LARGEST_ERROR_SHARE = 0.5


class Forecast(NamedTuple):
    """Forecast of the next bucket."""

    #: Expected mean rate and its standard deviation, rows/s (rate, spread).
    rate: float
    spread: float
    #: Newest rate, rows/s.
    newest: float


class _Pending(NamedTuple):
    """Forecast whose bucket has not passed yet."""

    #: Start of the bucket.
    at_s: float
    #: Mean rate of the last bucket, and the forecast, rows/s (level, expected).
    level: float
    expected: float
    #: Features: excess of the newest rate over its bucket, and the last growth, rows/s (beyond, growth).
    beyond: float
    growth: float
    #: Share of a bucket between this forecast and the one before it.
    share: float


class LoadHistory(BaseModel):
    """Offered load so far, and the learned forecast."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: Points of about `BUCKETS_KEPT` buckets, oldest first; rows count from the oldest.
    points: tuple[OfferedPoint, ...] = ()
    #: Counter of the sources at the newest point; it may restart.
    counted_rows: float = 0.0
    #: Rate over the newest step of a bucket (`_FINE_STEPS`), or between the two newest points; rows/s.
    newest: float = 0.0
    #: Forecasts whose buckets have not passed.
    pending: tuple[_Pending, ...] = ()
    #: Sums of the regression of the next growth on the excess of the newest rate and on the last growth (gram,
    #: moments).
    gram: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moments: tuple[float, float] = (0.0, 0.0)
    #: Faded sum and number of squared forecast errors, (rows/s)^2 (squared_errors, errors).
    squared_errors: float = 0.0
    errors: float = 0.0

    def updated(self, counted: Sequence[OfferedPoint], bucket_s: float) -> "LoadHistory":
        """Add the new points of the sources; unchanged if there are none."""
        last_s = self.points[-1].at_s if self.points else -math.inf
        if len(counted) < 2 or counted[-1].at_s <= last_s:
            return self
        known = self._without_unconfirmed(counted)
        grown = self.model_copy(
            update={
                "points": _thinned((*known, *self._continued(counted, bucket_s)), bucket_s),
                "counted_rows": counted[-1].rows,
                "newest": offered_rate(counted, counted[-1].at_s - bucket_s / _FINE_STEPS) or 0.0,
            }
        )
        scored = grown._scored(bucket_s)
        level, growth = scored._level_and_growth(bucket_s)
        latest = _Pending(
            at_s=counted[-1].at_s,
            level=level,
            expected=scored.forecast(bucket_s).rate,
            beyond=scored.newest - level,
            growth=growth,
            share=min(1.0, (counted[-1].at_s - last_s) / bucket_s),
        )
        return scored.model_copy(update={"pending": (*scored.pending, latest)})

    def rates(self, bucket_s: float) -> Array:
        """Return the mean rates of past buckets, oldest first, rows/s; of a partial one if no whole one is known."""
        return _rates(_PointsKey(self.points), bucket_s)

    def forecast(self, bucket_s: float) -> Forecast:
        """Forecast the next bucket; the rate is 0 if nothing is known."""
        level, growth = self._level_and_growth(bucket_s)
        prior = _PRIOR_SPREAD_BUCKETS * (_PRIOR_SPREAD_SHARE * max(level, 1.0)) ** 2
        return Forecast(
            rate=max(0.0, level + float(_slopes(self.gram, self.moments) @ (self.newest - level, growth))),
            spread=math.sqrt((self.squared_errors + prior) / (self.errors + _PRIOR_SPREAD_BUCKETS)),
            newest=self.newest,
        )

    def rate_before(self, at_s: float, bucket_s: float) -> float | None:
        """Return the mean rate of the bucket before an instant, rows/s; None if it is not known."""
        times, rows = _history_arrays(_PointsKey(self.points))
        if not times[0] <= at_s - bucket_s < at_s <= times[-1]:
            return None
        begin, end = np.interp([at_s - bucket_s, at_s], times, rows)
        return float(end - begin) / bucket_s

    def _level_and_growth(self, bucket_s: float) -> tuple[float, float]:
        """Return the mean rate of the last bucket, and its growth over the one before; rows/s."""
        last = self.rates(bucket_s)[-2:].tolist()
        return (last or [0.0])[-1], last[-1] - last[0] if last else 0.0

    def _without_unconfirmed(self, counted: Sequence[OfferedPoint]) -> Sequence[OfferedPoint]:
        """Return the points without the last idle ones if rows came and the sources no longer report the idling.

        These rows may have waited in the source since the batch before.
        """
        known = self.points
        has_grown = counted[-1].rows > self.counted_rows
        while has_grown and len(known) > 1 and known[-1].rows == known[-2].rows and not _holds(counted, known[-1].at_s):
            known = known[:-1]
        return known

    def _continued(self, counted: Sequence[OfferedPoint], bucket_s: float) -> Sequence[OfferedPoint]:
        """Return the new points, with rows counted from the oldest known point.

        Where the counter restarted the load is unknown, and taken to be that of the last bucket.
        """
        if not self.points:
            return [OfferedPoint(each.at_s, each.rows - counted[0].rows) for each in counted]
        last = self.points[-1]
        fresh = [each for each in counted if each.at_s > last.at_s]
        before = counted[: len(counted) - len(fresh)]
        known = self.counted_rows
        if not (before[-1].rows if before else 0.0) <= known <= fresh[0].rows:
            level, _ = self._level_and_growth(bucket_s)
            known = before[-1].rows if before else fresh[0].rows - level * (fresh[0].at_s - last.at_s)
        return [OfferedPoint(each.at_s, round(last.rows + each.rows - known, 1)) for each in fresh]

    def _scored(self, bucket_s: float) -> "LoadHistory":
        """Learn from the forecasts whose buckets have passed."""
        times, rows = _history_arrays(_PointsKey(self.points))
        gram: Sequence[float] = self.gram
        moments: Sequence[float] = self.moments
        squared_errors, errors = self.squared_errors, self.errors
        passed = [each for each in self.pending if each.at_s + bucket_s <= times[-1]]
        for each in passed:
            begin, end = np.interp([each.at_s, each.at_s + bucket_s], times, rows)
            rate = float(end - begin) / bucket_s
            error, scale = rate - each.expected, max(1.0, each.level)
            fade = _FADE**each.share
            # Large errors have less weight: a jump is not the usual slope of the load.
            weight = each.share / (0.05 * scale + abs(error)) / scale
            one, two = each.beyond, each.growth
            gram = _faded(gram, fade, weight, (one * one, one * two, two * two))
            moments = _faded(moments, fade, weight * (rate - each.level), (one, two))
            largest = min(abs(error), _LARGEST_ERROR_SHARE * scale)
            squared_errors = fade * squared_errors + each.share * largest**2
            errors = fade * errors + each.share
        return self.model_copy(
            update={
                "gram": tuple(float(f"{each:.6g}") for each in gram),
                "moments": tuple(float(f"{each:.6g}") for each in moments),
                "squared_errors": squared_errors,
                "errors": errors,
                "pending": self.pending[len(passed) :],
            }
        )


def waiting_rows(reading: OperatorReading, offered_rows_per_s: float, processed_rows_per_s: float) -> float:
    """Return the backlog at the end of the window.

    That of the reading belongs to the newest total. Since then rows were offered, and since the newest batch rows were
    processed. As many as in the newest batch do not count if the query was idle before it: it may wait for that many.
    """
    newest = reading.batches[-1]
    counted_s = reading.offered_points[-1].at_s if reading.offered_points else newest.began_s
    offered = offered_rows_per_s * max(0.0, reading.at_s - counted_s)
    processed = processed_rows_per_s * max(0.0, reading.at_s - newest.ended_at_s)
    awaited = newest.rows if _was_idle_before(reading.batches) else 0
    return max(0.0, (reading.backlog_rows or 0.0) + offered - processed - awaited)


def _was_idle_before(batches: Sequence[Batch]) -> bool:
    """Return whether the query was idle before its newest batch."""
    if len(batches) < 2 or not batches[-1].follows(batches[-2]):
        return False
    return batches[-1].began_s - batches[-2].ended_at_s >= (batches[-1].trigger_s or math.inf)


def _faded(sums: Sequence[float], fade: float, weight: float, added: Sequence[float]) -> Sequence[float]:
    return [fade * old + weight * new for old, new in zip(sums, added, strict=True)]


def _holds(points: Sequence[OfferedPoint], at_s: float) -> bool:
    return any(each.at_s == at_s for each in points)


@lru_cache(maxsize=8)  # a step forecasts several times
def _slopes(gram: tuple[float, float, float], moments: tuple[float, float]) -> Array:
    """Return the slopes of the next growth on the excess of the newest rate and on the last growth."""
    one, both, two = gram
    weights = np.array([[one, both], [both, two]]) + np.diag(_PRIOR_WEIGHTS)
    found = np.linalg.solve(weights, np.array(moments) + _PRIOR_WEIGHTS * _PRIOR_SLOPES)
    return np.clip(found, *_SLOPE_RANGES)


class _PointsKey(tuple[OfferedPoint, ...]):
    """Points as a cache key; equal points are mostly identical objects."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((len(self), self[-1:]))


@lru_cache(maxsize=8)  # a step uses the same points several times
def _history_arrays(points: _PointsKey) -> tuple[Array, Array]:
    columns = np.fromiter(chain.from_iterable(points), np.float64, 2 * len(points)).reshape(-1, 2)
    columns.setflags(write=False)
    return columns[:, 0], columns[:, 1]


@lru_cache(maxsize=8)
def _rates(points: _PointsKey, bucket_s: float) -> Array:
    if len(points) < 2:
        return np.zeros(0)
    times, rows = _history_arrays(points)
    whole = min(int((times[-1] - times[0]) / bucket_s + 1e-6), BUCKETS_KEPT)
    if not whole:
        return np.array([(rows[-1] - rows[0]) / (times[-1] - times[0])])
    ends_s = times[-1] - bucket_s * np.arange(whole, -1, -1)
    found: Array = np.diff(np.interp(ends_s, times, rows)) / bucket_s
    found.setflags(write=False)
    return found


def _thinned(points: Sequence[OfferedPoint], bucket_s: float) -> tuple[OfferedPoint, ...]:
    """Drop points that are not needed: keep one per old bucket, and more of the last buckets."""
    newest_s = points[-1].at_s
    kept = [points[0]]
    for point, following in pairwise(points[1:]):
        fine = newest_s - point.at_s <= _FINE_BUCKETS * bucket_s
        min_s = bucket_s / _FINE_STEPS if fine else bucket_s
        if following.at_s - kept[-1].at_s > min_s:  # dropping it would leave a longer gap
            kept.append(point)
    if len(points) > 1:
        kept.append(points[-1])
    oldest_s = newest_s - (BUCKETS_KEPT + 1) * bucket_s
    return tuple(each for each in kept[:-2] if each.at_s >= oldest_s) + tuple(kept[-2:])  # two, however long a batch is
