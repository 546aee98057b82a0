"""The interface of every law: `Estimator.fit` turns readings into a `Model`, which predicts an `Estimate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from perfmodel.curves import Points, Vector
from perfmodel.evidence import Conditions, ModelError, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A predicted MST.

    Raises
    ------
    ModelError
        When the three are not in order or below zero.
    """

    #: Rows/s, 0 <= low <= mid <= high. The true MST lies between low and high with about 90 % confidence (low, mid,
    #: high).
    low: float
    mid: float
    high: float
    #: What is special about it: clipped at zero, extrapolated; empty otherwise.
    reason: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.mid <= self.high:
            raise ModelError(f"estimate: expected 0 <= low <= mid <= high, got {self.low}, {self.mid}, {self.high}")


class Estimates(NamedTuple):
    """Predicted MSTs of m points: low, mid and high in rows/s, each of shape ``(m,)``."""

    low: Vector
    mid: Vector
    high: Vector

    def at(self, index: int) -> Estimate:
        """Return one of them, without its reason."""
        return Estimate(low=float(self.low[index]), mid=float(self.mid[index]), high=float(self.high[index]))


class Model(Protocol):
    """A fitted, immutable performance model."""

    @property
    def law(self) -> str:
        """The law that was fitted, ``gesscale`` or ``microbatch``."""

    @property
    def parameters(self) -> Mapping[str, float]:
        """Every parameter of the law, fitted or default, by name."""

    @property
    def fitted(self) -> frozenset[str]:
        """The parameters that the evidence identifies; the others stand at their defaults."""

    @property
    def readings_used(self) -> int:
        """How many readings it was fitted on."""

    @property
    def calibrated(self) -> bool:
        """Whether it rests on three distinct readings at least."""

    @property
    def drift(self) -> bool:
        """Whether newer readings contradicted older ones, which were dropped."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know before trusting it."""

    def predict(self, conditions: Conditions) -> Estimate:
        """Predict the MST under these conditions, rows/s."""

    def predict_all(self, points: Points) -> Estimates:
        """Predict the MST of many points at once, rows/s."""


class Estimator(Protocol):
    """A law that can be fitted."""

    @property
    def name(self) -> str:
        """How settings and the command line call it."""

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> Model:
        """Fit to the readings as they count at ``now_s``; ModelError when none is usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitErrors:
    """How far predictions lie from readings, in per cent of the observed rows/s."""

    #: Mean and largest absolute error (mean_pct, max_pct).
    mean_pct: float
    max_pct: float
    #: Readings compared.
    count: int


def fit_errors(model: Model, readings: Sequence[Reading]) -> FitErrors:
    """Compare a model with readings, those it was fitted on or others.

    Parameters
    ----------
    model
        The fitted model.
    readings
        What was observed. Unsaturated readings, and under the micro-batch law those without batch rows, are
        left out where the law says nothing about them.

    Raises
    ------
    ModelError
        When no reading can be compared.
    """
    if model.law == "microbatch":
        comparable = [reading for reading in readings if reading.batch_rows is not None]
    else:
        comparable = [reading for reading in readings if reading.saturated]
    if not comparable:
        raise ModelError(f"law {model.law}: expected a comparable reading, got none in {len(readings)} readings")
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
