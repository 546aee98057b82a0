"""Summaries of fitted laws: the same figures for decisions, commands, the page, the resource and the gauges."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

#: Largest held-out error of a fitted model, per cent: the law predicts placements that it was not fitted to this well.
MAX_HELD_OUT_ERROR_PCT = 15.0
#: Number of held-out placements that a fitted model has been compared on, at least.
MIN_CONDITIONS = 2


class HeldOut(NamedTuple):
    """Errors of predictions for placements that a fit has not seen."""

    #: Signed, as shares of the observed values; one for each distinct placement.
    errors: tuple[float, ...] = ()

    @property
    def mean_pct(self) -> float | None:
        """Mean absolute error, per cent; None if none could be compared."""
        return 100 * sum(map(abs, self.errors)) / len(self.errors) if self.errors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterEstimate:
    """A parameter of a law with its 90 % interval."""

    name: str
    #: Unit; "1" for a ratio.
    unit: str
    value: float
    #: None for a default: the evidence does not identify the parameter, and the law has no prior for it (low, high).
    low: float | None
    high: float | None
    #: False if the value is a default or still the prior.
    identified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LawSummary:
    """A law fitted to all evidence."""

    law: str
    #: Empty before any evidence.
    parameters: tuple[ParameterEstimate, ...] = ()
    #: Mean absolute error of predictions for placements that a fit has not seen; None if none could be compared.
    held_out_error_pct: float | None = None
    #: Number of distinct placements compared.
    conditions: int = 0
    #: Number of readings or batches of the fit.
    readings: int = 0

    @classmethod
    def of(cls, law: str, parameters: Iterable[ParameterEstimate], held_out: HeldOut, readings: int) -> "LawSummary":
        """Return the summary of a fit."""
        return cls(
            law=law,
            parameters=tuple(parameters),
            held_out_error_pct=held_out.mean_pct,
            conditions=len(held_out.errors),
            readings=readings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """The model of an operator: its laws, and the one in use."""

    #: Name of the law in use.
    law: str
    #: All laws, each fitted to the evidence it can use.
    laws: tuple[LawSummary, ...]
    #: Limits of the fit that a user should know.
    warnings: tuple[str, ...] = ()
    #: Error of the law in use for placements that a fit has not seen; None if none could be compared.
    held_out_error_pct: float | None = None
    #: True if the law in use predicts at least `MIN_CONDITIONS` held-out placements within `MAX_HELD_OUT_ERROR_PCT`.
    fitted: bool = False

    @property
    def in_use(self) -> LawSummary:
        """The law in use."""
        return self.named(self.law) or LawSummary(law=self.law)

    def named(self, law: str) -> LawSummary | None:
        """Return the summary of a law; None if it was not fitted."""
        return next((each for each in self.laws if each.law == law), None)
