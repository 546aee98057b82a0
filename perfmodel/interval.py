"""How sure a prediction is: noise, what the fit leaves open, and how far it reaches beyond the evidence."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfmodel.calibration import Calibration
from perfmodel.curves import Curve, Points, Vector
from perfmodel.hull import beyond
from perfmodel.student import upper_quantile

TAIL = 0.05
"""Probability below the low and above the high end: a 90 % interval."""
ND_STEP_MS = 100.0
"""One step along NDmax counts as much as one step of e = 2.7 times the capacity."""
REACH_FITTED = 0.2
"""Widening per step beyond the evidence along a fitted parameter, as a logarithm.

Three lowest readings over-promise by up to 42 % at 25 replicas, 2.1 steps further: ln 1.42 / 2.1 = 0.17.
"""
REACH_DEFAULT_SHAPE = 0.5
"""The same where the shape is a default: beta = 1 promises n times, sqrt(n) times is taken as the least."""
REACH_DEFAULT_DELAY = 0.75
"""The same where the delay is a default: 100 ms took 51 % from a stateful query, -ln 0.49 = 0.72."""

WIDEST = 30.0
"""No end gives way by more than e^30: as good as nothing known, and finite."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far some conditions lie beyond the convex range of the evidence, in steps, with sign; of one or of many.

    Attributes
    ----------
    shape
        Along the logarithm of nodes (per row of batch); positive towards more nodes.
    delay
        Along NDmax in steps of `ND_STEP_MS`; positive towards more delay.
    """

    shape: Vector
    delay: Vector

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the evidence surrounds the conditions, to its own resolution."""
        inside: NDArray[np.bool_] = (np.abs(self.shape) <= 0.05) & (np.abs(self.delay) <= 0.05)
        return inside


def reach(evidence: tuple[tuple[float, float], ...], shape: Vector, nd_max_ms: Vector) -> Reach:
    """Measure how far conditions lie beyond the convex hull of the evidence.

    Parameters
    ----------
    evidence
        Shape coordinate and NDmax in ms of each distinct reading.
    shape, nd_max_ms
        The same of the conditions, shape ``(m,)``.

    Examples
    --------
    >>> reach(((0.0, 0.0), (1.0, 0.0)), shape=np.array([0.5]), nd_max_ms=np.array([150.0]))
    Reach(shape=array([0.]), delay=array([1.5]))
    """
    corners = tuple((x, nd / ND_STEP_MS) for x, nd in evidence)
    steps = beyond(corners, np.array([shape, nd_max_ms / ND_STEP_MS]).T).round(6) + 0.0
    return Reach(steps[:, 0], steps[:, 1])


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a fitted curve says of some points, however much its evidence counts for.

    Attributes
    ----------
    points
        Where, of length m.
    inside
        Whether the evidence surrounds each, shape ``(m,)``.
    middle
        The curve, in its scale of comparison, shape ``(m,)``.
    variance
        Of that, as a share squared and per unit of noise, shape ``(m,)``.
    low_factor, high_factor
        By what the ends give way, as these are far from the evidence, shape ``(m,)``.
    """

    points: Points
    inside: NDArray[np.bool_]
    middle: Vector
    variance: Vector
    low_factor: Vector
    high_factor: Vector


def outlook(
    curve: Curve,
    calibration: Calibration,
    evidence: tuple[tuple[float, float], ...],
    points: Points,
) -> Outlook:
    """Evaluate a fitted curve.

    Parameters
    ----------
    curve, calibration
        The formula and its fitted parameters.
    evidence
        As in `reach`.
    points
        Where.
    """
    theta = np.array(calibration.theta)
    gradient = curve.gradient(theta, points) / calibration.unit
    reached = reach(evidence, curve.shape_coordinate(points), points.nd_max_ms)
    widen_low, widen_high = _widening(calibration, reached)
    return Outlook(
        points=points,
        inside=reached.inside,
        middle=curve.evaluate(theta, points),
        variance=(gradient @ np.array(calibration.covariance) * gradient).sum(axis=1),
        low_factor=np.exp(-widen_low),
        high_factor=np.exp(widen_high),
    )


def bounds(curve: Curve, calibration: Calibration, seen: Outlook) -> tuple[Vector, Vector, Vector]:
    """Predict low, mid and high in rows/s, each of shape ``(m,)``; below zero where Eq. 1 is.

    Parameters
    ----------
    curve, calibration
        The formula and its fitted parameters.
    seen
        The points.
    """
    share = calibration.noise * np.sqrt(1 + seen.variance / calibration.counts)
    half_width = upper_quantile(calibration.freedom, TAIL) * share * calibration.unit
    ends = (seen.middle - half_width, seen.middle, seen.middle + half_width)
    one, mid, other = (curve.rows_per_s(end, seen.points) for end in ends)  # rising, or falling
    return np.minimum(one, other) * seen.low_factor, mid, np.maximum(one, other) * seen.high_factor


def _widening(calibration: Calibration, reached: Reach) -> tuple[Vector, Vector]:
    """Return by how much, as logarithms, the low and the high end give way.

    A fitted parameter may err either way. A default is the optimistic end of its range. So beyond the evidence the
    truth lies below on the side of more nodes or more delay, and above on the other.
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
