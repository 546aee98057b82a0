"""A fitted model: predicts throughput, and finds readings that contradict it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gesscale.common.errors import Problem
from perfmodel.calibration import ND_RESOLUTION_MS, ND_RESOLUTION_SHARE, SHAPE_RESOLUTION, Calibration, calibrate
from perfmodel.curves import Curve, Points, Vector
from perfmodel.evidence import Conditions, ModelError, Reading
from perfmodel.interval import CurveEvaluation, bounds, evaluate_curve
from perfmodel.model import Estimate, Estimates

#: Distinct readings that a calibrated model needs (the third stage of the paper).
CALIBRATED_FROM = 3
#: A reading contradicts a model if it deviates by more than this share and lies outside the interval.
CONTRADICTION_SHARE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel:
    """A curve fitted to readings; see `perfmodel.model.Model` for the attributes without underscore."""

    law: str
    parameters: Mapping[str, float]
    fitted: frozenset[str]
    readings_used: int
    calibrated: bool
    drift: bool = False
    warnings: tuple[Problem, ...] = ()
    _curve: Curve = dataclasses.field(repr=False)
    _calibration: Calibration = dataclasses.field(repr=False)
    _evidence: tuple[tuple[float, float], ...] = dataclasses.field(repr=False)
    _usual_batch_rows: float | None = dataclasses.field(repr=False)
    # Consecutive steps predict the same few placements.
    _evaluations: dict[Conditions, CurveEvaluation] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def predict(self, conditions: Conditions) -> Estimate:
        """Predict the MST under these conditions, with an interval that widens away from the evidence.

        Parameters
        ----------
        conditions
            Replicas, NDmax, and for the micro-batch law the rows of a full batch. If these are missing, the largest
            batch of the evidence is used, and the reason mentions it.
        """
        remarks = []
        if conditions.batch_rows is None and self._usual_batch_rows is not None:
            conditions = dataclasses.replace(conditions, batch_rows=self._usual_batch_rows)
            if self.law == "microbatch":
                remarks.append(Problem("estimate-batch-assumed", {"batch_rows": self._usual_batch_rows}))
        seen = self._evaluations.get(conditions)
        if seen is None:
            seen = self._evaluations[conditions] = self._evaluate(Points.of([conditions]))
        low, mid, high = (float(end[0]) for end in bounds(self._curve, self._calibration, seen))
        if not seen.inside[0]:
            remarks.append(Problem("estimate-extrapolated"))
        if mid < 0:
            remarks.append(Problem("estimate-clipped", {"rows_per_s": mid}))
        low, mid, high = (max(0.0, end) for end in (low, mid, high))
        return Estimate(low=low, mid=mid, high=high, reason="; ".join(map(str, remarks)))

    def predict_all(self, points: Points) -> Estimates:
        """Predict the MST of many points at once, each as `predict` does."""
        if self._usual_batch_rows is not None:
            known = np.where(np.isnan(points.batch_rows), self._usual_batch_rows, points.batch_rows)
            points = dataclasses.replace(points, batch_rows=known)
        ends = bounds(self._curve, self._calibration, self._evaluate(points))
        return Estimates(*(np.maximum(end, 0.0) for end in ends))

    def aged(self, share: float) -> "FittedModel":
        """Return the model with the weight of all readings scaled by a share: the same middle, a wider interval."""
        return dataclasses.replace(self, _calibration=self._calibration.aged(share)) if share < 1 else self

    def contradictions(self, readings: Sequence[Reading]) -> Vector:
        """Find the readings that contradict this model.

        Returns
        -------
        ndarray
            One value per reading: 1 if it lies above the interval and far from the middle, -1 if below, 0 if it
            agrees, and NaN if it lies far off outside the range of the evidence, where the law itself may be wrong.
        """
        far = np.abs(self.deviations(readings)) > CONTRADICTION_SHARE
        return np.array(
            [self._contradiction(reading) if doubtful else 0.0 for reading, doubtful in zip(readings, far, strict=True)]
        )

    def _contradiction(self, reading: Reading) -> float:
        seen = self._evaluate(Points.of([reading]))
        if not seen.inside[0]:
            return math.nan
        low, mid, high = (float(end[0]) for end in bounds(self._curve, self._calibration, seen))
        agrees = low <= reading.rows_per_s <= high
        return 0.0 if agrees else math.copysign(1.0, reading.rows_per_s - mid)

    def _evaluate(self, points: Points) -> CurveEvaluation:
        return evaluate_curve(self._curve, self._calibration, self._evidence, points)

    def deviations(self, readings: Sequence[Reading]) -> Vector:
        """Return the relative deviation of each reading from the model; positive if the reading is above."""
        points = Points.of(readings)
        observed = np.array([reading.rows_per_s for reading in readings])
        theta = np.array(self._calibration.theta)
        predicted = self._curve.rows_per_s(self._curve.evaluate(theta, points), points)
        deviations: Vector = 1 - predicted / observed
        return deviations


def fit_curve(curve: Curve, readings: Sequence[Reading], weights: Vector) -> FittedModel:
    """Fit a curve to readings of one regime.

    Parameters
    ----------
    curve
        The formula.
    readings
        At least one, all usable by the curve.
    weights
        Weight of each reading in (0, 1], shape (len(readings),).

    Raises
    ------
    ModelError
        If there is no reading.
    """
    if not readings:
        raise ModelError("readings-missing", law=curve.law)
    points = Points.of(readings)
    calibration = calibrate(curve, points, np.array([reading.rows_per_s for reading in readings]), weights)
    distinct = _distinct(curve.shape_coordinate(points), points.nd_max_ms)
    sizes = [reading.batch_rows for reading in readings if reading.batch_rows is not None]
    names = curve.parameters
    parameters = dict(zip(names, calibration.theta, strict=True))
    fitted = frozenset(name for name, known in zip(names, calibration.identified, strict=True) if known)
    return FittedModel(
        law=curve.law,
        parameters=parameters,
        fitted=fitted,
        readings_used=len(readings),
        calibrated=len(distinct) >= CALIBRATED_FROM,
        warnings=tuple(_warnings(parameters, fitted, len(distinct))),
        _curve=curve,
        _calibration=calibration,
        _evidence=distinct,
        _usual_batch_rows=max(sizes, default=None),
    )


def _distinct(shape: Vector, nd_max_ms: Vector) -> tuple[tuple[float, float], ...]:
    """Return one point for each set of readings whose conditions are within the resolution of each other."""
    nd_step = max(ND_RESOLUTION_MS, ND_RESOLUTION_SHARE * float(nd_max_ms.max()))
    kept: list[tuple[float, float]] = []
    for x, nd in sorted(set(zip(shape.tolist(), nd_max_ms.tolist(), strict=True))):
        if all(abs(x - other) > SHAPE_RESOLUTION or abs(nd - nd_other) > nd_step for other, nd_other in kept):
            kept.append((x, nd))
    return tuple(kept)


def _warnings(parameters: Mapping[str, float], fitted: frozenset[str], distinct: int) -> list[Problem]:
    warnings = []
    defaults = [f"{name} = {value:g}" for name, value in parameters.items() if name not in fitted]
    if defaults:
        warnings.append(Problem("model-parameters-default", {"parameters": defaults}))
    if distinct < CALIBRATED_FROM:
        warnings.append(Problem("model-not-calibrated", {"distinct": distinct, "needed": CALIBRATED_FROM}))
    if parameters.get("beta", 0.0) > 1:
        warnings.append(Problem("model-beta-above-one", {"beta": parameters["beta"]}))
    return warnings
