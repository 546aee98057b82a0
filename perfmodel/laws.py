"""The two laws as estimators: they weight readings by age, check them for drift, and fit a curve."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gesscale.common.errors import Problem
from perfmodel.curves import BatchTime, Curve, SustainableRate, Vector
from perfmodel.drift import change_point
from perfmodel.evidence import ModelError, Reading
from perfmodel.fitted import FittedModel, fit_curve


@dataclass(frozen=True, slots=True, kw_only=True)
class _CurveLaw:
    """An estimator of one curve."""

    name: ClassVar[str]
    _curve: ClassVar[Curve]

    #: Readings older than this are ignored; None keeps all.
    max_age_s: float | None = None
    #: After this time a reading has half its weight; None gives all the same weight.
    half_life_s: float | None = None

    def __post_init__(self) -> None:
        for field in ("max_age_s", "half_life_s"):
            value = getattr(self, field)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ModelError("model-setting-invalid", law=self.name, setting=field, got=value)

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> FittedModel:
        """Fit the law to readings; their order does not matter.

        Notes
        -----
        The fit belongs to the time of the newest usable reading. Until the next reading, all weights fade by one
        factor, so the middle is constant and the interval widens. (To fit the faded weights again would move the
        middle slightly without new readings, because the threshold of the robust loss does not fade.)
        """
        usable = _Evidence(self._young(self._curve.usable(readings), now_s))
        model = _fitted(self._curve, usable, self.half_life_s)
        if self.half_life_s is None or now_s is None:
            return model
        return model.aged(float(_shares(np.array([now_s - _newest(usable)]), self.half_life_s)[0]))

    def _young(self, readings: Sequence[Reading], now_s: float | None) -> list[Reading]:
        if self.max_age_s is None:
            return list(readings)
        now = _newest(readings) if now_s is None else now_s
        young = [reading for reading in readings if now - reading.at_s <= self.max_age_s]
        if not young:
            raise ModelError(
                "readings-too-old",
                law=self.name,
                max_age_s=self.max_age_s,
                count=len(readings),
                newest_age_s=now - _newest(readings),
            )
        return young


#: Enough for a fleet of a thousand operators, a third of which has a new reading in each step; 7 kB each.
FITS_REMEMBERED = 2048


class _Evidence(tuple[Reading, ...]):
    """Readings as the cache key of their fit.

    Equal readings are mostly identical objects, so a comparison is cheap; hashing each would take as long as a step.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]))


@lru_cache(maxsize=FITS_REMEMBERED)
def _fitted(curve: Curve, usable: _Evidence, half_life_s: float | None) -> FittedModel:
    """Fit a curve to usable readings at the time of the newest; cached, since most steps have no new reading."""
    ordered = sorted(usable, key=_chronological)
    weights = _weights(ordered, half_life_s)

    def fit_part(begin: int, end: int) -> FittedModel:
        return fit_curve(curve, ordered[begin:end], weights[begin:end])

    model = fit_part(0, len(ordered))
    start = change_point(ordered, fit_part, model)
    notes = []
    if start:
        model = fit_part(start, len(ordered))
        notes.append(Problem("model-readings-dropped", {"count": start}))
    kept = ordered[start:]
    if odd := int(np.count_nonzero(model.contradictions(kept))):
        notes.append(Problem("model-readings-contradict", {"count": odd, "total": len(kept)}))
    notes += _incomparable(kept, curve)
    return dataclasses.replace(model, drift=start > 1, warnings=(*model.warnings, *notes))


def _weights(ordered: Sequence[Reading], half_life_s: float | None) -> Vector:
    if half_life_s is None:
        return np.ones(len(ordered))
    return _shares(np.array([ordered[-1].at_s - reading.at_s for reading in ordered]), half_life_s)


def _shares(ages_s: Vector, half_life_s: float) -> Vector:
    """Return the weights of readings of these ages."""
    return np.maximum(0.5 ** (np.maximum(ages_s, 0.0) / half_life_s), 1e-6)


class GesscaleLaw(_CurveLaw):
    """Eq. 1 of the paper, MST = alpha n^beta - gamma NDmax, fitted to saturated readings.

    Examples
    --------
    One replica sustains 2,000 rows/s; two replicas 100 ms apart lose 500 of 4,000 to the delay (Eq. 3):

    >>> from perfmodel import Conditions, Reading
    >>> model = GesscaleLaw().fit([
    ...     Reading(replicas=1, nd_max_ms=0, rows_per_s=2000),
    ...     Reading(replicas=2, nd_max_ms=100, rows_per_s=3500),
    ... ])
    >>> {name: round(value, 3) for name, value in model.parameters.items()}
    {'alpha': 2000.0, 'beta': 1.0, 'gamma': 5.0}
    >>> sorted(model.fitted), model.calibrated
    (['alpha', 'gamma'], False)
    >>> round(model.predict(Conditions(replicas=2, nd_max_ms=50)).mid)
    3750
    """

    __slots__ = ()
    name = "gesscale"
    _curve = SustainableRate()


class MicroBatchLaw(_CurveLaw):
    """The micro-batch law, T = T0 + s B / n + k NDmax, fitted to batches, saturated or not.

    Examples
    --------
    Two batches far from saturation determine the capacity: 3,600 more rows took 1.77 s more, so 0.4917 ms a row
    and 0.30 s of overhead; 9,000 rows take 4.725 s.

    >>> from perfmodel import Conditions, Reading
    >>> batches = [(2400, 1.48), (6000, 3.25)]
    >>> model = MicroBatchLaw().fit([
    ...     Reading(replicas=1, nd_max_ms=0, rows_per_s=rows / seconds, batch_rows=rows, saturated=False)
    ...     for rows, seconds in batches
    ... ])
    >>> round(model.predict(Conditions(replicas=1, nd_max_ms=0, batch_rows=9000)).mid)
    1905
    """

    __slots__ = ()
    name = "microbatch"
    _curve = BatchTime()


def _newest(readings: Sequence[Reading]) -> float:
    return max([reading.at_s for reading in readings])


def _chronological(reading: Reading) -> tuple[float, ...]:
    """Order by time, and readings of the same time by value, so that the order of the input does not matter."""
    return (reading.at_s, reading.capacity, reading.nd_max_ms, reading.batch_rows or 0.0, reading.rows_per_s)


def _incomparable(readings: Sequence[Reading], curve: Curve) -> list[Problem]:
    """Warn of incomparable readings: an MST is valid for one batch size and one number of task waves.

    Batch sizes in proportion to the capacity count as one size: every replica gets batches of one length.
    """
    notes = []
    waves = {round(reading.tasks / reading.replicas, 3) for reading in readings if reading.tasks is not None}
    if len(waves) > 1:
        notes.append(Problem("model-tasks-mixed", {"min": min(waves), "max": max(waves)}))
    sized = [(reading.batch_rows, reading.capacity) for reading in readings if reading.batch_rows is not None]
    sizes = [rows for rows, _ in sized]
    if curve.law == "gesscale" and _differ(sizes) and _differ([rows / capacity for rows, capacity in sized]):
        notes.append(Problem("model-batch-sizes-mixed", {"min": min(sizes), "max": max(sizes)}))
    return notes


def _differ(sizes: Sequence[float]) -> bool:
    return len(sizes) > 1 and max(sizes) > 1.05 * min(sizes)
