"""Performance models of a stream operator: its maximum sustainable throughput by replicas and network delay.

`fit_model` fits two laws and predicts the maximum sustainable throughput (MST) as low, mid and high: Eq. 1 of the paper
(`fit_eq1`), from saturation readings, and the law of batch times (`fit_batch_time`), from every warm batch. The
package uses no clock, no files and no part of the auto-scaler.
"""

from perfmodel.batch_evidence import BatchEvidence, BatchSample
from perfmodel.batch_time import BATCH_TIME, FittedBatchTime, fit_batch_time
from perfmodel.eq1 import EQ1, PROPORTIONAL, FittedEq1, fit_eq1
from perfmodel.model import CapacityModel, fit_model, summary_of
from perfmodel.points import Estimate, Estimates, Points
from perfmodel.readings import ModelError, Reading
from perfmodel.row_cost import learned
from perfmodel.summary import HeldOut, LawSummary, ModelSummary, ParameterEstimate

__all__ = [
    "BATCH_TIME",
    "EQ1",
    "PROPORTIONAL",
    "BatchEvidence",
    "BatchSample",
    "CapacityModel",
    "Estimate",
    "Estimates",
    "FittedBatchTime",
    "FittedEq1",
    "HeldOut",
    "LawSummary",
    "ModelError",
    "ModelSummary",
    "ParameterEstimate",
    "Points",
    "Reading",
    "fit_batch_time",
    "fit_eq1",
    "fit_model",
    "learned",
    "summary_of",
]
