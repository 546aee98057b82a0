"""What ``validate`` reports: each reading and each recorded run against the simulator."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations, pairwise

import numpy as np

from gesscale.errors import InputError
from gesscale.model.observation import Batch
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.batch_times import BatchErrors, batch_errors
from testbed.simulator.validation.measured_batch import MeasuredBatch, of_run
from testbed.simulator.validation.recorded_run import RecordedRun, offered_totals
from testbed.simulator.validation.reenactment import reenact
from testbed.simulator.validation.refit import CALM_S
from testbed.simulator.validation.timelines import (
    LEAST_S,
    RunTimeline,
    TimelineErrors,
    timeline_errors,
    timeline_of,
)

BUSY = 0.9
"""Above this use of the machine's CPU, readings show the machine and not the nodes that it emulates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSpread:
    """A quantity over seeds."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "FigureSpread":
        """Sum up at least one value."""
        return cls(median=statistics.median(values), least=min(values), greatest=max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A quantity of a whole run.

    Attributes
    ----------
    recorded
        Of the record.
    simulated
        Over seeds.
    error_pct
        Of the simulated median, in per cent of what was recorded; None where that is 0.
    """

    recorded: float
    simulated: FigureSpread
    error_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How far courses are apart at the same instants.

    Attributes
    ----------
    from_record
        The simulated ones from the recorded one, over seeds.
    between_seeds
        The simulated ones from each other, each from the next seed's; what chance alone makes of it. None for a
        single seed.
    """

    from_record: FigureSpread
    between_seeds: FigureSpread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """A recorded run against the same run acted again.

    Attributes
    ----------
    warm_batches
        Of the record, each against the physics on its own rows and nodes: all, and parts of them.
    totals, distances
        By the name of the quantity: of `RunTimeline` and of `TimelineErrors`.
    """

    warm_batches: Mapping[str, BatchErrors]
    totals: Mapping[str, Total]
    distances: Mapping[str, Distance]


def act_again(run: RecordedRun, physics: SparkPhysics, seeds: int) -> tuple[tuple[Batch, ...], ...]:
    """Act a run again with seeds 0, 1, ..."""
    return tuple(reenact(run, physics, seed=seed) for seed in range(seeds))


def compare_run(run: RecordedRun, physics: SparkPhysics, acted: Sequence[Sequence[Batch]]) -> RunComparison:
    """Compare a recorded run with how it was acted again.

    Parameters
    ----------
    run
        The record.
    physics
        What it was acted again by.
    acted
        The batches of each seed.

    Raises
    ------
    InputError
        Where the run is too short, or has no warm batches.
    """
    if run.duration_s < LEAST_S:
        message = f"{run.name}: expected a run of at least {LEAST_S:.0f} s, got {run.duration_s:.0f} s"
        raise InputError(message)
    measured = of_run(run, from_s=CALM_S)
    if not measured:
        message = (
            f"{run.name}: expected warm batches after the first {CALM_S:.0f} s, got none; take a longer run"
        )
        raise InputError(message)
    distances = [timeline_errors(run.batches, batches) for batches in acted]
    chance = [timeline_errors(one, other) for one, other in pairwise(acted)]
    recorded = timeline_of(run.batches, run.orders, run.operator)
    timelines = [timeline_of(batches, run.orders, run.operator) for batches in acted]
    return RunComparison(
        warm_batches={
            label: batch_errors(physics, part) for label, part in parts_of_run(measured).items() if part
        },
        totals={
            name: _total(getattr(recorded, name), values)
            for name in _names(RunTimeline)
            if (values := [v for timeline in timelines if (v := getattr(timeline, name)) is not None])
            and getattr(recorded, name) is not None
        },
        distances={
            name: Distance(
                from_record=FigureSpread.of([getattr(each, name) for each in distances]),
                between_seeds=FigureSpread.of([getattr(each, name) for each in chance]) if chance else None,
            )
            for name in _names(TimelineErrors)
        },
    )


def between_runs(runs: Sequence[RecordedRun]) -> dict[str, TimelineErrors]:
    """Compare recorded runs of at least 150 s with each other: how far real runs are apart.

    Returns
    -------
    dict
        By the names of both. The percentages are relative to the first. The second is moved in time so that its load
        lies on that of the first; the two can be compared only where they had the same load.
    """
    return {
        f"{one.name}, {other.name}": timeline_errors(one.batches, _on_the_load_of(one, other))
        for one, other in combinations(runs, 2)
    }


def parts_of_run(measured: Sequence[MeasuredBatch]) -> dict[str, list[MeasuredBatch]]:
    """Part the warm batches of a run: all, the full ones, the others, and by replicas."""
    counts = sorted({item.replicas for item in measured})
    return {
        "all warm": list(measured),
        "full": [item for item in measured if item.is_full],
        "not full": [item for item in measured if not item.is_full],
        **{f"n = {count}": [item for item in measured if item.replicas == count] for count in counts},
    }


def parts_of_readings(measured: Sequence[MeasuredBatch]) -> dict[str, list[MeasuredBatch]]:
    """Part readings: all, and those during which the machine was not full."""
    return {
        "all": list(measured),
        f"CPU < {100 * BUSY:.0f} %": [item for item in measured if item.host_cpu < BUSY],
    }


def _on_the_load_of(one: RecordedRun, other: RecordedRun) -> tuple[Batch, ...]:
    """Return the batches of the other, moved by the median of how much later the same rows were offered to it."""
    curves = [offered_totals(run.batches) for run in (one, other)]
    rows = np.linspace(0.05, 0.95, 91) * min(totals[-1] for _, totals in curves)
    instants = [np.interp(rows, totals, begins) for begins, totals in curves]
    later_s = float(np.median(instants[1] - instants[0]))
    return tuple(replace(batch, ended_at_s=batch.ended_at_s - later_s) for batch in other.batches)


def _total(recorded: float, values: Sequence[float]) -> Total:
    simulated = FigureSpread.of(values)
    error_pct = 100 * (simulated.median / recorded - 1) if recorded else None
    return Total(recorded=recorded, simulated=simulated, error_pct=error_pct)


def _names(kind: type[RunTimeline] | type[TimelineErrors]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
