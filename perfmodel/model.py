"""The model of an operator: both laws, each fitted to the evidence that it can use, and the one that decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from perfmodel.batch_evidence import BatchEvidence
from perfmodel.batch_time import BATCH_TIME, FittedBatchTime, fit_batch_time
from perfmodel.eq1 import EQ1, FittedEq1, fit_eq1
from perfmodel.points import Estimates, Points, Vector
from perfmodel.readings import HALF_LIFE_S, MAX_AGE_S, KeyedReadings, Reading, at_present_cost
from perfmodel.summary import MAX_HELD_OUT_ERROR_PCT, MIN_CONDITIONS, LawSummary, ModelSummary

AUTO = "auto"
#: Lead in held-out error that Eq. 1 needs to be chosen, and the placements that both must have been compared on.
CLEAR_LEAD_PCT, COMPARED_FROM = 1.0, 3


@dataclass(frozen=True, kw_only=True)
class CapacityModel:
    """Fitted laws of one operator; those without evidence are None."""

    eq1: FittedEq1 | None
    batch_time: FittedBatchTime | None
    #: The law in use.
    used: FittedEq1 | FittedBatchTime

    def middle(self, points: Points) -> Vector:
        """Predict the MST of placements, rows/s."""
        return np.minimum(self.used.middle(points), points.cap_rows_per_s)

    def predict(self, points: Points) -> Estimates:
        """Predict the MST of placements with a 90 % interval, rows/s."""
        return Estimates(*(np.minimum(each, points.cap_rows_per_s) for each in self.used.predict(points)))

    @cached_property
    def summary(self) -> ModelSummary:
        """The figures of both laws."""
        eq1 = LawSummary(law=EQ1) if self.eq1 is None else self.eq1.summary
        batch_time = LawSummary(law=BATCH_TIME) if self.batch_time is None else self.batch_time.summary
        return summary_of(self.used, (eq1, batch_time))


def summary_of(used: FittedEq1 | FittedBatchTime, laws: Sequence[LawSummary] = ()) -> ModelSummary:
    """Return the summary of a model that uses a law; by default it has no other."""
    laws = tuple(laws) or (used.summary,)
    error_pct, conditions = next((each.held_out_error_pct, each.conditions) for each in laws if each.law == used.law)
    return ModelSummary(
        law=used.law,
        laws=tuple(laws),
        warnings=tuple(map(str, used.warnings)),
        held_out_error_pct=error_pct,
        fitted=error_pct is not None and conditions >= MIN_CONDITIONS and error_pct <= MAX_HELD_OUT_ERROR_PCT,
    )


def fit_model(
    readings: Sequence[Reading], batches: BatchEvidence, *, law: str = AUTO, now_s: float | None = None
) -> CapacityModel | None:
    """Fit Eq. 1 to readings, and the law of batch times to batches; None before any evidence.

    Parameters
    ----------
    law
        ``eq1``, ``batch-time``, or ``auto``: the law of the lower held-out error. Eq. 1 needs a clear lead, as it
        predicts too much beyond its readings, and three placements: a speed that was learned meanwhile makes no new
        one. A law without evidence gives way to the other.
    now_s
        Present time; None for the time of the newest reading.
    """
    eq1 = fit_eq1(at_present_cost(readings), now_s, max_age_s=MAX_AGE_S, half_life_s=HALF_LIFE_S)
    batch_time = fit_batch_time(batches)
    is_compared = law != AUTO or _placements(KeyedReadings(readings)) >= COMPARED_FROM
    used = _chosen(law if is_compared else BATCH_TIME, eq1, batch_time)
    return None if used is None else CapacityModel(eq1=eq1, batch_time=batch_time, used=used)


@lru_cache(maxsize=256)  # Analyze and Plan use the same readings
def _placements(readings: KeyedReadings) -> int:
    return len({(each.replicas, round(each.nd_max_ms)) for each in readings})


def _chosen(law: str, eq1: FittedEq1 | None, batch_time: FittedBatchTime | None) -> FittedEq1 | FittedBatchTime | None:
    if eq1 is None or batch_time is None:
        return batch_time or eq1
    if law != AUTO:
        return eq1 if law == EQ1 else batch_time
    one, other = eq1.uncertainty.held_out, batch_time.held_out
    if min(len(one.errors), len(other.errors)) < COMPARED_FROM:
        return batch_time
    assert one.mean_pct is not None and other.mean_pct is not None  # noqa: S101, PT018 - there are errors
    return eq1 if one.mean_pct < other.mean_pct - CLEAR_LEAD_PCT else batch_time
