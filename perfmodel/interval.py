"""How sure a prediction is: noise, what the fit leaves open, and how far it reaches beyond the evidence."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from perfmodel.calibration import Calibration
from perfmodel.curves import Curve, Points
from perfmodel.evidence import Conditions

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
    """How far some conditions lie beyond the convex range of the evidence, in steps, with sign.

    Attributes
    ----------
    shape
        Along the logarithm of nodes (per row of batch); positive towards more nodes.
    delay
        Along NDmax in steps of `ND_STEP_MS`; positive towards more delay.
    """

    shape: float
    delay: float

    @property
    def inside(self) -> bool:
        """Whether the evidence surrounds the conditions, to its own resolution."""
        return abs(self.shape) <= 0.05 and abs(self.delay) <= 0.05


def reach(evidence: tuple[tuple[float, float], ...], shape: float, nd_max_ms: float) -> Reach:
    """Measure how far conditions lie beyond the convex hull of the evidence.

    The nearest point of the hull is a mixture of the evidence with non-negative shares that sum to one: a
    small non-negative least-squares problem, in which the sum is given a large weight.

    Parameters
    ----------
    evidence
        Shape coordinate and NDmax in ms of each distinct reading.
    shape, nd_max_ms
        The same of the conditions.

    Examples
    --------
    >>> reach(((0.0, 0.0), (1.0, 0.0)), shape=0.5, nd_max_ms=150.0)
    Reach(shape=0.0, delay=1.5)
    """
    steps = np.array([(x, nd / ND_STEP_MS) for x, nd in evidence])
    target = np.array([shape, nd_max_ms / ND_STEP_MS])
    strict = 1e4
    shares, _ = scipy.optimize.nnls(
        np.vstack([(steps - target).T, np.full(len(steps), strict)]), np.array([0.0, 0.0, strict])
    )
    beyond = target - shares @ steps / shares.sum()
    return Reach(*(round(float(step), 6) + 0.0 for step in beyond))


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a fitted curve says of one point, however much its evidence counts for.

    Attributes
    ----------
    point
        Where, of length 1.
    beyond
        How far that is from the evidence.
    middle
        The curve, in its scale of comparison.
    variance
        Of that, as a share squared and per unit of noise.
    """

    point: Points
    beyond: Reach
    middle: float
    variance: float


def outlook(
    curve: Curve,
    calibration: Calibration,
    evidence: tuple[tuple[float, float], ...],
    item: Conditions,
) -> Outlook:
    """Evaluate a fitted curve at one point.

    Parameters
    ----------
    curve, calibration
        The formula and its fitted parameters.
    evidence
        As in `reach`.
    item
        The point.
    """
    point = Points.of([item])
    theta = np.array(calibration.theta)
    gradient = curve.gradient(theta, point)[0] / calibration.unit
    return Outlook(
        point=point,
        beyond=reach(evidence, float(curve.shape_coordinate(point)[0]), item.nd_max_ms),
        middle=float(curve.evaluate(theta, point)[0]),
        variance=float(gradient @ np.array(calibration.covariance) @ gradient),
    )


def bounds(curve: Curve, calibration: Calibration, seen: Outlook) -> tuple[float, float, float]:
    """Predict low, mid and high at one point in rows/s; below zero where Eq. 1 is.

    Parameters
    ----------
    curve, calibration
        The formula and its fitted parameters.
    seen
        The point.
    """
    share = calibration.noise * math.sqrt(1 + seen.variance / calibration.counts)
    half_width = _quantile(calibration.freedom) * share * calibration.unit
    ends = np.array([seen.middle - half_width, seen.middle, seen.middle + half_width])
    low, mid, high = sorted(curve.rows_per_s(ends, seen.point).tolist())
    widen_low, widen_high = _widening(calibration, seen.beyond)
    return low * math.exp(-widen_low), mid, high * math.exp(widen_high)


@lru_cache(maxsize=256)
def _quantile(freedom: float) -> float:
    """Return how many standard deviations of Student's distribution leave `TAIL` beyond them."""
    return -float(scipy.special.stdtrit(freedom, TAIL))


def _widening(calibration: Calibration, beyond: Reach) -> tuple[float, float]:
    """Return by how much, as logarithms, the low and the high end give way.

    A fitted parameter may err either way. A default is the optimistic end of its range. So beyond the evidence the
    truth lies below on the side of more nodes or more delay, and above on the other.
    """
    _, shape_fitted, delay_fitted = calibration.identified
    low = high = 0.0
    for steps, fitted, default_reach in (
        (beyond.shape, shape_fitted, REACH_DEFAULT_SHAPE),
        (beyond.delay, delay_fitted, REACH_DEFAULT_DELAY),
    ):
        if fitted:
            low += REACH_FITTED * abs(steps)
            high += REACH_FITTED * abs(steps)
        else:
            low += default_reach * max(steps, 0.0)
            high += default_reach * max(-steps, 0.0)
    return min(low, WIDEST), min(high, WIDEST)
