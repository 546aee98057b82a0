"""Fitting a curve: which parameters the evidence identifies, and bounded robust least squares for these.

Staging is by identifiability, not by count. The scale is identified by any reading, the delay parameter when NDmax
differs among the readings, the shape parameter when its coordinate differs by more than differences of NDmax explain.
With two readings this is the paper's staging (scale and delay first) wherever NDmax differs. Where it does not, gamma
would be a guess, and two sizes identify scale and shape instead.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from perfmodel.curves import Curve, Matrix, Points, Triple, Vector
from perfmodel.evidence import ModelError
from perfmodel.least_squares import Loss, minimise

#: Differences of NDmax up to this, or `ND_RESOLUTION_SHARE` of it, do not tell the price of delay. A Spark
#: map pays some 4.4 round trips a batch: 10 ms are 2 % of a batch of 2 s, which is how far readings scatter.
#: Fitted to less, gamma took up the scatter: 22 rows/s per ms were seen from 0 to 9 ms where 50 ms more said
#: 2.
ND_RESOLUTION_MS = 10.0
ND_RESOLUTION_SHARE = 0.05
#: Shape coordinates (logarithms) this close are the same: 5 % of the capacity or of the batch rows.
SHAPE_RESOLUTION = 0.05

#: Spread of a reading, as a share, that is believed before the residuals say otherwise (measured: 1-5 %).
NOISE_PRIOR = 0.05
#: How many readings that belief is worth.
NOISE_PRIOR_READINGS = 2.0
#: Residuals beyond so many robust standard deviations count less and less.
OUTLIER_SIGMAS = 4.0
_PASSES: tuple[Loss, ...] = ("soft_l1", "cauchy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A curve's parameters and how well they are known."""

    #: Scale, shape, delay.
    theta: Triple
    #: Which of them were fitted; the others are the curve's defaults.
    identified: tuple[bool, bool, bool]
    #: 3 x 3, of the parameters per unit of noise; zero for defaults.
    covariance: tuple[Triple, Triple, Triple]
    #: Standard deviation of a reading, as a share.
    noise: float
    #: Degrees of freedom of that figure.
    freedom: float
    #: What a share is a share of, in the curve's scale of comparison.
    unit: float
    #: What all readings together counted for when they were fitted.
    weight: float
    #: Share of that which they count for now.
    counts: float = 1.0

    def aged(self, share: float) -> "Calibration":
        """Return the same parameters, less well known: every reading counts for this share of what it did."""
        squares = self.freedom * self.noise**2 - NOISE_PRIOR_READINGS * NOISE_PRIOR**2
        noise, freedom = _blended(share * squares, share * self.weight - sum(self.identified))
        return replace(self, noise=noise, freedom=freedom, counts=share)


def identified(shape: Vector, nd_max_ms: Vector) -> tuple[bool, bool, bool]:
    """Say which of scale, shape and delay a set of readings identifies.

    Parameters
    ----------
    shape
        Shape coordinate of each reading, shape (m,).
    nd_max_ms
        NDmax of each reading, shape (m,).

    Examples
    --------
    One replica and two replicas at one delay identify the shape; a second delay identifies the delay's price:

    >>> identified(np.log([1.0, 2.0]), np.array([0.0, 0.0]))
    (True, True, False)
    >>> identified(np.log([1.0, 2.0]), np.array([0.0, 150.0]))
    (True, False, True)
    >>> identified(np.log([1.0, 2.0, 2.0]), np.array([0.0, 0.0, 150.0]))
    (True, True, True)
    """
    delay_differs = np.ptp(nd_max_ms) > max(ND_RESOLUTION_MS, ND_RESOLUTION_SHARE * nd_max_ms.max())
    ones = np.ones_like(shape)
    explained = np.column_stack([ones, nd_max_ms / 100]) if delay_differs else ones[:, np.newaxis]
    left_over = shape - explained @ np.linalg.lstsq(explained, shape)[0]
    return True, bool(np.ptp(left_over) > SHAPE_RESOLUTION), bool(delay_differs)


def calibrate(curve: Curve, points: Points, rows_per_s: Vector, weights: Vector) -> Calibration:
    """Fit the identified parameters of a curve by bounded robust least squares.

    A first pass with the soft L1 loss, at the noise expected of a good reading, finds how far the readings
    really scatter about the law; a second with the Cauchy loss at that scale all but ignores what lies far
    outside.

    Parameters
    ----------
    curve
        The formula.
    points, rows_per_s
        Conditions and observed throughput of m >= 1 readings.
    weights
        What each reading counts for by its age, in (0, 1].

    Raises
    ------
    ModelError
        When the solver breaks down over readings that differ by many orders of magnitude.
    """
    observed = curve.compared(rows_per_s, points)
    unit = curve.unit(observed)
    known = identified(curve.shape_coordinate(points), points.nd_max_ms)
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
        except ValueError as fault:  # the solver lost its way among values of wildly different sizes
            raise ModelError(
                f"law {curve.law}: the fit of {observed.size} readings broke down ({fault}); check them"
            ) from fault
        left = residuals(chosen)
        scale = max(NOISE_PRIOR, OUTLIER_SIGMAS * _robust_deviation(left, chosen.size))
    weight = float(weights.sum())
    squares = float(np.sum(left**2 / (1 + (left / scale) ** 2)))  # each counted as the Cauchy loss counts it
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
    """Estimate the standard deviation from the median of the residuals that a fit did not force to zero."""
    telling = np.sort(np.abs(residuals))[parameters:]
    return 1.4826 * float(np.median(telling)) if telling.size else 0.0


def _blended(squares: float, freedom: float) -> tuple[float, float]:
    """Blend the believed noise with that of the residuals; return it with the degrees of freedom of both."""
    total = NOISE_PRIOR_READINGS + max(freedom, 0.0)
    return math.sqrt((NOISE_PRIOR_READINGS * NOISE_PRIOR**2 + max(squares, 0.0)) / total), total


def _triple(values: Vector) -> Triple:
    scale, shape, delay = values.tolist()
    return scale, shape, delay
