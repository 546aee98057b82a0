"""The law of batch times, learned from warm batches: T = T0 + a R / W + e R (s / V + (1 - s) / W) + b R + k D + m P.

R is the number of rows of the batch. W is the total weight of its replicas, and V their number times the smallest
weight: with evenly distributed rows the batch waits for the slowest replica; if fast replicas take more tasks, it does
not. s is the share of the rows that replicas of different weights were seen to take evenly. D is the longest round trip
to the driver and P the longest between two replicas. A query that only maps depends on D, one that shuffles also on P.
The fit finds both from the evidence.

The fit is a ridge regression without negative parameters. Without the sums of a placement it predicts it as if it were
new; these errors show how good the law is.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from gesscale.common.errors import Problem
from perfmodel.batch_evidence import NOISE_PRIOR, SMALLEST, BatchEvidence, table
from perfmodel.points import Estimates, Points, Vector, quantile
from perfmodel.readings import HALF_LIFE_S
from perfmodel.summary import HeldOut, LawSummary, ParameterEstimate

BATCH_TIME = "batch-time"

TERMS = 6
#: A placement that is not the newest counts as this number of batches at most, and less by its age.
EARLIER_BATCHES = 30.0
#: Batches of a placement from which it is compared.
MIN_BATCHES = 2.5
#: A placement that the others predict worse than this, as a share, has a warning.
ODD_SHARE = 0.3

#: Prior of the law's error for a placement that it was not fitted to, as a share, and its weight in placements.
PRIOR_ERROR, PRIOR_PLACEMENTS = 0.03, 1.5

#: Prior means and standard deviations: T0 in seconds; a, e and b as shares of the time of a row; k and m in round trips
#: (measured on Spark 4: a batch that maps takes 4 to 5 of them, a windowed one 26). The fit is in units of these
#: deviations.
_PRIOR = np.array([0.3, 0.475, 0.475, 0.02, 4.5, 0.5])
_PRIOR_SPREAD = np.array([0.4, 0.354, 0.354, 0.02, 8.0, 8.0])
_ONES = np.eye(TERMS)
#: Added to the diagonal of the normal equations, as a share of its sum: they stay solvable at any figures.
_LEAST_STIFFNESS = 1e-10

#: For intervals, the spread of the prior is this multiple: windowed queries take 13 to 26 round trips.
_PRIOR_DOUBT = np.array([1.0, 1.0, 1.0, 1.0, 3.0, 3.0])

#: Minimum time of a row, as a share of its time in the largest batch.
_MIN_SHARE = 0.05
#: A parameter is identified if its standard deviation is at most this share of that of the prior.
_IDENTIFIED_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class FittedBatchTime:
    """The law of batch times fitted to evidence."""

    law: str = BATCH_TIME
    #: T0 in seconds; a, e, b in seconds per row; k and m in round trips. None is negative.
    theta: tuple[float, ...]
    evidence: BatchEvidence
    #: Units of the parameters, and their precision in these units, shapes ``(6,)`` and ``(6, 6)`` (unit, precision).
    unit: Vector
    precision: NDArray[np.float64]
    #: For each placement its sums of the normal equations, shapes ``(p, 6, 6)`` and ``(p, 6)`` (grams, moments).
    grams: NDArray[np.float64]
    moments: NDArray[np.float64]

    def middle(self, points: Points) -> Vector:
        """Predict the MST, rows/s."""
        return self._middle(points, *self.times(points))

    @staticmethod
    def _middle(points: Points, overhead_s: Vector, each_s: Vector) -> Vector:
        limit_s = _limit_s(points, overhead_s)
        full_s = np.maximum(overhead_s + points.cap_rows * each_s, points.trigger_s)
        return np.where(np.isnan(points.cap_rows), (limit_s - overhead_s) / each_s / limit_s, points.cap_rows / full_s)

    def predict(self, points: Points) -> Estimates:
        """Predict the MST with a 90 % interval: uncertainty of the fit, and error of the law on others."""
        overhead_s, each_s = self.times(points)
        mid = self._middle(points, overhead_s, each_s)
        capped = ~np.isnan(points.cap_rows)
        rows = np.where(capped, points.cap_rows, mid * _limit_s(points, overhead_s))
        seconds = overhead_s + rows * each_s
        share = self.half_width(points, rows, seconds)
        # With a cap a longer batch is a lower rate, unless it still ends within the trigger interval.
        slow, fast = (np.maximum(seconds * each, points.trigger_s) for each in (1 + share, 1 / (1 + share)))
        low = np.where(capped, rows / slow, mid / (1 + share))
        high = np.where(capped, rows / fast, mid * (1 + share))
        return Estimates(np.minimum(low, mid), mid, np.maximum(high, mid))

    def half_width(self, points: Points, rows: Vector, seconds: Vector) -> Vector:
        """Return half of the 90 % interval of the time of a batch that the law predicts, as a share."""
        terms = _terms(points, rows, self.evidence.even_split) * self.unit
        error, freedom = self.uncertainty
        fit = np.einsum("...i,ij,...j", terms, self.covariance, terms) / seconds**2
        cost = self.evidence.noise / max(1, len(self.evidence.recent))
        of_law = quantile(freedom) ** 2 * (np.maximum(fit, 0.0) + error**2)
        half: Vector = np.sqrt(of_law + quantile(math.inf) ** 2 * cost)
        return half

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the parameters in their units: of prior, batches, and each placement as a whole."""
        inverse = np.linalg.inv(self.precision)
        influence = self.uncertainty[0] * self.moments @ inverse
        found: NDArray[np.float64] = inverse + (inverse * (_PRIOR_DOUBT**2 - 1)) @ inverse + influence.T @ influence
        return found

    @cached_property
    def held_out(self) -> HeldOut:
        """Errors of the batch time of each placement by a fit without it."""
        return HeldOut(tuple(self._left_out[0].tolist()))

    @cached_property
    def uncertainty(self) -> tuple[float, float]:
        """Standard deviation of the law at a placement, as a share, and its degrees of freedom."""
        errors, known, influence = self._left_out
        squares = np.maximum(np.square(errors) - known, 0) / (1 + influence)
        freedom = PRIOR_PLACEMENTS + len(errors)
        return math.sqrt((PRIOR_PLACEMENTS * PRIOR_ERROR**2 + float(squares.sum())) / freedom), freedom

    @cached_property
    def _left_out(self) -> tuple[Vector, Vector, Vector]:
        """Return the errors at held-out placements, the variance of the fit there, and the influence of the others."""
        compared = [at for at, each in enumerate(self.evidence.sums) if each.batches >= MIN_BATCHES]
        if len(self.evidence.sums) < 2 or not compared:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        sums = table(self.evidence.sums)[compared]
        rows, seconds = sums[:, 8] / sums[:, 7], sums[:, 10] / sums[:, 7]  # means weighted by rows
        terms = _terms(points_of(sums), rows, self.evidence.even_split) * self.unit
        precisions = self.precision - self.grams[compared]
        total = _PRIOR / _PRIOR_SPREAD + self.moments.sum(axis=0)
        right = np.concatenate([(total - self.moments[compared])[:, :, None], terms[:, :, None]], axis=2)
        others = np.broadcast_to(self.moments.T, (len(compared), TERMS, len(self.moments)))
        found = np.linalg.solve(precisions, np.concatenate([right, others], axis=2))
        theta = found[:, :, 0]
        for at in np.flatnonzero((theta < 0).any(axis=1)).tolist():
            theta[at] = _non_negative(precisions[at], total - self.moments[compared[at]])
        errors = np.einsum("pi,pi->p", terms, theta) / seconds - 1
        known = np.einsum("pi,pi->p", terms, found[:, :, 1]) / seconds**2
        influence = np.einsum("pi,piq->pq", terms, found[:, :, 2:]) / seconds[:, None]
        influence[np.arange(len(compared)), compared] = 0.0
        return errors, known, np.square(influence).sum(axis=1)

    @cached_property
    def summary(self) -> LawSummary:
        """Return the parameters with their intervals, and the error for held-out placements.

        The two times of a row are reported as their sum and the share that waits for the slowest replica: with equally
        fast replicas only the sum can be identified.
        """
        fixed_s, row_s, even_row_s, shared_row_s, driver_trips, pair_trips = self.theta
        both_s = row_s + even_row_s
        transform = _REPORTED_OF * self.unit
        transform[-1] /= 2 * both_s
        prior = np.diag(_PRIOR_DOUBT**2)
        now, first = (
            np.sqrt(np.maximum(np.diag(transform @ spread @ transform.T), 0.0)) for spread in (self.covariance, prior)
        )
        values = np.array([fixed_s, both_s, shared_row_s, driver_trips, pair_trips, even_row_s / both_s])
        half = quantile(self.uncertainty[1]) * now
        low, high = np.maximum(values - half, 0.0), np.minimum(values + half, _MOST)
        figures = (each.tolist() for each in (values, low, high, now <= _IDENTIFIED_SHARE * first))
        columns = zip(_REPORTED, *figures, strict=True)
        parameters = [
            ParameterEstimate(name=name, unit=unit, value=value, low=least, high=most, identified=known)
            for (name, unit), value, least, most, known in columns
        ]
        batches = round(sum(each.batches for each in self.evidence.sums))
        return LawSummary.of(self.law, parameters, self.held_out, batches)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Batches too equal to show the time of a row, and a placement that does not fit, as with a wrong weight."""
        row_s = next(each for each in self.summary.parameters if each.name == "row_s")
        rows = self.evidence.max_rows
        alike = () if row_s.identified else (Problem("model-rows-alike", {"rows": rows}),)
        errors = self.held_out.errors
        if len(errors) < 3 or max(map(abs, errors)) <= ODD_SHARE:
            return alike
        worst = max(range(len(errors)), key=lambda at: abs(errors[at]))
        compared = [each for each in self.evidence.sums if each.batches >= MIN_BATCHES]
        fields = {"weight": compared[worst].weight, "driver_ms": compared[worst].driver_ms, "pct": 100 * errors[worst]}
        return (*alike, Problem("model-placement-odd", fields))

    def times(self, points: Points) -> tuple[Vector, Vector]:
        """Return the time of a batch that its rows do not change, and that of each row; seconds."""
        fixed_s, row_s, even_row_s, shared_row_s, driver_trips, pair_trips = self.theta
        overhead_s = fixed_s + (driver_trips * points.driver_ms + pair_trips * points.pair_ms) / 1000
        waited = _waited(points.weight, points.even_weight, self.evidence.even_split)
        return overhead_s, row_s / points.weight + even_row_s * waited + shared_row_s


_REPORTED = (
    ("fixed_s", "s"),
    ("row_s", "s"),
    ("shared_row_s", "s"),
    ("driver_trips", "1"),
    ("pair_trips", "1"),
    ("even_share", "1"),
)
#: They as sums of the parameters; the last one is relative to twice the time of a row.
_REPORTED_OF = _ONES[[0, 1, 3, 4, 5, 2]]
_REPORTED_OF[1, 2], _REPORTED_OF[5, 1] = 1, -1
_MOST = np.array([*[np.inf] * 5, 1.0])


@lru_cache(maxsize=256)  # Analyze and Plan use the same evidence
def fit_batch_time(evidence: BatchEvidence) -> FittedBatchTime | None:
    """Fit the law; None before any batch.

    Examples
    --------
    Two sizes of batches far from saturation determine the capacity: 3,600 more rows took 1.77 s more, so 0.4917 ms a
    row; 9,000 rows take 4.725 s, 1,905 rows/s.

    >>> sizes = [(2400, 1.48), (6000, 3.25)] * 50
    >>> from perfmodel import BatchSample, learned
    >>> batches = [BatchSample(rows, seconds, 1.0, 1.0, 0.0, 0.0) for rows, seconds in sizes]
    >>> fitted = fit_batch_time(learned(BatchEvidence(), batches))
    >>> fitted.middle(Points.of(1, 0, cap_rows=9000)).round(-1).tolist()
    [1900.0]
    """
    if not evidence.sums:
        return None
    sums = table(evidence.sums)
    weight, even_weight, driver_ms, pair_ms = sums[:, :4].T
    newest_s = sums[:, 5].max()
    # The newest placement counts in full.
    share = np.minimum(1.0, EARLIER_BATCHES / sums[:, 4]) * 0.5 ** ((newest_s - sums[:, 5]) / HALF_LIFE_S)
    share[-1] = 1.0
    share *= min(1.0, NOISE_PRIOR / evidence.noise)
    one, rows, squared_rows, seconds, both = share * sums[:, 6:].T
    unit = _PRIOR_SPREAD * [1.0, evidence.row_s, evidence.row_s, evidence.row_s, 1.0, 1.0]
    fixed, per_row = np.zeros((2, len(sums), TERMS))  # the terms without rows, and those of a row
    fixed[:, 0], fixed[:, 4], fixed[:, 5] = 1.0, driver_ms / 1000, pair_ms / 1000
    per_row[:, 1], per_row[:, 2], per_row[:, 3] = 1 / weight, _waited(weight, even_weight, evidence.even_split), 1.0
    fixed, per_row = fixed * unit, per_row * unit
    cross = fixed[:, :, None] * per_row[:, None, :]
    grams = (
        (one[:, None] * fixed)[:, :, None] * fixed[:, None, :]
        + rows[:, None, None] * (cross + cross.transpose(0, 2, 1))
        + (squared_rows[:, None] * per_row)[:, :, None] * per_row[:, None, :]
    )
    moments = seconds[:, None] * fixed + both[:, None] * per_row
    precision = _ONES + grams.sum(axis=0)
    precision += _LEAST_STIFFNESS * np.trace(precision) * _ONES
    theta = unit * _non_negative(precision, _PRIOR / _PRIOR_SPREAD + moments.sum(axis=0))
    theta[2] = max(theta[2], _MIN_SHARE * evidence.row_s - theta[1])
    return FittedBatchTime(
        theta=tuple(theta.tolist()), evidence=evidence, unit=unit, precision=precision, grams=grams, moments=moments
    )


def _limit_s(points: Points, overhead_s: Vector) -> Vector:
    """Return the longest batch of a query without a cap: its trigger interval, unless the overhead is long."""
    return np.maximum(np.maximum(points.trigger_s, 2 * overhead_s), SMALLEST)


def points_of(sums: Vector) -> Points:
    """Return the conditions of the sums of placements."""
    weight, even_weight, driver_ms, pair_ms = sums[:, :4].T
    return Points(weight=weight, even_weight=even_weight, driver_ms=driver_ms, pair_ms=pair_ms, cap_rows=weight)


def _waited(weight: Vector, even_weight: Vector, even_split: float) -> Vector:
    """Return the time for which a batch waits for its slowest replica, for each row and second of a row."""
    waited: Vector = even_split / even_weight + (1 - even_split) / weight
    return waited


def _terms(points: Points, rows: Vector, even_split: float) -> Vector:
    """Return the terms of the law, of shape ``(..., 6)``."""
    each = rows / points.weight, rows * _waited(points.weight, points.even_weight, even_split), rows
    return np.stack([np.ones_like(rows), *each, points.driver_ms / 1000, points.pair_ms / 1000], axis=-1)


def _non_negative(precision: NDArray[np.float64], moments: Vector) -> Vector:
    """Solve the normal equations of a least-squares problem under non-negative parameters."""
    found = np.asarray(np.linalg.solve(precision, moments), dtype=np.float64)
    if (found >= 0).all():
        return found
    from scipy.optimize import nnls

    root = np.linalg.cholesky(precision)
    return np.asarray(nnls(root.T, np.linalg.solve(root, moments))[0], dtype=np.float64)
