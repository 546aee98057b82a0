"""Measured batches, and how far the physics of the simulator is from them."""

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
    """A warm batch, or the mean of several alike."""

    #: Who worked on it.
    executor_set: ExecutorSet
    #: How many rows, and how long it took (rows, seconds).
    rows: float
    seconds: float
    #: The trigger interval; 0 where batches ran without a pause.
    trigger_s: float = 0.0
    #: Tasks of it; 0 for as many as there were slots.
    tasks: int = 0
    #: Whether it had all the rows that its cap allows.
    is_full: bool = True

    @property
    def replicas(self) -> int:
        """How many worked on it."""
        return len(self.executor_set.nodes)

    def rows_per_s(self, seconds: float) -> float:
        """Return the throughput of such batches, one after the other, where each takes so long."""
        return self.rows / max(seconds, self.trigger_s)


def of_run(run: RecordedRun, *, from_s: float = 0.0) -> tuple[MeasuredBatch, ...]:
    """Take the warm batches of a recorded run, from an instant of it on."""
    return tuple(of_batch(run, batch) for batch in run.warm_batches if batch.ended_at_s > from_s)


def of_batch(run: RecordedRun, batch: Batch, nodes: Sequence[str] | None = None) -> MeasuredBatch:
    """Take one batch of a recorded run; those that it names worked on it, unless other nodes are given."""
    fog = Fog({name: SimulatedNode(name=name) for name in run.delays.names}, run.delays)
    return MeasuredBatch(
        executor_set=ExecutorSet.of(batch.nodes if nodes is None else nodes, run.operator.driver_node, fog, None),
        rows=batch.rows,
        seconds=batch.seconds,
        trigger_s=run.trigger_s,
        is_full=batch.is_full,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Relative errors of one quantity, in per cent of what was measured."""

    #: Mean and largest absolute error (mean_pct, worst_pct).
    mean_pct: float
    worst_pct: float
    #: Mean error; positive where the simulator gives more.
    bias_pct: float

    @classmethod
    def of(cls, simulated: Sequence[float], measured: Sequence[float]) -> "Errors":
        """Compare pairs, at least one."""
        errors = 100 * (np.asarray(simulated) / np.asarray(measured) - 1)
        return cls(
            mean_pct=float(np.abs(errors).mean()), worst_pct=float(np.abs(errors).max()), bias_pct=float(errors.mean())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchErrors:
    """How far the physics is from measured batches."""

    #: How many.
    compared: int
    #: Of the duration T of a batch.
    batch_time: Errors
    #: Of rows / max(T, trigger interval).
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
