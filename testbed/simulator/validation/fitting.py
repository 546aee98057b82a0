"""Constants of the physics fitted to measured batches, and how well they predict batches that were left out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.batch_times import BatchErrors, batch_errors, predicted_s
from testbed.simulator.validation.measured_batch import MeasuredBatch

FITTED: Mapping[str, tuple[str, ...]] = {
    "map": ("fixed_s", "task_s", "service_ms_per_row", "driver_round_trips", "wave_round_trips"),
    "groupby": ("fixed_s", "service_ms_per_row", "driver_round_trips", "state_round_trips"),
}
"""What the readings of each query determine; the other constants stay."""

_BEGIN = {
    "service_ms_per_row": 1.0,
    "driver_round_trips": 5.0,
    "wave_round_trips": 2.0,
    "state_round_trips": 2.0,
    "state_task_s": 0.05,
}
_BEGIN_S = 0.2
_ROBUST_FROM = 0.03


def fit_constants(
    physics: SparkPhysics, names: Sequence[str], measured: Sequence[MeasuredBatch]
) -> tuple[SparkPhysics, NDArray[np.float64]]:
    """Fit constants by robust least squares of the logarithm of batch times.

    Parameters
    ----------
    physics
        The constants that are not fitted. The fit begins elsewhere, so that it owes them nothing.
    names
        Of the constants to fit.
    measured
        At least as many batches as names.

    Returns
    -------
    tuple of (SparkPhysics, ndarray)
        The constants to four digits, and the logarithm of predicted over measured time of each batch.
    """

    def with_values(values: Sequence[float]) -> SparkPhysics:
        return replace(physics, **dict(zip(names, values, strict=True)))  # type: ignore[arg-type] # all are floats

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        trial = with_values(values.tolist())
        return np.array([math.log(predicted_s(trial, item) / item.seconds) for item in measured])

    begin = [_BEGIN.get(name, _BEGIN_S) for name in names]
    solution = scipy.optimize.least_squares(
        residuals, begin, bounds=(1e-6, np.inf), loss="soft_l1", f_scale=_ROBUST_FROM, x_scale=begin
    )
    values = [float(f"{value:.4g}") for value in solution.x]
    return with_values(values), residuals(np.array(values))


def held_out_errors(
    physics: SparkPhysics, names: Sequence[str], measured: Sequence[MeasuredBatch]
) -> dict[str, BatchErrors]:
    """Fit without all batches of one round trip, or of one number of replicas, and predict these.

    Parameters
    ----------
    physics, names
        As for `fit_constants`.
    measured
        Readings; all nodes of one were equally far apart.

    Returns
    -------
    dict
        Errors on what was left out, by what that was: first the round trips, then the numbers of replicas.
    """
    found = {}
    for kind in (_round_trip, _replicas):
        for left_out in sorted({kind(item) for item in measured}, key=lambda label: (len(label), label)):
            known = [item for item in measured if kind(item) != left_out]
            if len(known) >= len(names):
                fitted, _ = fit_constants(physics, names, known)
                held = [item for item in measured if kind(item) == left_out]
                found[left_out] = batch_errors(fitted, held)
    return found


def _round_trip(item: MeasuredBatch) -> str:
    return f"{1000 * item.executor_set.farthest_s:.0f} ms"


def _replicas(item: MeasuredBatch) -> str:
    return f"n = {item.replicas}"
