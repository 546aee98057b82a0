"""Laws that tests take for the truth."""

import numpy as np

from perfmodel import EQ1, BatchEvidence, CapacityModel, FittedBatchTime, FittedEq1, HeldOut
from perfmodel.eq1 import Uncertainty
from perfmodel.readings import ReadingGroup


def true_model(
    *,
    fixed_s: float = 0.0,
    row_s: float = 0.0,
    even_row_s: float = 0.0,
    shared_row_s: float = 0.0,
    driver_trips: float = 0.0,
    pair_trips: float = 0.0,
) -> CapacityModel:
    """Return a model that is certain of these parameters."""
    law = FittedBatchTime(
        theta=(fixed_s, row_s, even_row_s, shared_row_s, driver_trips, pair_trips),
        evidence=BatchEvidence(row_s=row_s + even_row_s),
        unit=np.ones(6),
        precision=1e12 * np.eye(6),
        grams=np.zeros((0, 6, 6)),
        moments=np.zeros((0, 6)),
    )
    return CapacityModel(eq1=None, batch_time=law, used=law)


TRUE = true_model(fixed_s=0.5, even_row_s=0.005, driver_trips=5.0)


def true_eq1(*, alpha: float, beta: float, gamma: float) -> CapacityModel:
    """Return Eq. 1 with these parameters, of which it is certain."""
    law = FittedEq1(
        law=EQ1,
        theta=(alpha, beta, gamma),
        identified=(True, True, True),
        conditions=(ReadingGroup(1.0, 0.0, alpha, 1.0),),
        readings=1,
        warnings=(),
        uncertainty=Uncertainty(HeldOut(()), 0.01, 3.0, np.zeros((3, 3))),
    )
    return CapacityModel(eq1=law, batch_time=None, used=law)
