"""Capacity of workers by throughput over CPU, and the choice of the fewest workers (Daedalus, 3.1, 3.2)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gesscale.model.observation import OperatorReading
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.shared.signals import cpu_share

#: Minimum variance of the CPU shares for an extrapolation to 100 %.
_MIN_VARIANCE = 1e-3

#: Minimum number of windows of a minute each, as many as 120 samples of a second.
_MIN_WINDOWS = 2

#: Upper limit of the regression, relative to throughput over CPU.
_MAX_ABOVE_RATIO = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRegression:
    """Running sums of the least squares line of a worker, one sample per window (Welford's one-pass form)."""

    #: Number of samples.
    count: int = 0
    #: Mean CPU, 0..1, and mean throughput, rows/s (mean_cpu, mean_rate).
    mean_cpu: float = 0.0
    mean_rate: float = 0.0
    #: Sums of squared deviations of the CPU, and of products of both deviations (square_cpu, product).
    square_cpu: float = 0.0
    product: float = 0.0

    def with_sample(self, cpu: float, rate: float) -> "CpuRegression":
        """Return the sums with one more sample."""
        count = self.count + 1
        off_cpu, off_rate = cpu - self.mean_cpu, rate - self.mean_rate
        mean_cpu = self.mean_cpu + off_cpu / count
        mean_rate = self.mean_rate + off_rate / count
        return CpuRegression(
            count=count,
            mean_cpu=mean_cpu,
            mean_rate=mean_rate,
            square_cpu=self.square_cpu + off_cpu * (cpu - mean_cpu),
            product=self.product + off_cpu * (rate - mean_rate),
        )

    @property
    def slope(self) -> float | None:
        """Rows/s per full CPU; None if the samples are too few or too similar."""
        if self.count < _MIN_WINDOWS or self.square_cpu / self.count < _MIN_VARIANCE:
            return None
        return self.product / self.square_cpu

    def rate_at(self, cpu: float) -> float | None:
        """Return the throughput of the line at a CPU utilisation; None if there is no line."""
        slope = self.slope
        return None if slope is None else self.mean_rate + slope * (cpu - self.mean_cpu)


class Worker(NamedTuple):
    """A worker over one window."""

    #: Rows that it processed per second.
    rows_per_s: float
    #: CPU, 0..1.
    cpu: float


def workers(reading: OperatorReading) -> Mapping[str, Worker]:
    """Return the workers that processed rows; empty if CPU is not reported."""
    mean = Worker(reading.throughput_rows_per_s / max(1, reading.replicas), cpu_share(reading))
    reported = {
        node: Worker(each.throughput_rows_per_s, math.nan if each.cpu_share is None else each.cpu_share)
        for node, each in reading.by_node.items()
    }
    found = reported or dict.fromkeys(reading.placement, mean)
    return {node: each for node, each in found.items() if _works(each) and node in reading.placement}


def with_window(lines: Mapping[str, CpuRegression], window: Mapping[str, Worker]) -> Mapping[str, CpuRegression]:
    """Add one sample of each worker of the window to the lines."""
    return {
        **lines,
        **{
            node: lines.get(node, CpuRegression()).with_sample(each.cpu, each.rows_per_s)
            for node, each in window.items()
        },
    }


def hottest_cpu(window: Mapping[str, Worker]) -> float:
    """Return the highest CPU of a worker, 0..1; the window must not be empty."""
    return max(each.cpu for each in window.values())


def job_capacity(
    lines: Mapping[str, CpuRegression], window: Mapping[str, Worker], replicas: int, full_cpu: float = 1.0
) -> float:
    """Return the capacity of all workers together.

    Notes
    -----
    Skew: rows are distributed by key, so when the hottest worker is at its limit, the others stay at their share of its
    CPU (section 3.1, figures 3 and 4).
    """
    share = full_cpu / hottest_cpu(window)
    found = [_capacity(lines.get(node, CpuRegression()), each, each.cpu * share) for node, each in window.items()]
    return sum(found) / len(found) * replicas


def _capacity(line: CpuRegression, now: Worker, reachable_cpu: float) -> float:
    """Return the line of a worker at its reachable CPU, limited to a plausible range."""
    ratio = now.rows_per_s / now.cpu
    predicted = line.rate_at(reachable_cpu)
    if predicted is None:
        return ratio * reachable_cpu
    return min(max(predicted, now.rows_per_s), _MAX_ABOVE_RATIO * ratio)


def _works(worker: Worker) -> bool:
    return all(math.isfinite(figure) and figure > 0 for figure in worker)


# A larger relative difference from the remembered capacity indicates another job or other nodes: four times the error
# of 5 % that the paper reports.
_DRIFT_SHARE = 0.2

# Capacities expire after this time, the length of the paper's runs.
_REMEMBERED_S = 6 * 3600.0

#: Weight of an extrapolated capacity against an observed one.
_GUESSED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRate:
    """Observed capacity of a number of workers, rows/s, and the time of the last observation."""

    rows_per_s: float
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacities:
    """Observed capacities."""

    #: The newest capacity divided by its number of workers; 0 if there is none.
    per_worker_rows_per_s: float = 0.0
    #: Observations by number of workers.
    observed: Mapping[int, ObservedRate] = field(default_factory=dict)

    def updated(self, workers: int, rows_per_s: float, at_s: float) -> "Capacities":
        """Add the newest capacity of a number of workers."""
        before = self.observed.get(workers)
        recent = {count: rate for count, rate in self.observed.items() if at_s - rate.at_s <= _REMEMBERED_S}
        remembered = rows_per_s
        if before is not None and abs(rows_per_s - before.rows_per_s) > _DRIFT_SHARE * before.rows_per_s:
            recent = {}
        elif before is not None and workers in recent:
            remembered = (before.rows_per_s + rows_per_s) / 2
        recent[workers] = ObservedRate(rows_per_s=remembered, at_s=at_s)
        return Capacities(per_worker_rows_per_s=rows_per_s / workers, observed=recent)

    def up_to(self, most: int) -> tuple[float, ...]:
        """Return the capacities of 1, 2 ... `most` workers, rows/s; empty if nothing is known.

        Notes
        -----
        Isotonic regression makes them non-decreasing: contradicting observations are averaged, and extrapolated values
        adapt to observed ones. Algorithm 1 searches upwards for the smallest sufficient number of workers.
        """
        if self.per_worker_rows_per_s <= 0:
            return ()
        counts = range(1, most + 1)
        raw = [
            self.observed[count].rows_per_s if count in self.observed else count * self.per_worker_rows_per_s
            for count in counts
        ]
        weights = [1.0 if count in self.observed else _GUESSED for count in counts]
        return tuple(scipy.optimize.isotonic_regression(raw, weights=weights).x.tolist())


_MIN_DOWNTIME_S = 1.0

# Weight of a measured downtime against the previous estimate.
_NEWEST_DOWNTIME = 0.3

# No scale-in if the backlog exceeds what fewer replicas process in this time (Algorithm 1).
_LAG_S = 1.0


def predicted_recovery_s(
    capacity_rows_per_s: float, waiting_rows: float, forecast_rows_per_s: NDArray[np.float64], downtime_s: float
) -> float:
    """Return the time from a stop until the accumulated backlog is processed.

    Parameters
    ----------
    forecast_rows_per_s
        Predicted load of each second from now.
    """
    if not downtime_s < forecast_rows_per_s.size:
        return math.inf
    down = math.ceil(downtime_s)
    backlog_rows = waiting_rows + float(forecast_rows_per_s[:down].sum())
    spare = np.cumsum(capacity_rows_per_s - forecast_rows_per_s[down:])
    after = np.flatnonzero(spare > backlog_rows)
    return float(down + after[0] + 1) if after.size else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtimes:
    """Downtime of a change, seconds, by its direction."""

    out_s: float
    in_s: float

    def updated(self, workers_more: int, downtime_s: float) -> "Downtimes":
        """Add the measured downtime of a change by a number of workers."""

        def mean_s(before_s: float) -> float:
            return max(_MIN_DOWNTIME_S, before_s + _NEWEST_DOWNTIME * (downtime_s - before_s))

        if workers_more > 0:
            return replace(self, out_s=mean_s(self.out_s))
        return replace(self, in_s=mean_s(self.in_s)) if workers_more < 0 else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOutContext:
    """Inputs of the decision."""

    #: Present number of workers.
    workers: int
    #: Capacities of 1, 2 ... workers, rows/s; at least up to the present number.
    capacities: tuple[float, ...]
    #: Maximum number of workers.
    max_workers: int
    #: Mean load since the last step.
    input_rows_per_s: float
    #: Waiting rows; None if unknown.
    backlog_rows: float | None
    #: Maximum number of rows since the last checkpoint, which a stop repeats.
    replayed_rows: float
    #: Predicted load of each second from now.
    forecast_rows_per_s: NDArray[np.float64]
    #: Downtimes of changes.
    downtimes: Downtimes
    #: Time since the last change; infinite if there was none.
    since_rescale_s: float

    def max_expected(self, within_s: float) -> float:
        """Return the highest predicted rate within a time, rows/s."""
        seconds = math.ceil(min(within_s, len(self.forecast_rows_per_s)))
        return float(self.forecast_rows_per_s[:seconds].max())

    def recovery_s(self, workers: int) -> float:
        """Return the predicted recovery time with a number of workers; for the present number, from a failure."""
        downtime_s = self.downtimes.in_s if workers < self.workers else self.downtimes.out_s
        return predicted_recovery_s(
            self.capacities[workers - 1],
            self.replayed_rows + (self.backlog_rows or 0.0),
            self.forecast_rows_per_s,
            downtime_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOutChoice:
    """Chosen number of workers."""

    #: The number.
    workers: int
    #: Result of the choice.
    basis: "ChoiceBasis"
    #: The first check that each smaller number failed, in order.
    failed: tuple[tuple[int, "ScaleOutCheck"], ...] = ()


class ChoiceBasis(StrEnum):
    """Result that a choice is based on."""

    RECENT_CHANGE = "sufficient until the next step after a recent change"
    ALL_CHECKS = "passes all checks"
    MAXIMUM = "no number passes all checks"


class ScaleOutCheck(StrEnum):
    """Checks of Algorithm 1, in its order; the values are their explanations."""

    INPUT = "below the input"
    RECOVERY = "recovery exceeds {recovery_target_s:g} s"
    FORECAST_IN_RECOVERY = "below the forecast during recovery"
    BACKLOG = "backlog exceeds {lag_s:g} s of work"
    FORECAST = "below the forecast of {forecast_s:g} s"


def choose(situation: ScaleOutContext, settings: DaedalusSettings) -> ScaleOutChoice:
    """Choose a number of workers."""
    if _lasts_a_loop(situation, settings):
        return ScaleOutChoice(workers=situation.workers, basis=ChoiceBasis.RECENT_CHANGE)
    failed: list[tuple[int, ScaleOutCheck]] = []
    for workers in range(1, situation.max_workers + 1):
        check = _failed_check(workers, situation, settings)
        if check is None:
            return ScaleOutChoice(workers=workers, basis=ChoiceBasis.ALL_CHECKS, failed=tuple(failed))
        failed.append((workers, check))
    return ScaleOutChoice(workers=situation.max_workers, basis=ChoiceBasis.MAXIMUM, failed=tuple(failed))


def explain(choice: ScaleOutChoice, situation: ScaleOutContext, settings: DaedalusSettings) -> str:
    """Return the explanation of a choice: its result, and the check that each smaller number failed."""
    if choice.basis is ChoiceBasis.RECENT_CHANGE:
        return f"{choice.basis}, {situation.since_rescale_s:.0f} s ago"
    parts = [str(choice.basis)]
    if choice.basis is ChoiceBasis.ALL_CHECKS:
        parts = [f"{choice.workers} replicas recover in {situation.recovery_s(choice.workers):.0f} s"]
    limits = {
        "recovery_target_s": settings.recovery_target_s,
        "lag_s": _LAG_S,
        "forecast_s": len(situation.forecast_rows_per_s),
    }
    for check, group in groupby(choice.failed, key=lambda each: each[1]):
        counts = [workers for workers, _ in group]
        span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts.append(f"{span}: {check.format(**limits)}")
    return "; ".join(parts)


def _lasts_a_loop(situation: ScaleOutContext, settings: DaedalusSettings) -> bool:
    capacity = situation.capacities[situation.workers - 1]
    return (
        situation.since_rescale_s < settings.recent_rescale_s
        and capacity > situation.input_rows_per_s
        and capacity > situation.max_expected(settings.loop_s)
    )


def _failed_check(workers: int, situation: ScaleOutContext, settings: DaedalusSettings) -> ScaleOutCheck | None:
    """Return the first check that a number of workers fails, in the order of Algorithm 1; None if it passes all."""
    capacity, present = situation.capacities[workers - 1], situation.workers
    if capacity <= situation.input_rows_per_s:
        return ScaleOutCheck.INPUT
    recovery_s, horizon_s = situation.recovery_s(workers), len(situation.forecast_rows_per_s)
    checks = [
        (recovery_s > settings.recovery_target_s, ScaleOutCheck.RECOVERY),
        (capacity < situation.max_expected(recovery_s), ScaleOutCheck.FORECAST_IN_RECOVERY),
    ]
    if workers < present:
        backlog_rows = math.inf if situation.backlog_rows is None else situation.backlog_rows
        checks.append((capacity * _LAG_S < backlog_rows, ScaleOutCheck.BACKLOG))
    if workers != present:
        checks.append((capacity <= situation.max_expected(horizon_s), ScaleOutCheck.FORECAST))
    return next((check for failed, check in checks if failed), None)
