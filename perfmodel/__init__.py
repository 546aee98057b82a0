"""Performance models of a stream operator: its maximum sustainable throughput by replicas and network delay.

A law (`Estimator`) is fitted to readings and returns a `Model`, which predicts the maximum sustainable throughput (MST)
as low, mid and high. `GesscaleLaw` is Eq. 1 of the paper, `MicroBatchLaw` models the time of Spark's micro-batches, and
`AutoLaw` chooses the one that predicts better. The package uses no clock, no files and no part of the auto-scaler.
"""

from perfmodel.auto import AutoLaw, law_named
from perfmodel.curves import Points
from perfmodel.evidence import Conditions, ModelError, Reading
from perfmodel.laws import GesscaleLaw, MicroBatchLaw
from perfmodel.model import Estimate, Estimates, Estimator, FitErrors, Model, fit_errors
from perfmodel.proportional import ProportionalLaw
from perfmodel.summary import LawSummary, ModelSummary, ParameterEstimate

__all__ = [
    "AutoLaw",
    "Conditions",
    "Estimate",
    "Estimates",
    "Estimator",
    "FitErrors",
    "GesscaleLaw",
    "LawSummary",
    "MicroBatchLaw",
    "Model",
    "ModelError",
    "ModelSummary",
    "ParameterEstimate",
    "Points",
    "ProportionalLaw",
    "Reading",
    "fit_errors",
    "law_named",
]
