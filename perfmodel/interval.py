"""Prediction intervals: noise, uncertainty of the fit, and distance beyond the evidence."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from perfmodel.calibration import Calibration
from perfmodel.curves import Curve, Points, Vector

#: Indices of terms as floats, which Python multiplies faster than integers with floats.
_TERMS = tuple(map(float, range(1, 1000)))


@lru_cache(maxsize=256)
def upper_quantile(freedom: float, tail: float) -> float:
    """Return the upper quantile of Student's distribution.

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1; fractions are allowed.
    tail
        The probability above the quantile, between 0 and a half.

    Notes
    -----
    Newton's method on the distribution function, from the quantile of the normal distribution and its first
    correction (Abramowitz and Stegun 26.7.5).

    Examples
    --------
    >>> round(upper_quantile(2.0, 0.05), 6), round(upper_quantile(1000.0, 0.05), 6)
    (2.919986, 1.646379)
    """
    normal = -NormalDist().inv_cdf(tail)
    at = normal * (1 + (normal**2 + 1) / (4 * freedom))
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    for _ in range(50):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(at**2 / freedom))
        step = (_tail_beyond(at, freedom) - tail) / density
        at += step
        if abs(step) <= 1e-13 * at:
            break
    return at


def _tail_beyond(at: float, freedom: float) -> float:
    """Return the probability above a positive value: half the incomplete beta function I_x(freedom / 2, 1 / 2)."""
    a, b, x = freedom / 2, 0.5, freedom / (freedom + at**2)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a / 2
    return (1 - front * _continued_fraction(b, a, 1 - x) / b) / 2


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz."""
    both = a + b
    upper, lower = 1.0, 1 / (1 - both * x / (a + 1))
    found = lower
    for m in _TERMS:
        end = a + 2.0 * m
        even = m * (b - m) * x / ((end - 1.0) * end)
        lower, upper = 1.0 / (1.0 + even * lower), 1.0 + even / upper
        found *= upper * lower
        odd = -(a + m) * (both + m) * x / (end * (end + 1.0))
        lower, upper = 1.0 / (1.0 + odd * lower), 1.0 + odd / upper
        factor = upper * lower
        found *= factor
        if factor == 1.0:  # further terms are below the resolution of a float
            break
    return found


Array = NDArray[np.float64]
_Corner = tuple[float, float]


def offsets_from_hull(corners: tuple[_Corner, ...], points: Array) -> Array:
    """Return the vector from the nearest point of a convex hull to each of the points.

    Parameters
    ----------
    corners
        Points that span the hull, at least one.
    points
        Shape ``(m, 2)``.

    Returns
    -------
    ndarray
        Shape ``(m, 2)``; zero for a point in the hull.

    Examples
    --------
    >>> offsets_from_hull(((0.0, 0.0), (2.0, 0.0)), np.array([[1.0, 1.5], [3.0, 0.0], [1.0, 0.0]])).tolist()
    [[0.0, 1.5], [1.0, 0.0], [0.0, 0.0]]
    """
    begins, ways, squares = _sides(corners)
    ways_x, ways_y = ways
    seen_x, seen_y = points.T[..., np.newaxis] - begins[:, np.newaxis]  # from each corner, shape (m, sides)
    along = np.minimum(np.maximum((seen_x * ways_x + seen_y * ways_y) / squares, 0.0), 1.0)
    off_x, off_y = seen_x - along * ways_x, seen_y - along * ways_y  # from the nearest point of each side
    nearest = np.argmin(off_x**2 + off_y**2, axis=1)
    rows = range(len(points))
    found = np.array([off_x[rows, nearest], off_y[rows, nearest]])
    if len(squares) > 2:
        left = ways_x * seen_y >= ways_y * seen_x  # the hull runs counterclockwise
        found[:, left.all(axis=1)] = 0.0
    return found.T


@lru_cache(maxsize=4096)
def _sides(corners: tuple[_Corner, ...]) -> tuple[Array, Array, Array]:
    """Return the start and the direction of each side of the hull, shape ``(2, sides)``, and its squared length."""
    begins = np.array(_hull(corners)).T
    ways = np.roll(begins, -1, axis=1) - begins
    squares = (ways**2).sum(axis=0)
    return begins, ways, np.where(squares > 0, squares, 1.0)


def _hull(corners: tuple[_Corner, ...]) -> list[_Corner]:
    """Return the outermost points counterclockwise (monotone chain)."""
    ordered = sorted(set(corners))
    if len(ordered) < 3:
        return ordered
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return lower[:-1] + upper[:-1]


def _chain(ordered: list[_Corner]) -> list[_Corner]:
    chain: list[_Corner] = []
    for x, y in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], (x, y)) <= 0:
            chain.pop()
        chain.append((x, y))
    return chain


def _turn(a: _Corner, b: _Corner, c: _Corner) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


#: Probability below the low and above the high end: a 90 % interval.
TAIL = 0.05
#: One step along NDmax weighs as much as a factor e = 2.7 in capacity.
ND_STEP_MS = 100.0
#: Widening per step beyond the evidence along a fitted parameter, as a logarithm. The three lowest readings
#: overestimate by up to 42 % at 25 replicas, 2.1 steps further: ln 1.42 / 2.1 = 0.17.
REACH_FITTED = 0.2
#: The same if the shape is a default: beta = 1 predicts a factor n; sqrt(n) is taken as the minimum.
REACH_DEFAULT_SHAPE = 0.5
#: The same if the delay is a default: 100 ms cost a stateful query 51 %, -ln 0.49 = 0.72.
REACH_DEFAULT_DELAY = 0.75

