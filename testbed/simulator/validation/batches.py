"""Compares measured batches with the physics of the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gesscale.model.observation import Batch
from testbed.simulator.fog import Fog
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import ExecutorSet, mean_batch_s
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.recorded_run import RecordedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBatch:
    """A warm batch, or the mean of several like it."""

    #: Executors that processed it.
    executor_set: ExecutorSet
    #: Rows and duration (rows, seconds).
    rows: float
    seconds: float
    #: Trigger interval; 0 if batches ran without a pause.
    trigger_s: float = 0.0
    #: Number of tasks; 0 for one per slot.
    tasks: int = 0
    #: Whether it had as many rows as its cap allows.
    is_full: bool = True

    @property
    def replicas(self) -> int:
        """Number of executors that processed it."""
        return len(self.executor_set.nodes)

    def rows_per_s(self, seconds: float) -> float:
        """Return the throughput of consecutive batches of this size, each with the given duration."""
        return self.rows / max(seconds, self.trigger_s)


def batches_of_run(run: RecordedRun, *, from_s: float = 0.0) -> tuple[MeasuredBatch, ...]:
    """Return the warm batches of a recorded run that ended after an instant."""
    return tuple(batch_of_run(run, batch) for batch in run.warm_batches if batch.ended_at_s > from_s)


def batch_of_run(run: RecordedRun, batch: Batch, nodes: Sequence[str] | None = None) -> MeasuredBatch:
    """Return one batch of a recorded run, processed by the nodes that it names unless others are given."""
    fog = Fog({name: SimulatedNode(name=name) for name in run.delays.names}, run.delays)
    return MeasuredBatch(
        executor_set=ExecutorSet.of(batch.nodes if nodes is None else nodes, run.operator.driver_node, fog, None),
        rows=batch.rows,
        seconds=batch.seconds,
        trigger_s=run.trigger_s,
        is_full=batch.is_full,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeErrors:
    """Relative errors of one quantity, per cent of the measured value."""

    #: Mean and largest absolute error (mean_pct, worst_pct).
    mean_pct: float
    worst_pct: float
    #: Mean error; positive if the simulator gives more.
    bias_pct: float

    @classmethod
    def of(cls, simulated: Sequence[float], measured: Sequence[float]) -> "RelativeErrors":
        """Compare pairs, at least one."""
        errors = 100 * (np.asarray(simulated) / np.asarray(measured) - 1)
        return cls(
            mean_pct=float(np.abs(errors).mean()), worst_pct=float(np.abs(errors).max()), bias_pct=float(errors.mean())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchErrors:
    """Errors of the physics on measured batches."""

    #: Number of batches.
    compared: int
    #: Of the duration T of a batch.
    batch_time: RelativeErrors
    #: Of rows / max(T, trigger interval).
    throughput: RelativeErrors


def predicted_s(physics: SparkPhysics, measured: MeasuredBatch) -> float:
    """Return the duration of the batch by the physics, warm and without noise, seconds."""
    slots = measured.replicas * physics.slots_per_replica
    partitions = 0 if measured.tasks in {0, slots} else measured.tasks
    return mean_batch_s(replace(physics, partitions=partitions), measured.executor_set, measured.rows)


def batch_errors(physics: SparkPhysics, measured: Sequence[MeasuredBatch]) -> BatchErrors:
    """Compare measured batches, at least one, with the physics."""
    predicted = [predicted_s(physics, item) for item in measured]
    return BatchErrors(
        compared=len(measured),
        batch_time=RelativeErrors.of(predicted, [item.seconds for item in measured]),
        throughput=RelativeErrors.of(
            [item.rows_per_s(seconds) for item, seconds in zip(measured, predicted, strict=True)],
            [item.rows_per_s(item.seconds) for item in measured],
        ),
    )
