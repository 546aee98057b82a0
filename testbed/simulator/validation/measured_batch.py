"""Batches that were measured, from a file of readings or from a recorded run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gesscale.csv_table import read_csv
from gesscale.fields import LARGEST_EXACT, MOST_REPLICAS
from gesscale.model.observation import Batch
from latency_map import LatencyMap
from testbed.simulator.fog import Fog
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import ExecutorSet
from testbed.simulator.validation.recorded_run import RecordedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBatch:
    """A warm batch, or the mean of several alike.

    Attributes
    ----------
    executor_set
        Who worked on it.
    rows, seconds
        How many rows, and how long it took.
    trigger_s
        The trigger interval; 0 where batches ran without a pause.
    tasks
        Tasks of it; 0 for as many as there were slots.
    host_cpu
        Use of the machine that carried all of the nodes, 0..1; 0 where it is not known.
    is_full
        Whether it had all the rows that its cap allows.
    """

    executor_set: ExecutorSet
    rows: float
    seconds: float
    trigger_s: float = 0.0
    tasks: int = 0
    host_cpu: float = 0.0
    is_full: bool = True

    @property
    def replicas(self) -> int:
        """How many worked on it."""
        return len(self.executor_set.nodes)

    def rows_per_s(self, seconds: float) -> float:
        """Return the throughput of such batches, one after the other, where each takes so long."""
        return self.rows / max(seconds, self.trigger_s)


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    query: str = Field(description="a name")
    replicas: int = Field(ge=1, le=MOST_REPLICAS, description=f"a whole number from 1 to {MOST_REPLICAS}")
    nd_max_ms: float = Field(ge=0, description="a round trip in ms, >= 0")
    batch_rows: float = Field(gt=0, description="rows > 0")
    tasks: int = Field(ge=1, le=LARGEST_EXACT, description="a whole number >= 1")
    batch_ms: float = Field(gt=0, description="a time in ms, > 0")
    host_cpu: float = Field(ge=0, description="a share of the machine, >= 0")


def read_readings(file: Path) -> dict[str, tuple[MeasuredBatch, ...]]:
    """Read the measured batches of a file of saturation readings.

    Parameters
    ----------
    file
        CSV with the columns query, replicas, nd_max_ms, batch_rows, tasks, batch_ms, host_cpu. All nodes, the
        driver's too, were one round trip apart, and batches ran without a pause.

    Returns
    -------
    dict
        Batches by query, in the order of the file.

    Raises
    ------
    InputError
        Where the file, or a line of it, cannot be used.
    """
    measured: dict[str, list[MeasuredBatch]] = {}
    for line in read_csv(file, tuple(_Row.model_fields)).rows:
        row = line.read_as(_Row)
        measured.setdefault(row.query, []).append(_of_row(row))
    return {query: tuple(batches) for query, batches in measured.items()}


def of_run(run: RecordedRun, *, from_s: float = 0.0) -> tuple[MeasuredBatch, ...]:
    """Take the warm batches of a recorded run, from an instant of it on."""
    return tuple(of_batch(run, batch) for batch in run.warm_batches if batch.ended_at_s > from_s)


def of_batch(run: RecordedRun, batch: Batch, nodes: Sequence[str] | None = None) -> MeasuredBatch:
    """Take one batch of a recorded run; those that it names worked on it, unless other nodes are given."""
    fog = Fog({name: SimulatedNode(name=name) for name in run.delays.names}, run.delays)
    return MeasuredBatch(
        executor_set=ExecutorSet.of(
            batch.nodes if nodes is None else nodes, run.operator.driver_node, fog, None
        ),
        rows=batch.rows,
        seconds=batch.seconds,
        trigger_s=run.trigger_s,
        is_full=batch.is_full,
    )


def _of_row(row: _Row) -> MeasuredBatch:
    # A reading says that all nodes were nd_max_ms apart; the driver's is one more.
    names = ("driver", *(f"node{index}" for index in range(row.replicas)))
    rtt_ms = np.full((len(names), len(names)), row.nd_max_ms)
    np.fill_diagonal(rtt_ms, 0.0)
    fog = Fog({name: SimulatedNode(name=name) for name in names}, LatencyMap(names=names, rtt_ms=rtt_ms))
    return MeasuredBatch(
        executor_set=ExecutorSet.of(names[1:], "driver", fog, None),
        rows=row.batch_rows,
        seconds=row.batch_ms / 1000,
        tasks=row.tasks,
        host_cpu=row.host_cpu,
    )
