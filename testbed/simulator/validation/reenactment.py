"""A recorded run acted again by the simulator: the same load, the same orders at the same instants, open loop."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gesscale.observation import Batch
from gesscale.workflow import Workflow
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.plant import SparkPlant
from testbed.simulator.validation.recorded_run import RecordedRun

_LOOK_S = 10.0
_BIN_S = 10.0
_CALM_S = 30.0

Series = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseErrors:
    """How far a simulated course is from the recorded one, both cut into bins of 10 s.

    Attributes
    ----------
    throughput_pct
        Mean absolute difference of the rows processed in a bin, in per cent of their mean.
    batch_time_pct
        Mean absolute difference of the duration of the batch that ran, weighted by time, in per cent of the mean.
    backlog_pct
        Mean absolute difference of the backlog, in per cent of the largest that was recorded.
    backlog_peak_pct
        The largest simulated backlog over the largest recorded one, less 100 per cent.
    """

    throughput_pct: float
    batch_time_pct: float
    backlog_pct: float
    backlog_peak_pct: float


def reenact(run: RecordedRun, physics: SparkPhysics, *, seed: int) -> tuple[Batch, ...]:
    """Act a run again.

    Parameters
    ----------
    run
        What was offered and ordered.
    physics
        Of its query; the trigger interval is the run's.
    seed
        Of the plant's noise.

    Returns
    -------
    tuple of Batch
        Oldest first, until the recorded run ended.
    """
    name = run.operator.name
    scene = Scene(
        workflow=Workflow([run.operator]),
        nodes={node: SimulatedNode(name=node) for node in run.delays.names},
        delays=run.delays,
        workloads={name: run.workload},
        initial={name: run.initial},
    )
    plant = SparkPlant(scene, {name: replace(physics, trigger_s=run.trigger_s)}, seed=seed)
    looks = np.arange(_LOOK_S, run.duration_s, _LOOK_S).tolist()
    orders = dict(run.orders)
    seen: dict[int, Batch] = {}
    for at_s in sorted({*chain(looks, orders), run.duration_s}):
        plant.advance(at_s)
        seen.update({batch.batch_id: batch for batch in plant.batches(name)})
        if at_s in orders:
            plant.order(name, orders[at_s])
    return tuple(seen[number] for number in sorted(seen))


def course_errors(recorded: Sequence[Batch], simulated: Sequence[Batch]) -> CourseErrors:
    """Compare two courses from the time on when the query had started up.

    Parameters
    ----------
    recorded, simulated
        Batches on one time, oldest first, at least two each.
    """
    until_s = min(recorded[-1].ended_at_s, simulated[-1].ended_at_s)
    edges = np.arange(_CALM_S, until_s, _BIN_S)
    rows, rows_simulated = (np.diff(_processed(course, edges)) for course in (recorded, simulated))
    grid = np.arange(_CALM_S, until_s, 1.0)
    seconds, seconds_simulated = (_running_s(course, grid) for course in (recorded, simulated))
    backlog, backlog_simulated = (_backlog(course, grid) for course in (recorded, simulated))
    peak = float(backlog.max())
    return CourseErrors(
        throughput_pct=_mean_error_pct(rows_simulated, rows, float(rows.mean())),
        batch_time_pct=_mean_error_pct(seconds_simulated, seconds, float(seconds.mean())),
        backlog_pct=_mean_error_pct(backlog_simulated, backlog, peak),
        backlog_peak_pct=100 * (float(backlog_simulated.max()) / peak - 1),
    )


def _mean_error_pct(simulated: Series, recorded: Series, whole: float) -> float:
    return 100 * float(np.abs(simulated - recorded).mean()) / whole


def _processed(batches: Sequence[Batch], at_s: Series) -> Series:
    ends = [batch.ended_at_s for batch in batches]
    result: Series = np.interp(at_s, ends, np.cumsum([batch.rows for batch in batches]))
    return result


def _running_s(batches: Sequence[Batch], at_s: Series) -> Series:
    ends = np.array([batch.ended_at_s for batch in batches])
    durations = np.array([batch.seconds for batch in batches])
    index = np.minimum(np.searchsorted(ends, at_s), len(durations) - 1)
    result: Series = durations[index]
    return result


def _backlog(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return the rows offered and not processed by the end of the batch before each instant."""
    ends = [batch.ended_at_s for batch in batches]
    result: Series = np.interp(at_s, ends, [batch.backlog_rows or 0.0 for batch in batches])
    return result
