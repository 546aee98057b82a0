"""Compares each recorded run with its simulated replays; ``validate`` reports the result."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError
from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.batches import BatchErrors, MeasuredBatch, batch_errors, batches_of_run
from testbed.simulator.validation.recorded_run import (
    RecordedOrder,
    RecordedRun,
    offered_totals,
    simulate_recorded_run,
    starts,
)
from testbed.simulator.validation.refit import CALM_S

Series = NDArray[np.float64]

_BIN_S = 10.0
_MINUTE_S = 60.0
#: Shortest run that leaves two whole minutes to compare, seconds.
MIN_RUN_S = CALM_S + 2 * _MINUTE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimeline:
    """Totals of a run, without its start-up."""

    #: Rows processed.
    processed_rows: float
    #: Mean batch duration, weighted by time.
    batch_time_s: float
    #: Mean and largest backlog (backlog_rows, backlog_peak_rows).
    backlog_rows: float
    backlog_peak_rows: float
    #: Mean time from the order of a replica to the end of its first batch; None without new replicas.
    serving_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineErrors:
    """Mean absolute differences of two runs at the same instants."""

    #: Of the rows processed in each 10 s, and in each minute, per cent of their mean (throughput_pct,
    #: throughput_minute_pct).
    throughput_pct: float
    throughput_minute_pct: float
    #: Of the batch duration, weighted by time, per cent of its mean.
    batch_time_pct: float
    #: Of its means over minutes, per cent.
    batch_time_minute_pct: float
    #: Of the backlog, per cent of the largest recorded one.
    backlog_pct: float
    #: Of the instants by which the same number of rows had been processed, seconds; all rows have equal weight.
    row_delay_s: float


def timeline_of(batches: Sequence[Batch], orders: Sequence[RecordedOrder], operator: Operator) -> RunTimeline:
    """Return the totals of a run of at least 150 s."""
    seconds = np.arange(CALM_S, batches[-1].ended_at_s, 1.0)
    backlog = backlog_rows(batches, seconds)
    serving_s = [start.serving_s for start in starts(batches, orders, operator)]
    return RunTimeline(
        processed_rows=float(np.diff(_processed(batches, seconds[[0, -1]]))[0]),
        batch_time_s=float(batch_time_s(batches, seconds).mean()),
        backlog_rows=float(backlog.mean()),
        backlog_peak_rows=float(backlog.max()),
        serving_s=float(np.mean(serving_s)) if serving_s else None,
    )


def timeline_errors(recorded: Sequence[Batch], simulated: Sequence[Batch]) -> TimelineErrors:
    """Compare two runs, without their start-up."""
    until_s = min(recorded[-1].ended_at_s, simulated[-1].ended_at_s)
    pair = (recorded, simulated)
    bins, minutes = (np.arange(CALM_S, until_s, width) for width in (_BIN_S, _MINUTE_S))
    grid = np.arange(CALM_S, until_s, 1.0)
    durations = [batch_time_s(timeline, grid) for timeline in pair]
    whole = int(len(grid) // _MINUTE_S * _MINUTE_S)
    backlogs = [backlog_rows(timeline, grid) for timeline in pair]
    return TimelineErrors(
        throughput_pct=_error_pct(*(np.diff(_processed(timeline, bins)) for timeline in pair)),
        throughput_minute_pct=_error_pct(*(np.diff(_processed(timeline, minutes)) for timeline in pair)),
        batch_time_pct=_error_pct(*durations),
        batch_time_minute_pct=_error_pct(
            *(series[:whole].reshape(-1, int(_MINUTE_S)).mean(axis=1) for series in durations)
        ),
        backlog_pct=_error_pct(*backlogs, reference=max(1.0, float(backlogs[0].max()))),
        row_delay_s=_row_delay_s(recorded, simulated, until_s),
    )


def batch_time_s(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return the duration of the batch that ran at each instant, or of the next one."""
    ends = np.array([batch.ended_at_s for batch in batches])
    durations = np.array([batch.seconds for batch in batches])
    result: Series = durations[np.minimum(np.searchsorted(ends, at_s), len(durations) - 1)]
    return result