#: Maximum widening of an end, as a logarithm: practically unbounded, but finite.
WIDEST = 30.0


@dataclass(frozen=True, slots=True)
class Reach:
    """Signed distance of conditions beyond the convex hull of the evidence, in steps; for one or many conditions."""

    #: Along the logarithm of nodes (per row of batch); positive towards more nodes.
    shape: Vector
    #: Along NDmax in steps of `ND_STEP_MS`; positive towards more delay.
    delay: Vector

    @property
    def inside(self) -> NDArray[np.bool_]:
        """True where the conditions lie inside the hull, within its resolution."""
        inside: NDArray[np.bool_] = (np.abs(self.shape) <= 0.05) & (np.abs(self.delay) <= 0.05)
        return inside


def reach(evidence: tuple[tuple[float, float], ...], shape: Vector, nd_max_ms: Vector) -> Reach:
    """Return the distance of conditions beyond the convex hull of the evidence.

    Parameters
    ----------
    evidence
        Shape coordinate and NDmax in ms of each distinct reading.
    shape, nd_max_ms
        The same for the conditions, shape ``(m,)``.

    Examples
    --------
    >>> reach(((0.0, 0.0), (1.0, 0.0)), shape=np.array([0.5]), nd_max_ms=np.array([150.0]))
    Reach(shape=array([0.]), delay=array([1.5]))
    """
    corners = tuple((x, nd / ND_STEP_MS) for x, nd in evidence)
    steps = offsets_from_hull(corners, np.array([shape, nd_max_ms / ND_STEP_MS]).T).round(6) + 0.0
    return Reach(steps[:, 0], steps[:, 1])


@dataclass(frozen=True, slots=True)
class CurveEvaluation:
    """A fitted curve evaluated at m points, independent of the present weight of its evidence."""

    #: The points.
    points: Points
    #: True where a point lies inside the hull of the evidence, shape ``(m,)``.
    inside: NDArray[np.bool_]
    #: Value of the curve, in its scale of comparison, shape ``(m,)``.
    middle: Vector
    #: Variance of the middle, as a share squared and per unit of noise, shape ``(m,)``.
    variance: Vector
    #: Widening of the ends by the distance from the evidence, shape ``(m,)`` (low_factor, high_factor).
    low_factor: Vector
    high_factor: Vector


def evaluate_curve(
    curve: Curve, calibration: Calibration, evidence: tuple[tuple[float, float], ...], points: Points
) -> CurveEvaluation:
    """Evaluate a fitted curve.

    Parameters
    ----------
    curve, calibration
        The formula and its fitted parameters.
    evidence
        As in `reach`.
    points
        The points to evaluate it at.
    """
    theta = np.array(calibration.theta)
    gradient = curve.gradient(theta, points) / calibration.unit
    reached = reach(evidence, curve.shape_coordinate(points), points.nd_max_ms)
    widen_low, widen_high = _widening(calibration, reached)
    return CurveEvaluation(
        points=points,
        inside=reached.inside,
        middle=curve.evaluate(theta, points),
        variance=(gradient @ np.array(calibration.covariance) * gradient).sum(axis=1),
        low_factor=np.exp(-widen_low),
        high_factor=np.exp(widen_high),
    )


def bounds(curve: Curve, calibration: Calibration, seen: CurveEvaluation) -> tuple[Vector, Vector, Vector]:
    """Predict low, mid and high in rows/s, each of shape ``(m,)``; negative where Eq. 1 is.

    Parameters
    ----------
    curve, calibration
        The formula and its fitted parameters.
    seen
        The curve at the points.
    """
    share = calibration.noise * np.sqrt(1 + seen.variance / calibration.counts)
    half_width = upper_quantile(calibration.freedom, TAIL) * share * calibration.unit
    ends = (seen.middle - half_width, seen.middle, seen.middle + half_width)
    one, mid, other = (curve.rows_per_s(end, seen.points) for end in ends)  # increasing or decreasing
    return np.minimum(one, other) * seen.low_factor, mid, np.maximum(one, other) * seen.high_factor


def _widening(calibration: Calibration, reached: Reach) -> tuple[Vector, Vector]:
    """Return the widening of the low and the high end, as logarithms.

    A fitted parameter may err in both directions. A default is the optimistic end of its range. So beyond the evidence
    the true value is lower towards more nodes or more delay, and higher in the other direction.
    """
    _, shape_fitted, delay_fitted = calibration.identified
    low = high = np.zeros_like(reached.shape)
    for steps, fitted, default_reach in (
        (reached.shape, shape_fitted, REACH_DEFAULT_SHAPE),
        (reached.delay, delay_fitted, REACH_DEFAULT_DELAY),
    ):
        if fitted:
            low = low + REACH_FITTED * np.abs(steps)
            high = high + REACH_FITTED * np.abs(steps)
        else:
            low = low + default_reach * np.maximum(steps, 0.0)
            high = high + default_reach * np.maximum(-steps, 0.0)
    return np.minimum(low, WIDEST), np.minimum(high, WIDEST)
