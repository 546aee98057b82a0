"""The two laws as estimators: readings are aged, checked for drift, and fitted."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from perfmodel.curves import BatchTime, Curve, SustainableRate, Vector
from perfmodel.drift import change_point
from perfmodel.evidence import ModelError, Reading
from perfmodel.fitted import FittedModel, fit_curve


@dataclass(frozen=True, slots=True, kw_only=True)
class _CurveLaw:
    """An estimator of one curve."""

    name: ClassVar[str]
    _curve: ClassVar[Curve]

    #: Readings older than this are left out; None keeps all.
    max_age_s: float | None = None
    #: After this time a reading counts half; None lets all count alike.
    half_life_s: float | None = None

    def __post_init__(self) -> None:
        for field in ("max_age_s", "half_life_s"):
            value = getattr(self, field)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ModelError(f"law {self.name}: expected {field} > 0 seconds or None, got {value}")

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> FittedModel:
        """Fit the law to readings; their order does not matter.

        Notes
        -----
        The fit is that of the instant of the newest usable reading. Until another comes, all weights fade by one
        factor: they still say the same, only with less certainty. So the middle stays as it is, and the interval
        widens. (Fitting the fading weights again would let the robust loss, whose threshold does not fade, move the
        middle a little although nothing was read.)
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
                f"law {self.name}: expected a reading of the last {self.max_age_s:g} s, got none in "
                f"{len(readings)}, the newest {now - _newest(readings):.0f} s old; wait for new ones"
            )
        return young


#: Enough for a fleet of a thousand operators, of which a third has a new reading in each step; 7 kB each.
FITS_REMEMBERED = 2048


class _Evidence(tuple[Reading, ...]):
    """Readings as the key of their fit.

    Equal ones are mostly the very same objects, which a comparison sees at once; hashing each would take as long as
    what a step may take.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]))


@lru_cache(maxsize=FITS_REMEMBERED)
def _fitted(curve: Curve, usable: _Evidence, half_life_s: float | None) -> FittedModel:
    """Fit a curve to usable readings as of the newest; remembered, since most steps bring no new one."""
    ordered = sorted(usable, key=_chronological)
    weights = _weights(ordered, half_life_s)

    def fit_part(begin: int, end: int) -> FittedModel:
        return fit_curve(curve, ordered[begin:end], weights[begin:end])

    model = fit_part(0, len(ordered))
    start = change_point(ordered, fit_part, model)
    notes = []
    if start:
        model = fit_part(start, len(ordered))
        notes.append(f"newer readings contradict {start} older ones, which were dropped")
    kept = ordered[start:]
    if odd := int(np.count_nonzero(model.contradictions(kept))):
        notes.append(f"{odd} of {len(kept)} readings contradict the fit and hardly count")
    notes += _incomparable(kept, curve)
    return dataclasses.replace(model, drift=start > 1, warnings=(*model.warnings, *notes))


def _weights(ordered: Sequence[Reading], half_life_s: float | None) -> Vector:
    if half_life_s is None:
        return np.ones(len(ordered))
    return _shares(np.array([ordered[-1].at_s - reading.at_s for reading in ordered]), half_life_s)


def _shares(ages_s: Vector, half_life_s: float) -> Vector:
    """Return what readings of these ages count for."""
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
    Two batches far from saturation tell the capacity: 3,600 rows more took 1.77 s more, so 0.4917 ms a row,
    and 0.30 s are left; 9,000 rows take 4.725 s.

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
    """Order by time; readings of one time by their values, so that their order as given does not matter."""
    return (reading.at_s, reading.capacity, reading.nd_max_ms, reading.batch_rows or 0.0, reading.rows_per_s)


def _incomparable(readings: Sequence[Reading], curve: Curve) -> list[str]:
    """Say what makes readings incomparable: the MST belongs to one batch size and one number of waves.

    A size in proportion to the capacity counts as one: it too gives every replica batches of one length.
    """
    notes = []
    waves = {round(reading.tasks / reading.replicas, 3) for reading in readings if reading.tasks is not None}
    if len(waves) > 1:
        notes.append(f"readings mix {min(waves):g} to {max(waves):g} tasks per replica; fit each apart")
    sized = [(reading.batch_rows, reading.capacity) for reading in readings if reading.batch_rows is not None]
    sizes = [rows for rows, _ in sized]
    if curve.law == "gesscale" and _differ(sizes) and _differ([rows / capacity for rows, capacity in sized]):
        notes.append(f"readings mix batches of {min(sizes):g} to {max(sizes):g} rows; Eq. 1 holds for one size")
    return notes


def _differ(sizes: Sequence[float]) -> bool:
    return len(sizes) > 1 and max(sizes) > 1.05 * min(sizes)
