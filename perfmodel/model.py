"""Interfaces of the laws: `Estimator.fit` turns readings into a `Model`, which predicts an `Estimate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gesscale.common.errors import Problem
from perfmodel.curves import Points, Vector
from perfmodel.evidence import Conditions, ModelError, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A predicted MST.

    Raises
    ------
    ModelError
        If the three are not in ascending order, or one is negative.
    """

    #: Rows/s, 0 <= low <= mid <= high. The true MST lies between low and high with about 90 % confidence (low, mid,
    #: high).
    low: float
    mid: float
    high: float
    #: Remarks, such as extrapolated or clipped at zero; empty if there are none.
    reason: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.mid <= self.high:
            raise ModelError("estimate-unordered", low=self.low, mid=self.mid, high=self.high)


class Estimates(NamedTuple):
    """Predicted MSTs of m points: low, mid and high in rows/s, each of shape ``(m,)``."""

    low: Vector
    mid: Vector
    high: Vector

    def at(self, index: int) -> Estimate:
        """Return the estimate of one point, without its reason."""
        return Estimate(low=float(self.low[index]), mid=float(self.mid[index]), high=float(self.high[index]))


class Model(Protocol):
    """A fitted, immutable performance model."""

    @property
    def law(self) -> str:
        """The fitted law, such as ``gesscale`` or ``microbatch``."""

    @property
    def parameters(self) -> Mapping[str, float]:
        """Every parameter of the law, fitted or default, by name."""

    @property
    def fitted(self) -> frozenset[str]:
        """The parameters that the evidence identifies; the others have their default values."""

    @property
    def readings_used(self) -> int:
        """Number of readings of the fit."""

    @property
    def calibrated(self) -> bool:
        """True if the fit used at least three distinct readings."""

    @property
    def drift(self) -> bool:
        """True if newer readings contradicted older ones, which were dropped."""

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Limits of the fit that a user should know."""

    def predict(self, conditions: Conditions) -> Estimate:
        """Predict the MST under these conditions, rows/s."""

    def predict_all(self, points: Points) -> Estimates:
        """Predict the MST of many points at once, rows/s."""


class Estimator(Protocol):
    """A law that can be fitted."""

    @property
    def name(self) -> str:
        """Name in settings and on the command line."""

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> Model:
        """Fit to the readings with the weights that they have at ``now_s``; raises `ModelError` if none is usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitErrors:
    """Deviations of predictions from readings, in per cent of the observed rows/s."""

    #: Mean and largest absolute error (mean_pct, max_pct).
    mean_pct: float
    max_pct: float
    #: Number of readings compared.
    count: int


def fit_errors(model: Model, readings: Sequence[Reading]) -> FitErrors:
    """Compare a model with readings, those it was fitted on or others.

    Parameters
    ----------
    model
        The fitted model.
    readings
        Observations. Readings that the law cannot predict are skipped: unsaturated ones under Eq. 1, those without
        batch rows under the micro-batch law.

    Raises
    ------
    ModelError
        If no reading can be compared.
    """
    if model.law == "microbatch":
        comparable = [reading for reading in readings if reading.batch_rows is not None]
    else:
        comparable = [reading for reading in readings if reading.saturated]
    if not comparable:
        raise ModelError("readings-not-comparable", law=model.law, count=len(readings))
    errors = [100 * abs(model.predict(_conditions(reading)).mid / reading.rows_per_s - 1) for reading in comparable]
    return FitErrors(mean_pct=sum(errors) / len(errors), max_pct=max(errors), count=len(errors))


def _conditions(reading: Reading) -> Conditions:
    return Conditions(
        replicas=reading.replicas,
        nd_max_ms=reading.nd_max_ms,
        weight=reading.weight,
        batch_rows=reading.batch_rows,
        tasks=reading.tasks,
    )
