"""Eq. 1 of the paper, MST = alpha n^beta - gamma NDmax, fitted to saturation readings by bounded robust least squares.

The fit is staged by identifiability. Any reading identifies alpha. gamma needs readings with different
NDmax, and beta a capacity that differs by more than NDmax explains: two readings of different NDmax give alpha and
gamma, as in the paper. The others keep their defaults, beta = 1 and gamma = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.common.errors import Problem
from perfmodel.points import Estimates, Points, Vector, quantile
from perfmodel.readings import (
    SAME_CAPACITY_LOG,
    SAME_DELAY_MS,
    SAME_DELAY_SHARE,
    Reading,
    ReadingGroup,
    distinct_conditions,
)
from perfmodel.summary import HeldOut, LawSummary, ParameterEstimate

EQ1, PROPORTIONAL = "eq1", "proportional"

_NAMES, _UNITS = ("alpha", "beta", "gamma"), ("rows/s", "1", "rows/s per ms")
_DEFAULTS = (np.nan, 1.0, 0.0)
_LOWER, _UPPER = np.array([1e-30, 1e-3, 0.0]), np.array([np.inf, 1.2, np.inf])
#: A parameter this near to its bound is at the bound: as a share of the capacity at the readings.
_AT_BOUND = 1e-3

#: Prior of the law's error for a placement that it was not fitted to, as a share, and its weight in placements.
PRIOR_ERROR, PRIOR_PLACEMENTS = 0.05, 2.0

#: One step along NDmax weighs as much as a factor e = 2.7 in capacity.
ND_STEP_MS = 100.0
#: Widening per step from the nearest reading, as a logarithm. The three lowest readings overestimate by up to 42 %
#: at 25 replicas, 2.1 steps further: ln 1.42 / 2.1 = 0.17.
WIDENING = 0.2
#: The same towards more nodes while beta is a default: beta = 1 predicts a factor n; sqrt(n) is taken as the minimum.
WIDENING_DEFAULT_BETA = 0.5
#: The same towards more delay while gamma is a default: 100 ms cost a stateful query 51 %, -ln 0.49 = 0.72.
WIDENING_DEFAULT_GAMMA = 0.75
#: Maximum widening, as a logarithm: practically unbounded, but finite.
_WIDEST = 30.0

#: When the search ends: a change by less than this share, in a fit and in one that starts near its solution.
_TOLERANCE, _TOLERANCE_NEAR, _MAX_EVALUATIONS = 1e-8, 1e-5, 100

_Theta = tuple[float, float, float]
_Identified = tuple[bool, bool, bool]


class Uncertainty(NamedTuple):
    """Errors of a fit."""

    held_out: HeldOut
    #: Standard deviation of the law at a placement, as a share, and its degrees of freedom (error, freedom).
    error: float
    freedom: float
    #: Covariance of the fitted parameters per squared error, shape ``(3, 3)``; 0 for defaults.
    covariance: NDArray[np.float64]

    @property
    def half_width(self) -> float:
        """Half of the 90 % interval of the law at a placement, as a share."""
        return quantile(self.freedom) * self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedEq1:
    """Eq. 1 fitted to readings, or Eq. 2 (``proportional``), which is Eq. 1 with beta = 1 and gamma = 0."""

    law: str
    theta: _Theta
    identified: _Identified
    #: The readings by conditions, and their number (conditions, readings).
    conditions: tuple[ReadingGroup, ...]
    readings: int
    warnings: tuple[Problem, ...]
    uncertainty: Uncertainty

    def middle(self, points: Points) -> Vector:
        """Predict the MST, rows/s, never negative."""
        return np.maximum(_values(self.theta, points.weight, points.nd_max_ms), 0.0)

    def predict(self, points: Points) -> Estimates:
        """Predict the MST with a 90 % interval that widens with the distance from the readings."""
        capacity, nd_ms = points.weight, points.nd_max_ms
        mid = self.middle(points)
        gradient = _gradient(self.theta, capacity, nd_ms)
        of_parameters = np.einsum("...i,ij,...j", gradient, self.uncertainty.covariance, gradient)
        spread = np.sqrt(np.maximum(of_parameters, 0.0) + mid**2)  # rounding may make it negative
        half = self.uncertainty.half_width * spread
        widen_low, widen_high = self._widening(capacity, nd_ms)
        return Estimates(np.maximum(mid - half, 0.0) * np.exp(-widen_low), mid, (mid + half) * np.exp(widen_high))

    @property
    def summary(self) -> LawSummary:
        """Return the parameters with their intervals, and the error for held-out placements."""
        half = self.uncertainty.half_width * np.sqrt(np.maximum(np.diag(self.uncertainty.covariance), 0.0))
        columns = zip(_NAMES, _UNITS, self.theta, half.tolist(), self.identified, _LOWER, _UPPER, strict=True)
        parameters = [
            ParameterEstimate(
                name=name,
                unit=unit,
                value=value,
                low=max(float(lowest), value - each) if known else None,
                high=min(float(highest), value + each) if known else None,
                identified=known,
            )
            for name, unit, value, each, known, lowest, highest in columns
            if self.law == EQ1 or name == "alpha"
        ]
        return LawSummary.of(self.law, parameters, self.uncertainty.held_out, self.readings)

    def _widening(self, capacity: Vector, nd_ms: Vector) -> tuple[Vector, Vector]:
        """Return the widening of the low and the high end at the nearest reading, as logarithms.

        A fitted parameter may err in both directions. A default is the optimistic end of its range, so the true value
        is lower towards more nodes or more delay, and higher in the other direction.
        """
        if self.law == PROPORTIONAL:
            return np.zeros(np.shape(capacity)), np.zeros(np.shape(capacity))
        seen = np.array(self.conditions)
        nodes = np.log(capacity)[..., None] - np.log(seen[:, 0])
        delay = (nd_ms[..., None] - seen[:, 1]) / ND_STEP_MS
        nearest = np.argmin(np.abs(nodes) + np.abs(delay), axis=-1)[..., None]
        low = high = np.zeros(np.shape(capacity))
        for steps, known, default in (
            (nodes, self.identified[1], WIDENING_DEFAULT_BETA),
            (delay, self.identified[2], WIDENING_DEFAULT_GAMMA),
        ):
            each = np.take_along_axis(steps, nearest, axis=-1)[..., 0]
            more, fewer = (
                (WIDENING * np.abs(each),) * 2 if known else (default * np.maximum(s * each, 0) for s in (1, -1))
            )
            low, high = low + more, high + fewer
        return np.minimum(low, _WIDEST), np.minimum(high, _WIDEST)


def fit_eq1(
    readings: Sequence[Reading],
    now_s: float | None = None,
    *,
    law: str = EQ1,
    max_age_s: float | None = None,
    half_life_s: float | None = None,
) -> FittedEq1 | None:
    """Fit Eq. 1, or Eq. 2, to readings; None if there are none.

    Parameters
    ----------
    now_s
        Present time for ``max_age_s``; None for the time of the newest reading.
    law
        ``eq1`` or ``proportional``.
    max_age_s, half_life_s
        Maximum age, and the age at which a reading has half its weight; None for no limit.

    Examples
    --------
    One replica sustains 2,000 rows/s; two replicas 100 ms apart lose 500 of 4,000 to the delay (Eq. 3):

    >>> fitted = fit_eq1([
    ...     Reading(replicas=1, nd_max_ms=0, rows_per_s=2000),
    ...     Reading(replicas=2, nd_max_ms=100, rows_per_s=3500),
    ... ])
    >>> [round(value, 1) for value in fitted.theta], fitted.identified
    ([2000.0, 1.0, 5.0], (True, False, True))
    >>> fitted.middle(Points.of(2, 50)).round().tolist()
    [3750.0]
    """
    conditions, count, warnings = distinct_conditions(readings, now_s, max_age_s=max_age_s, half_life_s=half_life_s)
    if not conditions:
        return None
    theta, identified, uncertainty = _fitted(law, conditions)
    return FittedEq1(
        law=law,
        theta=theta,
        identified=identified,
        conditions=conditions,
        readings=count,
        warnings=(*warnings, *_warnings(law, theta, identified, conditions)),
        uncertainty=uncertainty,
    )


def _identifiable(conditions: Sequence[ReadingGroup]) -> _Identified:
    """Return which of alpha, beta and gamma the conditions identify; gamma comes before beta."""
    capacities, delays, *_ = np.array(conditions).T
    differ = bool(np.ptp(delays) > max(SAME_DELAY_MS, SAME_DELAY_SHARE * delays.max()))
    shape, ones = np.log(capacities), np.ones_like(capacities)
    explained = np.column_stack([ones, delays / ND_STEP_MS]) if differ else ones[:, np.newaxis]
    left_over = shape - explained @ np.linalg.lstsq(explained, shape)[0]
    return True, bool(np.ptp(left_over) > SAME_CAPACITY_LOG), differ


def _values(theta: _Theta, capacity: Vector, nd_ms: Vector) -> Vector:
    alpha, beta, gamma = theta
    values: Vector = alpha * capacity**beta - gamma * nd_ms
    return values


def _gradient(theta: _Theta, capacity: Vector, nd_ms: Vector) -> NDArray[np.float64]:
    alpha, beta, _ = theta
    power = capacity**beta
    return np.stack([power, alpha * power * np.log(capacity), -nd_ms], axis=-1)


@lru_cache(maxsize=2048)
def _fitted(law: str, conditions: tuple[ReadingGroup, ...]) -> tuple[_Theta, _Identified, Uncertainty]:
    """Fit the identified parameters; cached, as most steps have no new condition."""
    theta, identified = _minimised(law, conditions, None)
    return theta, identified, _uncertainty(law, conditions, theta, identified)


def _minimised(law: str, conditions: Sequence[ReadingGroup], near: _Theta | None) -> tuple[_Theta, _Identified]:
    """Fit the identified parameters to relative deviations, from a start near the solution if there is one."""
    from scipy.optimize import least_squares

    capacity, nd_ms, rates, weights = np.array(conditions).T
    identified = _identifiable(conditions) if law == EQ1 else (True, False, False)
    free, roots = np.array(identified), np.sqrt(weights)
    alpha = float(np.median(rates / capacity))
    start = np.where(free, [alpha, 0.9, 1e-3 * alpha] if near is None else near, [alpha, *_DEFAULTS[1:]])
    start = np.clip(start, _LOWER, _UPPER)

    def complete(chosen: Vector) -> _Theta:
        whole = start.copy()
        whole[free] = chosen
        return tuple(whole.tolist())

    def deviations(chosen: Vector) -> Vector:
        result: Vector = roots * (_values(complete(chosen), capacity, nd_ms) / rates - 1)
        return result

    def jacobian(chosen: Vector) -> NDArray[np.float64]:
        result: NDArray[np.float64] = (roots / rates)[:, None] * _gradient(complete(chosen), capacity, nd_ms)[:, free]
        return result

    found = least_squares(
        deviations,
        start[free],
        jacobian,
        bounds=(_LOWER[free], _UPPER[free]),
        ftol=_TOLERANCE if near is None else _TOLERANCE_NEAR,
        xtol=_TOLERANCE if near is None else _TOLERANCE_NEAR,
        max_nfev=_MAX_EVALUATIONS,
        x_scale=np.array([alpha, 0.5, alpha / ND_STEP_MS])[free],
        loss="soft_l1",
        f_scale=PRIOR_ERROR,
    )
    return complete(found.x), identified


def _uncertainty(law: str, conditions: tuple[ReadingGroup, ...], theta: _Theta, identified: _Identified) -> Uncertainty:
    """Return the errors at held-out conditions, and the spread of law and parameters that follows from them."""
    capacity, nd_ms, rates, weights = np.array(conditions).T
    free = np.array(identified)
    design = (np.sqrt(weights) / rates)[:, None] * _gradient(theta, capacity, nd_ms)[:, free]
    inverse = np.linalg.pinv(design.T @ design)
    kept = 1 - np.minimum(np.einsum("pi,ij,pj->p", design, inverse, design), 1.0)
    held_out = range(len(conditions)) if len(conditions) > 1 else ()
    errors = tuple(_held_out_error(law, conditions, index, theta) for index in held_out)
    known = kept > 0.01
    # A held-out error has the variance of the law divided by the share of the condition that others do not determine.
    squares = float(np.sum(np.square(errors)[known] * kept[known])) if errors else 0.0
    freedom = PRIOR_PLACEMENTS + max(0.0, len(rates) - int(free.sum()))
    covariance = np.zeros((3, 3))
    covariance[np.ix_(free, free)] = inverse
    error = float(np.sqrt((PRIOR_PLACEMENTS * PRIOR_ERROR**2 + squares) / freedom))
    return Uncertainty(HeldOut(errors), error, freedom, covariance)


def _held_out_error(law: str, conditions: tuple[ReadingGroup, ...], index: int, near: _Theta) -> float:
    theta, _ = _minimised(law, conditions[:index] + conditions[index + 1 :], near)
    capacity, nd_ms, rate, _ = np.array(conditions[index : index + 1]).T
    return float((np.maximum(_values(theta, capacity, nd_ms), 0.0) / rate - 1)[0])


def _warnings(law: str, theta: _Theta, identified: _Identified, conditions: Sequence[ReadingGroup]) -> list[Problem]:
    if law != EQ1:
        return [Problem("model-delays-ignored")]
    alpha, beta, gamma = theta
    farthest_ms = max(each.nd_max_ms for each in conditions)
    defaults = [
        f"{name} = {value:g}" for name, value, known in zip(_NAMES, theta, identified, strict=True) if not known
    ]
    found = [Problem("model-parameters-default", {"parameters": defaults})] if defaults else []
    if identified[2] and gamma * farthest_ms <= _AT_BOUND * alpha:
        found.append(Problem("model-parameter-at-bound", {"parameter": "gamma", "bound": 0.0}))
    bounds = [float(bound) for bound in (_LOWER[1], _UPPER[1]) if identified[1] and abs(beta - bound) <= _AT_BOUND]
    if bounds:
        found.append(Problem("model-parameter-at-bound", {"parameter": "beta", "bound": bounds[0]}))
    elif beta > 1:
        found.append(Problem("model-beta-above-one", {"beta": beta}))
    return found
