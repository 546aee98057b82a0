"""Measured batch times, and the throughput they come to, against what the simulator's physics gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from testbed.simulator.spark.batch import mean_batch_s
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.measured_batch import MeasuredBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Relative errors of one quantity, in per cent of what was measured.

    Attributes
    ----------
    mean_pct, worst_pct
        Mean and largest absolute error.
    bias_pct
        Mean error; positive where the simulator gives more.
    """

    mean_pct: float
    worst_pct: float
    bias_pct: float

    @classmethod
    def of(cls, simulated: Sequence[float], measured: Sequence[float]) -> "Errors":
        """Compare pairs, at least one."""
        errors = 100 * (np.asarray(simulated) / np.asarray(measured) - 1)
        return cls(
            mean_pct=float(np.abs(errors).mean()),
            worst_pct=float(np.abs(errors).max()),
            bias_pct=float(errors.mean()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchErrors:
    """How far the physics is from measured batches.

    Attributes
    ----------
    compared
        How many.
    batch_time
        Of the duration T of a batch.
    throughput
        Of rows / max(T, trigger interval).
    """

    compared: int
    batch_time: Errors
    throughput: Errors


def predicted_s(physics: SparkPhysics, measured: MeasuredBatch) -> float:
    """Return how long the batch takes by the physics, warm and without noise, seconds."""
    slots = measured.replicas * physics.slots_per_replica
    partitions = 0 if measured.tasks in {0, slots} else measured.tasks
    return mean_batch_s(replace(physics, partitions=partitions), measured.executor_set, measured.rows)


def batch_errors(physics: SparkPhysics, measured: Sequence[MeasuredBatch]) -> BatchErrors:
    """Compare measured batches, at least one, with the physics."""
    predicted = [predicted_s(physics, item) for item in measured]
    return BatchErrors(
        compared=len(measured),
        batch_time=Errors.of(predicted, [item.seconds for item in measured]),
        throughput=Errors.of(
            [item.rows_per_s(seconds) for item, seconds in zip(measured, predicted, strict=True)],
            [item.rows_per_s(item.seconds) for item in measured],
        ),
    )