def backlog_rows(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return the backlog, interpolated between the ends of batches, at which it is reported."""
    ends = [batch.ended_at_s for batch in batches]
    result: Series = np.interp(at_s, ends, [batch.backlog_rows or 0.0 for batch in batches])
    return result


def _processed(batches: Sequence[Batch], at_s: Series) -> Series:
    ends = [batch.ended_at_s for batch in batches]
    result: Series = np.interp(at_s, ends, np.cumsum([batch.rows for batch in batches]))
    return result


def _row_delay_s(recorded: Sequence[Batch], simulated: Sequence[Batch], until_s: float) -> float:
    curves = [
        (np.cumsum([float(batch.rows) for batch in timeline]), [batch.ended_at_s for batch in timeline])
        for timeline in (recorded, simulated)
    ]
    calm = max(float(_processed(timeline, np.array([CALM_S]))[0]) for timeline in (recorded, simulated))
    most = min(float(_processed(timeline, np.array([until_s]))[0]) for timeline in (recorded, simulated))
    rows = np.linspace(calm, most, 1000)
    one, other = (np.interp(rows, counts, ends) for counts, ends in curves)
    return float(np.abs(one - other).mean())


def _error_pct(recorded: Series, simulated: Series, *, reference: float | None = None) -> float:
    """Return the mean absolute difference, per cent of the recorded mean or of another reference."""
    base = max(1e-9, float(recorded.mean())) if reference is None else reference
    return 100 * float(np.abs(simulated - recorded).mean()) / base


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSpread:
    """Distribution of a quantity over seeds."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "FigureSpread":
        """Summarise at least one value."""
        return cls(median=statistics.median(values), minimum=min(values), maximum=max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTotal:
    """A quantity of a whole run."""

    #: Value of the record.
    recorded: float
    #: Values of the replays.
    simulated: FigureSpread
    #: Error of the simulated median, per cent of the recorded value; None if that is 0.
    error_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Differences of runs at the same instants."""

    #: The simulated ones from the recorded one, over seeds.
    from_record: FigureSpread
    #: The simulated ones from each other, each from the next seed's; what chance alone makes of it. None for
    #: a single seed.
    between_seeds: FigureSpread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """A recorded run compared with its simulated replays."""

    #: Errors of the physics on the warm batches of the record, in total and for parts of them.
    warm_batches: Mapping[str, BatchErrors]
    #: By the name of the quantity: of `RunTimeline` and of `TimelineErrors` (totals, distances).
    totals: Mapping[str, RunTotal]
    distances: Mapping[str, Distance]


def replay_run(run: RecordedRun, physics: SparkPhysics, seeds: int) -> tuple[tuple[Batch, ...], ...]:
    """Replay a run with seeds 0, 1, ..."""
    return tuple(simulate_recorded_run(run, physics, seed=seed) for seed in range(seeds))


def compare_run(run: RecordedRun, physics: SparkPhysics, replays: Sequence[Sequence[Batch]]) -> RunComparison:
    """Compare a recorded run with its replays.

    Raises
    ------
    InputError
        If the run is too short, or has no warm batches.
    """
    if run.duration_s < MIN_RUN_S:
        raise InputError("recorded-run-too-short", source=run.name, min_s=MIN_RUN_S, got_s=run.duration_s)
    measured = batches_of_run(run, from_s=CALM_S)
    if not measured:
        raise InputError("recorded-run-without-warm-batches", source=run.name, after_s=CALM_S)
    distances = [timeline_errors(run.batches, batches) for batches in replays]
    chance = [timeline_errors(one, other) for one, other in pairwise(replays)]
    recorded = timeline_of(run.batches, run.orders, run.operator)
    timelines = [timeline_of(batches, run.orders, run.operator) for batches in replays]
    return RunComparison(
        warm_batches={label: batch_errors(physics, part) for label, part in parts_of_run(measured).items() if part},
        totals={
            name: _total(getattr(recorded, name), values)
            for name in (field.name for field in fields(RunTimeline))
            if (values := [v for timeline in timelines if (v := getattr(timeline, name)) is not None])
            and getattr(recorded, name) is not None
        },
        distances={
            name: Distance(
                from_record=FigureSpread.of([getattr(each, name) for each in distances]),
                between_seeds=FigureSpread.of([getattr(each, name) for each in chance]) if chance else None,
            )
            for name in (field.name for field in fields(TimelineErrors))
        },
    )


def between_runs(runs: Sequence[RecordedRun]) -> dict[str, TimelineErrors]:
    """Compare recorded runs of at least 150 s with each other: the scatter of real runs."""
    return {
        f"{one.name}, {other.name}": timeline_errors(one.batches, _aligned_to(one, other))
        for one, other in combinations(runs, 2)
    }


def parts_of_run(measured: Sequence[MeasuredBatch]) -> dict[str, list[MeasuredBatch]]:
    """Split the warm batches of a run: all, full ones, others, and by replicas."""
    counts = sorted({item.replicas for item in measured})
    return {
        "all warm": list(measured),
        "full": [item for item in measured if item.is_full],
        "not full": [item for item in measured if not item.is_full],
        **{f"n = {count}": [item for item in measured if item.replicas == count] for count in counts},
    }


def _aligned_to(one: RecordedRun, other: RecordedRun) -> tuple[Batch, ...]:
    """Return the batches of the other run, shifted by the median delay at which the same rows were offered to it."""
    curves = [offered_totals(run.batches) for run in (one, other)]
    rows = np.linspace(0.05, 0.95, 91) * min(totals[-1] for _, totals in curves)
    instants = [np.interp(rows, totals, begins) for begins, totals in curves]
    later_s = float(np.median(instants[1] - instants[0]))
    return tuple(replace(batch, ended_at_s=batch.ended_at_s - later_s) for batch in other.batches)


def _total(recorded: float, values: Sequence[float]) -> RunTotal:
    simulated = FigureSpread.of(values)
    error_pct = 100 * (simulated.median / recorded - 1) if recorded else None
    return RunTotal(recorded=recorded, simulated=simulated, error_pct=error_pct)
