"""Formulas of the two laws behind one interface, so that fitting, intervals and drift detection are implemented once.

A curve has three parameters, always in this order. *Scale* is identified by any reading. *Shape* describes the effect
of another share of work per node; its coordinate grows with n. *Delay* is the price of NDmax. Readings and predictions
are *compared* in rows/s under Eq. 1, and in the logarithm of the batch time under the micro-batch law.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from perfmodel.evidence import Conditions, ModelError, Reading

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """Points at which curves are evaluated: three vectors of one length m."""

    #: n, or the sum of the capacity weights.
    capacity: Vector
    #: Round trip.
    nd_max_ms: Vector
    #: B; NaN if unknown.
    batch_rows: Vector

    @classmethod
    def of(cls, items: Sequence[Conditions]) -> "Points":
        """Collect the points of readings or conditions, in their order."""
        return cls(
            capacity=np.array([item.capacity for item in items], dtype=float),
            nd_max_ms=np.array([item.nd_max_ms for item in items], dtype=float),
            batch_rows=np.array([item.batch_rows or np.nan for item in items], dtype=float),
        )


class Curve(ABC):
    """A formula with three parameters: scale, shape, delay."""

    law: ClassVar[str]
    parameters: ClassVar[tuple[str, str, str]]
    defaults: ClassVar[Triple]
    lower: ClassVar[Triple]
    upper: ClassVar[Triple]

    @abstractmethod
    def usable(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the readings that this law can learn from; raises `ModelError` if there are none."""

    @abstractmethod
    def shape_coordinate(self, points: Points) -> Vector:
        """Return the coordinate of the shape parameter, a logarithm that grows with n."""

    @abstractmethod
    def compared(self, rows_per_s: Vector, points: Points) -> Vector:
        """Convert rows/s into the scale of the residuals."""

    @abstractmethod
    def rows_per_s(self, compared: Vector, points: Points) -> Vector:
        """Convert the scale of the residuals back into rows/s; negative where the formula is."""

    @abstractmethod
    def unit(self, compared: Vector) -> float:
        """Return the divisor that turns a residual into a share."""

    @abstractmethod
    def start(self, rows_per_s: Vector, points: Points) -> Vector:
        """Return the initial parameters of a fit."""

    @abstractmethod
    def evaluate(self, theta: Vector, points: Points) -> Vector:
        """Evaluate the formula, shape (m,)."""

    @abstractmethod
    def gradient(self, theta: Vector, points: Points) -> Matrix:
        """Differentiate the formula by its parameters, shape (m, 3)."""


class SustainableRate(Curve):
    """Eq. 1 of the paper: MST = alpha n^beta - gamma NDmax.

    alpha in rows/s, gamma in rows/s per ms. beta is bound at 1.2. Without further evidence beta = 1 and
    gamma = 0 (Eq. 2).
    """

    law = "gesscale"
    parameters = ("alpha", "beta", "gamma")
    defaults = (np.nan, 1.0, 0.0)
    lower = (1e-12, 1e-3, 0.0)
    upper = (np.inf, 1.2, np.inf)

    def usable(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the saturated readings."""
        saturated = [reading for reading in readings if reading.saturated]
        if not saturated:
            raise ModelError("readings-unsaturated", law=self.law, count=len(readings))
        return saturated

    def shape_coordinate(self, points: Points) -> Vector:
        """Return ln n."""
        return np.log(points.capacity)

    def compared(self, rows_per_s: Vector, points: Points) -> Vector:  # noqa: ARG002 - the micro-batch law needs points
        """Return rows/s as they are."""
        return rows_per_s

    def rows_per_s(self, compared: Vector, points: Points) -> Vector:  # noqa: ARG002 - as above
        """Return rows/s as they are."""
        return compared

    def unit(self, compared: Vector) -> float:
        """Return the median MST: one divisor for all keeps the unweighted least squares of the paper."""
        return float(np.median(compared))

    def start(self, rows_per_s: Vector, points: Points) -> Vector:
        """Start near linear scaling with a small price of delay."""
        alpha = float(np.median(rows_per_s / points.capacity))
        return np.array([alpha, 0.9, 1e-3 * alpha])

    def evaluate(self, theta: Vector, points: Points) -> Vector:
        """Return the MST in rows/s."""
        alpha, beta, gamma = theta
        result: Vector = alpha * points.capacity**beta - gamma * points.nd_max_ms
        return result

    def gradient(self, theta: Vector, points: Points) -> Matrix:
        """Return d MST / d (alpha, beta, gamma)."""
        alpha, beta, _ = theta
        power = points.capacity**beta
        return np.array([power, alpha * power * np.log(points.capacity), -points.nd_max_ms]).T


class BatchTime(Curve):
    """The micro-batch law: T = T0 + s B / n + k NDmax, MST = B / T.

    s in ms per row, T0 in seconds, k in round trips per batch. Without further evidence T0 = 0 and k = 0.
    Source: docs/explanation/models.md, measured on Spark.
    """

    law = "microbatch"
    parameters = ("s_ms_per_row", "t0_s", "k_round_trips")
    defaults = (np.nan, 0.0, 0.0)
    lower = (1e-12, 0.0, 0.0)
    upper = (np.inf, np.inf, np.inf)

    def usable(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the readings with batch rows, saturated or not."""
        sized = [reading for reading in readings if reading.batch_rows is not None]
        if not sized:
            raise ModelError("readings-without-sizes", law=self.law, count=len(readings))
        return sized

    def shape_coordinate(self, points: Points) -> Vector:
        """Return ln (n / B)."""
        return np.log(points.capacity / points.batch_rows)

    def compared(self, rows_per_s: Vector, points: Points) -> Vector:
        """Return ln T."""
        return np.log(points.batch_rows / rows_per_s)

    def rows_per_s(self, compared: Vector, points: Points) -> Vector:
        """Return B / T, with T between e^-30 and e^30 s, so that an open interval is finite."""
        result: Vector = points.batch_rows * np.exp(-np.clip(compared, -30, 30))
        return result

    def unit(self, compared: Vector) -> float:  # noqa: ARG002 - Eq. 1 needs it
        """Return 1: a difference of logarithms is already a share."""
        return 1.0

    def start(self, rows_per_s: Vector, points: Points) -> Vector:
        """Start with a tenth of the batch time as overhead, and one round trip."""
        seconds = points.batch_rows / rows_per_s
        s_ms = 900 * float(np.median(seconds * points.capacity / points.batch_rows))
        return np.array([s_ms, 0.1 * float(np.median(seconds)), 1.0])

    def evaluate(self, theta: Vector, points: Points) -> Vector:
        """Return ln T, T in seconds."""
        return np.log(self._columns(points) @ theta)

    def gradient(self, theta: Vector, points: Points) -> Matrix:
        """Return d ln T / d (s, T0, k)."""
        columns = self._columns(points)
        result: Matrix = columns / (columns @ theta)[:, np.newaxis]
        return result

    @staticmethod
    def _columns(points: Points) -> Matrix:
        rows_per_node = points.batch_rows / points.capacity
        return np.array([rows_per_node / 1000, np.ones_like(rows_per_node), points.nd_max_ms / 1000]).T
