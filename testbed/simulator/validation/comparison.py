"""What ``validate`` reports: each recorded run against the simulator."""

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
from testbed.simulator.validation.batches import BatchErrors, MeasuredBatch, batch_errors, of_run
from testbed.simulator.validation.recorded_run import RecordedOrder, RecordedRun, offered_totals, reenact, starts
from testbed.simulator.validation.refit import CALM_S

Series = NDArray[np.float64]

_BIN_S = 10.0
_MINUTE_S = 60.0
#: Two whole minutes can be compared then.
LEAST_S = CALM_S + 2 * _MINUTE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimeline:
    """What a course came to, from the time on when the query had started up."""

    #: Rows processed.
    processed_rows: float
    #: Mean duration of the batch that ran, weighted by time.
    batch_time_s: float
    #: Mean and greatest backlog (backlog_rows, backlog_peak_rows).
    backlog_rows: float
    backlog_peak_rows: float
    #: Mean time from the order of a replica to the end of the first batch that it worked on; None without
    #: one.
    serving_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineErrors:
    """How far two courses are apart, as mean absolute differences at the same instants."""

    #: Of the rows processed in each 10 s, and in each minute, in per cent of their mean (throughput_pct,
    #: throughput_minute_pct).
    throughput_pct: float
    throughput_minute_pct: float
    #: Of the duration of the batch that ran, weighted by time, in per cent of its mean.
    batch_time_pct: float
    #: The same of its means over minutes.
    batch_time_minute_pct: float
    #: Of the backlog, in per cent of the largest that was recorded.
    backlog_pct: float
    #: Of the instants by which the same number of rows had been processed, seconds; each row counts alike.
    row_delay_s: float


def timeline_of(batches: Sequence[Batch], orders: Sequence[RecordedOrder], operator: Operator) -> RunTimeline:
    """Sum up a course of at least 150 s."""
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
    """Compare two courses from the time on when the query had started up."""
    until_s = min(recorded[-1].ended_at_s, simulated[-1].ended_at_s)
    pair = (recorded, simulated)
    bins, minutes = (np.arange(CALM_S, until_s, width) for width in (_BIN_S, _MINUTE_S))
    grid = np.arange(CALM_S, until_s, 1.0)
    taken = [batch_time_s(timeline, grid) for timeline in pair]
    whole = int(len(grid) // _MINUTE_S * _MINUTE_S)
    backlogs = [backlog_rows(timeline, grid) for timeline in pair]
    return TimelineErrors(
        throughput_pct=_error_pct(*(np.diff(_processed(timeline, bins)) for timeline in pair)),
        throughput_minute_pct=_error_pct(*(np.diff(_processed(timeline, minutes)) for timeline in pair)),
        batch_time_pct=_error_pct(*taken),
        batch_time_minute_pct=_error_pct(
            *(series[:whole].reshape(-1, int(_MINUTE_S)).mean(axis=1) for series in taken)
        ),
        backlog_pct=_error_pct(*backlogs, whole=max(1.0, float(backlogs[0].max()))),
        row_delay_s=_row_delay_s(recorded, simulated, until_s),
    )


def batch_time_s(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return how long the batch took that ran at each instant, or that came next."""
    ends = np.array([batch.ended_at_s for batch in batches])
    durations = np.array([batch.seconds for batch in batches])
    result: Series = durations[np.minimum(np.searchsorted(ends, at_s), len(durations) - 1)]
    return result


def backlog_rows(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return the backlog: that of a batch's report holds when it ends, and changes evenly in between."""
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


def _error_pct(recorded: Series, simulated: Series, *, whole: float | None = None) -> float:
    """Return the mean absolute difference in per cent of the recorded mean, or of another whole."""
    part = max(1e-9, float(recorded.mean())) if whole is None else whole
    return 100 * float(np.abs(simulated - recorded).mean()) / part


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
    """A quantity of a whole run."""

    #: Of the record.
    recorded: float
    #: Over seeds.
    simulated: FigureSpread
    #: Of the simulated median, in per cent of what was recorded; None where that is 0.
    error_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How far courses are apart at the same instants."""

    #: The simulated ones from the recorded one, over seeds.
    from_record: FigureSpread
    #: The simulated ones from each other, each from the next seed's; what chance alone makes of it. None for
    #: a single seed.
    between_seeds: FigureSpread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """A recorded run against the same run acted again."""

    #: Of the record, each against the physics on its own rows and nodes: all, and parts of them.
    warm_batches: Mapping[str, BatchErrors]
    #: By the name of the quantity: of `RunTimeline` and of `TimelineErrors` (totals, distances).
    totals: Mapping[str, Total]
    distances: Mapping[str, Distance]


def act_again(run: RecordedRun, physics: SparkPhysics, seeds: int) -> tuple[tuple[Batch, ...], ...]:
    """Act a run again with seeds 0, 1, ..."""
    return tuple(reenact(run, physics, seed=seed) for seed in range(seeds))


def compare_run(run: RecordedRun, physics: SparkPhysics, acted: Sequence[Sequence[Batch]]) -> RunComparison:
    """Compare a recorded run with how it was acted again.

    Raises
    ------
    InputError
        Where the run is too short, or has no warm batches.
    """
    if run.duration_s < LEAST_S:
        raise InputError(f"{run.name}: expected a run of at least {LEAST_S:.0f} s, got {run.duration_s:.0f} s")
    measured = of_run(run, from_s=CALM_S)
    if not measured:
        raise InputError(
            f"{run.name}: expected warm batches after the first {CALM_S:.0f} s, got none; take a longer run"
        )
    distances = [timeline_errors(run.batches, batches) for batches in acted]
    chance = [timeline_errors(one, other) for one, other in pairwise(acted)]
    recorded = timeline_of(run.batches, run.orders, run.operator)
    timelines = [timeline_of(batches, run.orders, run.operator) for batches in acted]
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
    """Compare recorded runs of at least 150 s with each other: how far real runs are apart."""
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
