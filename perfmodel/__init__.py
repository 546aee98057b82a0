"""Performance models of a stream operator: what it sustains, given replicas and network delay.

A law (`Estimator`) is fitted to readings and gives a `Model`, which predicts the maximum sustainable
throughput (MST) as low, mid and high. `GesscaleLaw` is Eq. 1 of the paper; `MicroBatchLaw` is the shape that
Spark's micro-batches have; `AutoLaw` takes the one that predicts better. Nothing here knows a clock, a file
or the auto-scaler.
"""

from perfmodel.auto import AutoLaw, law_named
from perfmodel.curves import Points
from perfmodel.evidence import Conditions, ModelError, Reading
from perfmodel.laws import GesscaleLaw, MicroBatchLaw
from perfmodel.model import Estimate, Estimates, Estimator, FitErrors, Model, fit_errors
from perfmodel.proportional import ProportionalLaw

__all__ = [
    "AutoLaw",
    "Conditions",
    "Estimate",
    "Estimates",
    "Estimator",
    "FitErrors",
    "GesscaleLaw",
    "MicroBatchLaw",
    "Model",
    "ModelError",
    "Points",
    "ProportionalLaw",
    "Reading",
    "fit_errors",
    "law_named",
]
