"""Fits a curve: finds the parameters that the evidence identifies, and fits these by bounded robust least squares.

Staging follows identifiability, not the number of readings. Any reading identifies the scale. The delay parameter needs
readings with different NDmax, the shape parameter a coordinate that differs by more than NDmax explains. With two
readings of different NDmax this is the staging of the paper (scale and delay first). With equal NDmax, gamma would be a
guess, and two sizes identify scale and shape instead.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from perfmodel.curves import Curve, Matrix, Points, Triple, Vector
from perfmodel.evidence import ModelError
from perfmodel.least_squares import Loss, minimise

#: Differences of NDmax up to this, or `ND_RESOLUTION_SHARE` of it, do not identify the price of delay. A Spark map
#: costs about 4.4 round trips per batch: 10 ms are 2 % of a batch of 2 s, as much as readings scatter. With smaller
#: differences gamma fitted the scatter: 22 rows/s per ms between 0 and 9 ms, while 50 ms more gave 2.
ND_RESOLUTION_MS = 10.0
ND_RESOLUTION_SHARE = 0.05
#: Shape coordinates (logarithms) within this are equal: 5 % of the capacity or of the batch rows.
SHAPE_RESOLUTION = 0.05

#: Prior spread of a reading, as a share (measured: 1-5 %).
NOISE_PRIOR = 0.05
#: Weight of that prior, in readings.
NOISE_PRIOR_READINGS = 2.0
#: Residuals beyond this number of robust standard deviations are downweighted.
OUTLIER_SIGMAS = 4.0
_PASSES: tuple[Loss, ...] = ("soft_l1", "cauchy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Fitted parameters of a curve and their uncertainty."""

    #: Scale, shape, delay.
    theta: Triple
    #: True for the fitted ones; the others have the defaults of the curve.
    identified: tuple[bool, bool, bool]
    #: Covariance matrix (3 x 3) of the parameters per unit of noise; zero for defaults.
    covariance: tuple[Triple, Triple, Triple]
    #: Standard deviation of a reading, as a share.
    noise: float
    #: Degrees of freedom of `noise`.
    freedom: float
    #: Unit of the shares, in the curve's scale of comparison.
    unit: float
    #: Total weight of all readings at the fit.
    weight: float
    #: Share of that weight that is left now.
    counts: float = 1.0

    def aged(self, share: float) -> "Calibration":
        """Return the same parameters with more uncertainty: the weight of every reading is scaled by this share."""
        squares = self.freedom * self.noise**2 - NOISE_PRIOR_READINGS * NOISE_PRIOR**2
        noise, freedom = _blended(share * squares, share * self.weight - sum(self.identified))
        return replace(self, noise=noise, freedom=freedom, counts=share)


def identifiable_parameters(shape: Vector, nd_max_ms: Vector) -> tuple[bool, bool, bool]:
    """Return which of scale, shape and delay a set of readings identifies.

    Parameters
    ----------
    shape
        Shape coordinate of each reading, shape (m,).
    nd_max_ms
        NDmax of each reading, shape (m,).

    Examples
    --------
    One replica and two replicas at one delay identify the shape; a second delay identifies the delay's price:

    >>> identifiable_parameters(np.log([1.0, 2.0]), np.array([0.0, 0.0]))
    (True, True, False)
    >>> identifiable_parameters(np.log([1.0, 2.0]), np.array([0.0, 150.0]))
    (True, False, True)
    >>> identifiable_parameters(np.log([1.0, 2.0, 2.0]), np.array([0.0, 0.0, 150.0]))
    (True, True, True)
    """
    delay_differs = np.ptp(nd_max_ms) > max(ND_RESOLUTION_MS, ND_RESOLUTION_SHARE * nd_max_ms.max())
    ones = np.ones_like(shape)
    explained = np.column_stack([ones, nd_max_ms / 100]) if delay_differs else ones[:, np.newaxis]
    left_over = shape - explained @ np.linalg.lstsq(explained, shape)[0]
    return True, bool(np.ptp(left_over) > SHAPE_RESOLUTION), bool(delay_differs)


def calibrate(curve: Curve, points: Points, rows_per_s: Vector, weights: Vector) -> Calibration:
    """Fit the identified parameters of a curve by bounded robust least squares.

    A first pass with the soft L1 loss, at the noise of a good reading, estimates the actual scatter about the law.
    A second pass with the Cauchy loss at that scale nearly ignores outliers.

    Parameters
    ----------
    curve
        The formula.
    points, rows_per_s
        Conditions and observed throughput of m >= 1 readings.
    weights
        Weight of each reading by its age, in (0, 1].

    Raises
    ------
    ModelError
        If the solver diverges because readings differ by many orders of magnitude.
    """
    observed = curve.compared(rows_per_s, points)
    unit = curve.unit(observed)
    known = identifiable_parameters(curve.shape_coordinate(points), points.nd_max_ms)
    free = np.array(known)
    theta = np.where(free, curve.start(rows_per_s, points), curve.defaults)
    root_weights = np.sqrt(weights)

    def complete(chosen: Vector) -> Vector:
        whole = theta.copy()
        whole[free] = chosen
        return whole

    def residuals(chosen: Vector) -> Vector:
        result: Vector = root_weights * (curve.evaluate(complete(chosen), points) - observed) / unit
        return result

    def jacobian(chosen: Vector) -> Matrix:
        gradient = curve.gradient(complete(chosen), points)[:, free]
        result: Matrix = root_weights[:, np.newaxis] * gradient / unit
        return result

    chosen, scale = theta[free], NOISE_PRIOR
    limits = np.array(curve.lower)[free], np.array(curve.upper)[free]
    for loss in _PASSES:
        try:
            chosen = minimise(residuals, jacobian, chosen, limits, loss, scale)
        except ValueError as error:
            raise ModelError("model-fit-diverged", law=curve.law, count=observed.size, cause=str(error)) from error
        left = residuals(chosen)
        scale = max(NOISE_PRIOR, OUTLIER_SIGMAS * _robust_deviation(left, chosen.size))
    weight = float(weights.sum())
    squares = float(np.sum(left**2 / (1 + (left / scale) ** 2)))  # weighted as in the Cauchy loss
    noise, freedom = _blended(squares, weight - chosen.size)
    covariance = np.zeros((3, 3))
    design = jacobian(chosen)
    covariance[np.ix_(free, free)] = np.linalg.pinv(design.T @ design)
    return Calibration(
        theta=_triple(complete(chosen)),
        identified=known,
        covariance=(_triple(covariance[0]), _triple(covariance[1]), _triple(covariance[2])),
        noise=noise,
        freedom=freedom,
        unit=unit,
        weight=weight,
    )


def _robust_deviation(residuals: Vector, parameters: int) -> float:
    """Estimate the standard deviation from the median of the residuals that the fit did not force to zero."""
    informative = np.sort(np.abs(residuals))[parameters:]
    return 1.4826 * float(np.median(informative)) if informative.size else 0.0


def _blended(squares: float, freedom: float) -> tuple[float, float]:
    """Combine the prior noise with that of the residuals; return it with the degrees of freedom of both."""
    total = NOISE_PRIOR_READINGS + max(freedom, 0.0)
    return math.sqrt((NOISE_PRIOR_READINGS * NOISE_PRIOR**2 + max(squares, 0.0)) / total), total


def _triple(values: Vector) -> Triple:
    scale, shape, delay = values.tolist()
    return scale, shape, delay
