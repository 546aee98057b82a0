"""Measured batch times against those that the simulator's physics gives, batch by batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gesscale.errors import InputError
from gesscale.observation import Batch
from latency_map import LatencyMap
from testbed.simulator.fog import Fog
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import Crew, mean_batch_s
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.recorded_run import RecordedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBatch:
    """A warm batch, or the mean of several alike.

    Attributes
    ----------
    crew
        Who worked on it.
    rows, seconds
        How many rows, and how long it took.
    tasks
        Tasks of it; 0 for as many as there were slots.
    host_cpu
        Use of the machine that carried all of the nodes, 0..1; 0 where it is not known.
    """

    crew: Crew
    rows: float
    seconds: float
    tasks: int = 0
    host_cpu: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchErrors:
    """How far the physics is from measured batch times, in per cent of these.

    Attributes
    ----------
    mean_pct, max_pct
        Mean and largest absolute error.
    bias_pct
        Mean error; positive where the simulated batches take longer.
    count
        Batches compared.
    """

    mean_pct: float
    max_pct: float
    bias_pct: float
    count: int


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    query: str
    replicas: int = Field(ge=1)
    nd_max_ms: float = Field(ge=0)
    batch_rows: float = Field(gt=0)
    tasks: int = Field(ge=1)
    batch_ms: float = Field(gt=0)
    host_cpu: float = Field(ge=0)


def of_readings(rows: Iterable[dict[str, str]], query: str, source: Path) -> tuple[MeasuredBatch, ...]:
    """Take the measured batches of a query from a file of saturation readings.

    Parameters
    ----------
    rows
        Columns query, replicas, nd_max_ms, batch_rows, tasks, batch_ms, host_cpu. All nodes, the driver's too, are
        one round trip apart.
    query
        Whose rows count.
    source
        Names the file in messages.

    Raises
    ------
    InputError
        At a row that cannot be used, or when there is none of this query.
    """
    measured = []
    for number, cells in enumerate(rows, start=2):
        try:
            row = _Row.model_validate(cells)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            message = f"{source}, line {number}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            raise InputError(message) from error
        if row.query == query:
            measured.append(_of_row(row))
    if not measured:
        message = f"{source}: expected readings of query {query!r}, got none"
        raise InputError(message)
    return tuple(measured)


def of_run(run: RecordedRun, *, from_s: float = 0.0) -> tuple[MeasuredBatch, ...]:
    """Take the warm batches of a recorded run, from an instant of it on."""
    return tuple(of_batch(run, batch) for batch in run.warm_batches if batch.ended_at_s > from_s)


def of_batch(run: RecordedRun, batch: Batch) -> MeasuredBatch:
    """Take one batch of a recorded run."""
    fog = Fog({name: SimulatedNode(name=name) for name in run.delays.names}, run.delays)
    crew = Crew.of(batch.nodes, run.operator.driver_node, fog, None)
    return MeasuredBatch(crew=crew, rows=batch.rows, seconds=batch.seconds)


def predicted_s(physics: SparkPhysics, measured: MeasuredBatch) -> float:
    """Return how long the batch takes by the physics, warm and without noise, seconds."""
    slots = len(measured.crew.nodes) * physics.slots_per_replica
    partitions = 0 if measured.tasks in {0, slots} else measured.tasks
    return mean_batch_s(replace(physics, partitions=partitions), measured.crew, measured.rows)


def batch_errors(physics: SparkPhysics, measured: Sequence[MeasuredBatch]) -> BatchErrors:
    """Compare measured batch times with the physics."""
    errors = np.array([100 * (predicted_s(physics, item) / item.seconds - 1) for item in measured])
    return BatchErrors(
        mean_pct=float(np.abs(errors).mean()),
        max_pct=float(np.abs(errors).max()),
        bias_pct=float(errors.mean()),
        count=len(errors),
    )


def _of_row(row: _Row) -> MeasuredBatch:
    # A reading says that all nodes were nd_max_ms apart; the driver's is one more.
    names = ("driver", *(f"node{index}" for index in range(row.replicas)))
    rtt_ms = np.full((len(names), len(names)), row.nd_max_ms)
    np.fill_diagonal(rtt_ms, 0.0)
    fog = Fog({name: SimulatedNode(name=name) for name in names}, LatencyMap(names=names, rtt_ms=rtt_ms))
    return MeasuredBatch(
        crew=Crew.of(names[1:], "driver", fog, None),
        rows=row.batch_rows,
        seconds=row.batch_ms / 1000,
        tasks=row.tasks,
        host_cpu=row.host_cpu,
    )
