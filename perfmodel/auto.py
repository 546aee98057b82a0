"""Choosing the law by held-out error."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from perfmodel.evidence import ModelError, Reading
from perfmodel.fitted import FittedModel
from perfmodel.laws import GesscaleLaw, MicroBatchLaw
from perfmodel.model import Estimator, fit_errors
from perfmodel.proportional import ProportionalLaw

#: In how many parts the evidence is held out in turn; as many distinct readings are needed at least.
FOLDS = 4
#: By how much Eq. 1 must predict better to be taken: less is within the spread of good readings.
CLEAR_LEAD_PCT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoLaw:
    """Fits both laws and keeps the one that predicts held-out readings better; the model's warnings say so.

    Conditions are held out in turn, all readings of one together. The micro-batch law is taken unless Eq. 1
    is clearly better, and where there are too few conditions to compare but batch rows are known: beyond the
    evidence it is right or promises too little, where Eq. 1 promises too much.
    """

    name: ClassVar[str] = "auto"

    #: How readings age, as in either law (max_age_s, half_life_s).
    max_age_s: float | None = None
    half_life_s: float | None = None

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> FittedModel:
        """Fit the better law; see `GesscaleLaw.fit`.

        Raises
        ------
        ModelError
            When no reading is usable by either law.
        """
        gesscale = GesscaleLaw(max_age_s=self.max_age_s, half_life_s=self.half_life_s)
        microbatch = MicroBatchLaw(max_age_s=self.max_age_s, half_life_s=self.half_life_s)
        chosen, why = _choose(gesscale, microbatch, readings, now_s)
        model = chosen.fit(readings, now_s)
        return dataclasses.replace(model, warnings=(why, *model.warnings))


def _choose(
    gesscale: GesscaleLaw, microbatch: MicroBatchLaw, readings: Sequence[Reading], now_s: float | None
) -> tuple[GesscaleLaw | MicroBatchLaw, str]:
    comparable = [reading for reading in readings if reading.saturated and reading.batch_rows is not None]
    folds = _folds(comparable)
    if len(folds) == FOLDS:
        try:
            eq1 = _held_out_error_pct(gesscale, folds, now_s)
            micro = _held_out_error_pct(microbatch, folds, now_s)
        except ModelError:
            pass  # a fold left nothing young enough: as good as too few readings
        else:
            chosen = gesscale if eq1 < micro - CLEAR_LEAD_PCT else microbatch
            why = f"law {chosen.name} chosen by held-out error: microbatch {micro:.1f} %, gesscale {eq1:.1f} %"
            return chosen, why
    if any(reading.batch_rows is not None for reading in readings):
        return (microbatch, "law microbatch chosen: too few distinct saturated readings to compare, the safer default")
    return gesscale, "law gesscale chosen: no reading carries batch rows"


def _folds(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Deal the distinct conditions out in turn, all readings of one to the same fold."""
    conditions = sorted({_conditions(reading) for reading in readings})
    fold_of = {condition: index % FOLDS for index, condition in enumerate(conditions)}
    folds: list[list[Reading]] = [[] for _ in range(FOLDS)]
    for reading in readings:
        folds[fold_of[_conditions(reading)]].append(reading)
    return [fold for fold in folds if fold]


def _conditions(reading: Reading) -> tuple[float, float, float]:
    return reading.capacity, reading.nd_max_ms, reading.batch_rows or 0.0


def _held_out_error_pct(law: Estimator, folds: Sequence[Sequence[Reading]], now_s: float | None) -> float:
    """Return the mean error over all readings, each predicted from the other folds."""
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
    """Return the law that settings and the command line call by this name.

    Parameters
    ----------
    name
        ``gesscale``, ``microbatch``, ``auto`` or ``proportional``.
    max_age_s, half_life_s
        How readings age; None: not at all.

    Raises
    ------
    ModelError
        When there is no law of that name.

    Examples
    --------
    >>> law_named("microbatch").name
    'microbatch'
    """
    if name not in _LAWS:
        raise ModelError(f"expected a law, one of {', '.join(_LAWS)}, got {name!r}")
    return _LAWS[name](max_age_s=max_age_s, half_life_s=half_life_s)
