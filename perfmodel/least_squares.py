"""Bounded robust least squares for a few parameters: Levenberg-Marquardt with a loss that grows less than the square.

The losses and their curvature follow Triggs et al., Bundle Adjustment, 2000; the damping is Marquardt's, in the scale
of each parameter. For three parameters and some hundred readings a general solver is mostly overhead, and its package
needs more memory than a small machine has.
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from perfmodel.curves import Matrix, Vector

Loss = Literal["soft_l1", "cauchy"]

MAX_EVALUATIONS = 200
#: The search ends when no parameter, or the cost, changes by more than this share.
TOLERANCE = 1e-12
#: A small gain ends the search only after a step with little damping.
_TRUSTED_DAMPING = 1e-2
_MIN_DAMPING, _MAX_DAMPING = 1e-12, 1e12
#: Lower bound of the curvature: an outlier has a negative one, and gets next to no weight instead.
_MIN_CURVATURE = 1e-10


def minimise(
    residuals: Callable[[Vector], Vector],
    jacobian: Callable[[Vector], Matrix],
    start: Vector,
    limits: tuple[Vector, Vector],
    loss: Loss,
    scale: float,
) -> Vector:
    """Find the parameters of least total loss.

    Parameters
    ----------
    residuals, jacobian
        Functions of n parameters, shapes ``(m,)`` and ``(m, n)``.
    start
        Initial parameters, shape ``(n,)``.
    limits
        Lower and upper bounds of the parameters.
    loss
        For a residual r with z = (r / scale)^2: ``soft_l1`` is 2 (sqrt(1 + z) - 1), ``cauchy`` is ln(1 + z).
    scale
        Larger residuals count less than their squares.

    Raises
    ------
    ValueError
        If a residual at the start is not finite.

    Examples
    --------
    The mean of three numbers, the last of which is an outlier:

    >>> numbers = np.array([1.0, 1.2, 9.0])
    >>> limits = np.array([-np.inf]), np.array([np.inf])
    >>> found = minimise(lambda x: x - numbers, lambda x: np.ones((3, 1)), np.array([2.0]), limits, "cauchy", 0.1)
    >>> round(float(found[0]), 2)
    1.13
    """
    lower, upper = limits
    at = np.minimum(np.maximum(start, lower), upper)
    left = residuals(at)
    cost, slope, curvature = _losses(left, loss, scale)
    if not math.isfinite(cost):
        raise ValueError("residuals are not finite in the initial point")
    damping, evaluations = 1e-3, 1
    while evaluations < MAX_EVALUATIONS and damping < _MAX_DAMPING:
        design = jacobian(at)
        gradient = design.T @ (slope * left)
        hessian = (design.T * curvature) @ design
        free = ((at > lower) | (gradient < 0)) & ((at < upper) | (gradient > 0))
        if not free.any():
            break
        inner, downhill = hessian[np.ix_(free, free)], -gradient[free]
        squares = slope @ design[:, free] ** 2
        scales = np.where(squares > 0, squares, 1.0)
        better = False
        while not better and evaluations < MAX_EVALUATIONS and damping < _MAX_DAMPING:
            step = np.zeros_like(at)
            step[free] = _solved(inner, scales, damping, downhill)
            tried = np.minimum(np.maximum(at + step, lower), upper)
            left_then = residuals(tried)
            evaluations += 1
            cost_then, slope_then, curvature_then = _losses(left_then, loss, scale)
            better = bool(cost_then < cost)
            damping = max(damping / 10, _MIN_DAMPING) if better else damping * 10
            still = np.abs(tried - at) <= TOLERANCE * np.abs(tried)
            if still.all():
                return at
        if better:
            gain = cost - cost_then
            at, left, cost, slope, curvature = tried, left_then, cost_then, slope_then, curvature_then
            if gain <= TOLERANCE * cost and damping < _TRUSTED_DAMPING:
                break
    return at


def _solved(inner: Matrix, scales: Vector, damping: float, downhill: Vector) -> Vector:
    roots = np.sqrt(scales)
    unit = inner / (roots[:, np.newaxis] * roots)
    unit.flat[:: len(scales) + 1] += damping
    found: Vector = np.linalg.solve(unit, downhill / roots) / roots
    return found


def _losses(left: Vector, loss: Loss, scale: float) -> tuple[float, Vector, Vector]:
    """Return the total, and for each residual its weights in the gradient and in the Hessian matrix."""
    z = (left / scale) ** 2
    if loss == "soft_l1":
        root = np.sqrt(1 + z)
        return float(2 * scale**2 * (root - 1).sum()), 1 / root, 1 / root**3
    slope = 1 / (1 + z)
    return float(scale**2 * np.log1p(z).sum()), slope, np.maximum((1 - z) * slope**2, _MIN_CURVATURE)
