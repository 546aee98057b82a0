"""The law `auto`: fits both laws and chooses by held-out error."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gesscale.common.errors import Problem
from perfmodel.evidence import ModelError, Reading
from perfmodel.fitted import FittedModel
from perfmodel.laws import GesscaleLaw, MicroBatchLaw
from perfmodel.model import Estimator, fit_errors
from perfmodel.proportional import ProportionalLaw

#: Number of cross-validation folds; also the minimum number of distinct conditions.
FOLDS = 4
#: Lead in mean error that Eq. 1 needs to be chosen; less is within the spread of good readings.
CLEAR_LEAD_PCT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoLaw:
    """Fits both laws and returns the one that predicts held-out readings better; a warning names the choice.

    Cross-validation keeps all readings of one condition in the same fold. The micro-batch law is chosen unless Eq. 1
    is clearly better. It is also chosen if there are too few conditions to compare but batch rows are known: beyond
    the evidence it is correct or predicts too little, while Eq. 1 predicts too much.
    """

    name: ClassVar[str] = "auto"

    #: Maximum age and half-life of readings, as in both laws (max_age_s, half_life_s).
    max_age_s: float | None = None
    half_life_s: float | None = None

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> FittedModel:
        """Fit the better law; see `GesscaleLaw.fit`.

        Raises
        ------
        ModelError
            If no reading is usable by either law.
        """
        gesscale = GesscaleLaw(max_age_s=self.max_age_s, half_life_s=self.half_life_s)
        microbatch = MicroBatchLaw(max_age_s=self.max_age_s, half_life_s=self.half_life_s)
        chosen, why = _choose(gesscale, microbatch, readings, now_s)
        model = chosen.fit(readings, now_s)
        return dataclasses.replace(model, warnings=(why, *model.warnings))


def _choose(
    gesscale: GesscaleLaw, microbatch: MicroBatchLaw, readings: Sequence[Reading], now_s: float | None
) -> tuple[GesscaleLaw | MicroBatchLaw, Problem]:
    comparable = [reading for reading in readings if reading.saturated and reading.batch_rows is not None]
    folds = _folds(comparable)
    if len(folds) == FOLDS:
        try:
            eq1 = _held_out_error_pct(gesscale, folds, now_s)
            micro = _held_out_error_pct(microbatch, folds, now_s)
        except ModelError:
            pass  # a fold left no reading young enough: the same as too few readings
        else:
            chosen = gesscale if eq1 < micro - CLEAR_LEAD_PCT else microbatch
            figures = {"law": chosen.name, "microbatch_pct": micro, "gesscale_pct": eq1}
            return chosen, Problem("law-compared", figures)
    if any(reading.batch_rows is not None for reading in readings):
        return microbatch, Problem("law-not-compared", {"law": microbatch.name})
    return gesscale, Problem("law-without-batches", {"law": gesscale.name})


def _folds(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Distribute the distinct conditions over the folds; all readings of one condition share a fold."""
    conditions = sorted({_conditions(reading) for reading in readings})
    fold_of = {condition: index % FOLDS for index, condition in enumerate(conditions)}
    folds: list[list[Reading]] = [[] for _ in range(FOLDS)]
    for reading in readings:
        folds[fold_of[_conditions(reading)]].append(reading)
    return [fold for fold in folds if fold]


def _conditions(reading: Reading) -> tuple[float, float, float]:
    return reading.capacity, reading.nd_max_ms, reading.batch_rows or 0.0


def _held_out_error_pct(law: Estimator, folds: Sequence[Sequence[Reading]], now_s: float | None) -> float:
    """Return the mean error over all readings, each predicted by a fit of the other folds."""
    total = count = 0.0
    for held_out in folds:
        rest = [reading for fold in folds if fold is not held_out for reading in fold]
        errors = fit_errors(law.fit(rest, now_s), held_out)
        total += errors.mean_pct * errors.count
        count += errors.count
    return total / count


_LAWS: dict[str, type[GesscaleLaw | MicroBatchLaw | AutoLaw | ProportionalLaw]] = {
    law.name: law for law in (GesscaleLaw, MicroBatchLaw, AutoLaw, ProportionalLaw)
}


def law_named(name: str, *, max_age_s: float | None = None, half_life_s: float | None = None) -> Estimator:
    """Return the law of this name, as settings and the command line use it.

    Parameters
    ----------
    name
        ``gesscale``, ``microbatch``, ``auto`` or ``proportional``.
    max_age_s, half_life_s
        Maximum age and half-life of readings; None for no limit.

    Raises
    ------
    ModelError
        If there is no law of this name.

    Examples
    --------
    >>> law_named("microbatch").name
    'microbatch'
    """
    if name not in _LAWS:
        raise ModelError("model-law-unknown", known=list(_LAWS), law=name)
    return _LAWS[name](max_age_s=max_age_s, half_life_s=half_life_s)
