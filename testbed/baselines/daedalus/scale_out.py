"""What numbers of workers can do, by throughput over CPU, and the fewest that carry the load (Daedalus, 3.1, 3.2)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import scipy
from numpy.typing import NDArray

from gesscale.model.observation import NodeReading, OperatorReading
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.shared.signals import cpu_share

#: Of the CPU, as shares: below it a line through the samples says nothing of 100 %.
_LEAST_VARIANCE = 1e-3

#: Of a minute each, as many as 120 samples of a second.
_LEAST_WINDOWS = 2

#: A line may promise this much more than throughput over CPU does.
_MOST_ABOVE_RATIO = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRegression:
    """Running sums of a worker's least squares line, one sample a window (Welford's one-pass form)."""

    #: Samples.
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
        """Rows/s for the whole CPU; None while the samples are too few or too much alike."""
        if self.count < _LEAST_WINDOWS or self.square_cpu / self.count < _LEAST_VARIANCE:
            return None
        return self.product / self.square_cpu

    def rate_at(self, cpu: float) -> float | None:
        """Return the line's throughput at a CPU utilisation; None while there is no line."""
        slope = self.slope
        return None if slope is None else self.mean_rate + slope * (cpu - self.mean_cpu)


def workers(reading: OperatorReading) -> Mapping[str, NodeReading]:
    """Return the figures of each worker that did something."""
    reported = reading.by_node or dict.fromkeys(
        reading.placement,
        NodeReading(
            throughput_rows_per_s=reading.throughput_rows_per_s / max(1, reading.replicas),
            cpu_share=cpu_share(reading)[0],
        ),
    )
    return {node: each for node, each in reported.items() if _works(each) and node in reading.placement}


def with_window(lines: Mapping[str, CpuRegression], window: Mapping[str, NodeReading]) -> Mapping[str, CpuRegression]:
    """Return the workers' lines with one sample more of each worker that is seen."""
    return {
        **lines,
        **{
            node: lines.get(node, CpuRegression()).with_sample(each.cpu_share, each.throughput_rows_per_s)
            for node, each in window.items()
        },
    }


def hottest_cpu(window: Mapping[str, NodeReading]) -> float:
    """Return the CPU of the worker with the most work, 0..1; there must be one."""
    return max(each.cpu_share for each in window.values())


def job_capacity(
    lines: Mapping[str, CpuRegression], window: Mapping[str, NodeReading], replicas: int, full_cpu: float = 1.0
) -> float:
    """Return what all workers together could do.

    Notes
    -----
    Skew: rows are dealt by key, so when the hottest worker is at its limit the others are at their share of its CPU,
    and can get no more (section 3.1, figures 3 and 4).
    """
    share = full_cpu / hottest_cpu(window)
    found = [_capacity(lines.get(node, CpuRegression()), each, each.cpu_share * share) for node, each in window.items()]
    return sum(found) / len(found) * replicas


def _capacity(line: CpuRegression, now: NodeReading, reachable_cpu: float) -> float:
    """Return a worker's line at the CPU that it can reach, held between what it does and what cannot be."""
    ratio = now.throughput_rows_per_s / now.cpu_share
    predicted = line.rate_at(reachable_cpu)
    if predicted is None:
        return ratio * reachable_cpu
    return min(max(predicted, now.throughput_rows_per_s), _MOST_ABOVE_RATIO * ratio)


def _works(figures: NodeReading) -> bool:
    both = figures.throughput_rows_per_s, figures.cpu_share
    return all(math.isfinite(figure) and figure > 0 for figure in both)


# A capacity that differs from the remembered one by a greater share means another job or other nodes: four times the
# error of 5 % that the paper reports.
_DRIFT_SHARE = 0.2

# The length of the paper's runs, in which none expires.
_REMEMBERED_S = 6 * 3600.0

#: Weight of a capacity in proportion against one that was seen, where the two contradict each other.
_GUESSED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRate:
    """The capacity at a number of workers, rows/s, and when it was last found."""

    rows_per_s: float
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacities:
    """What is known of capacities."""

    #: The newest capacity over its number of workers; 0 before there is any.
    per_worker_rows_per_s: float = 0.0
    #: By number of workers.
    seen: Mapping[int, ObservedRate] = field(default_factory=dict)

    def learned(self, workers: int, rows_per_s: float, at_s: float) -> "Capacities":
        """Return the same with the newest capacity of so many workers."""
        before = self.seen.get(workers)
        kept = {count: seen for count, seen in self.seen.items() if at_s - seen.at_s <= _REMEMBERED_S}
        remembered = rows_per_s
        if before is not None and abs(rows_per_s - before.rows_per_s) > _DRIFT_SHARE * before.rows_per_s:
            kept = {}
        elif before is not None and workers in kept:
            remembered = (before.rows_per_s + rows_per_s) / 2
        kept[workers] = ObservedRate(rows_per_s=remembered, at_s=at_s)
        return Capacities(per_worker_rows_per_s=rows_per_s / workers, seen=kept)

    def up_to(self, most: int) -> tuple[float, ...]:
        """Return the capacities of 1, 2 ... `most` workers, rows/s; empty before anything is known.

        Notes
        -----
        Never falling: values that were seen and contradict each other meet in the middle; values in proportion give way
        to them (isotonic regression). Algorithm 1 looks for the fewest workers that do, from one upwards.
        """
        if self.per_worker_rows_per_s <= 0:
            return ()
        counts = range(1, most + 1)
        raw = [
            self.seen[count].rows_per_s if count in self.seen else count * self.per_worker_rows_per_s
            for count in counts
        ]
        weights = [1.0 if count in self.seen else _GUESSED for count in counts]
        return tuple(scipy.optimize.isotonic_regression(raw, weights=weights).x.tolist())


_LEAST_DOWNTIME_S = 1.0

# Weight of a measured downtime against the previous estimate.
_NEWEST_DOWNTIME = 0.3

# Until a failure is noticed, added to the recovery of the present replicas: the paper has none.
_DETECTION_S = 0.001

# No replica goes while the backlog is more than the fewer replicas process in this time (Algorithm 1).
_LAG_S = 1.0


def predicted_recovery_s(
    capacity_rows_per_s: float, waiting_rows: float, forecast_rows_per_s: NDArray[np.float64], downtime_s: float
) -> float:
    """Return the time from a stop until all that piled up is processed.

    Parameters
    ----------
    forecast_rows_per_s
        The workload of each second from now.
    """
    if not downtime_s < forecast_rows_per_s.size:
        return math.inf
    down = math.ceil(downtime_s)
    piled_up = waiting_rows + float(forecast_rows_per_s[:down].sum())
    spare = np.cumsum(capacity_rows_per_s - forecast_rows_per_s[down:])
    after = np.flatnonzero(spare > piled_up)
    return float(down + after[0] + 1) if after.size else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtimes:
    """How long a change stops the job, seconds, by its direction."""

    out_s: float
    in_s: float

    def learned(self, workers_more: int, downtime_s: float) -> "Downtimes":
        """Return the same after a change by so many workers that took so long."""

        def mean_s(before_s: float) -> float:
            return max(_LEAST_DOWNTIME_S, before_s + _NEWEST_DOWNTIME * (downtime_s - before_s))

        if workers_more > 0:
            return replace(self, out_s=mean_s(self.out_s))
        return replace(self, in_s=mean_s(self.in_s)) if workers_more < 0 else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOutContext:
    """What the decision rests on."""

    #: How many there are.
    workers: int
    #: Of 1, 2 ... workers, rows/s; at least as many as there are.
    capacities: tuple[float, ...]
    #: How many there may be.
    most_workers: int
    #: Mean workload since the last look.
    input_rows_per_s: float
    #: Rows that wait; None where that is unknown.
    backlog_rows: float | None
    #: Rows since the last checkpoint, at worst, that a stop makes undone.
    replayed_rows: float
    #: The workload of each second from now.
    forecast_rows_per_s: NDArray[np.float64]
    #: How long a change stops the job.
    downtimes: Downtimes
    #: Time since the last change; infinity where there was none.
    since_rescale_s: float

    def most_expected(self, within_s: float) -> float:
        """Return the greatest rate that is forecast within a time, rows/s."""
        seconds = math.ceil(min(within_s, len(self.forecast_rows_per_s)))
        return float(self.forecast_rows_per_s[:seconds].max())

    def recovery_s(self, workers: int) -> float:
        """Return the predicted recovery time with so many workers; with as many as now, from a failure."""
        downtime_s = self.downtimes.in_s if workers < self.workers else self.downtimes.out_s
        return predicted_recovery_s(
            self.capacities[workers - 1],
            self.replayed_rows + (self.backlog_rows or 0.0),
            self.forecast_rows_per_s,
            downtime_s + (_DETECTION_S if workers == self.workers else 0.0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOutChoice:
    """The choice."""

    #: How many there should be.
    workers: int
    #: For people: what was enough, and the test that each smaller number failed.
    why: str


def choose(situation: ScaleOutContext, settings: DaedalusSettings) -> ScaleOutChoice:
    """Choose a number of workers."""
    if _lasts_a_loop(situation, settings):
        why = f"enough until the next look, {situation.since_rescale_s:.0f} s after the last change"
        return ScaleOutChoice(workers=situation.workers, why=why)
    fallen: list[tuple[int, str]] = []
    for workers in range(1, situation.most_workers + 1):
        failed = _failed_test(workers, situation, settings)
        if failed is None:
            why = f"{workers} recover in {situation.recovery_s(workers):.0f} s"
            return ScaleOutChoice(workers=workers, why="; ".join((why, *_grouped(fallen))))
        fallen.append((workers, failed))
    return ScaleOutChoice(workers=situation.most_workers, why="; ".join(("no number passes", *_grouped(fallen))))


def _lasts_a_loop(situation: ScaleOutContext, settings: DaedalusSettings) -> bool:
    capacity = situation.capacities[situation.workers - 1]
    return (
        situation.since_rescale_s < settings.recent_rescale_s
        and capacity > situation.input_rows_per_s
        and capacity > situation.most_expected(settings.loop_s)
    )


def _failed_test(workers: int, situation: ScaleOutContext, settings: DaedalusSettings) -> str | None:
    """Return the test that a number of workers does not pass, in the order of Algorithm 1; None where it passes."""
    capacity, present = situation.capacities[workers - 1], situation.workers
    if capacity <= situation.input_rows_per_s:
        return "below the input"
    recovery_s, horizon_s = situation.recovery_s(workers), len(situation.forecast_rows_per_s)
    tests = [
        (recovery_s > settings.recovery_target_s, f"no recovery within {settings.recovery_target_s:g} s"),
        (capacity < situation.most_expected(recovery_s), "below the forecast while recovering"),
    ]
    if workers < present:
        backlog_rows = math.inf if situation.backlog_rows is None else situation.backlog_rows
        tests.append((capacity * _LAG_S < backlog_rows, f"more than {_LAG_S:g} s of work waits"))
    if workers != present:
        lasts = capacity > situation.most_expected(horizon_s)
        tests.append((not lasts, f"below the forecast of {horizon_s} s"))
    return next((said for failed, said in tests if failed), None)


def _grouped(fallen: list[tuple[int, str]]) -> list[str]:
    """Say which numbers failed which test, neighbours together."""
    said = []
    for test, group in groupby(fallen, key=lambda each: each[1]):
        counts = [workers for workers, _ in group]
        span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        said.append(f"{span}: {test}")
    return said
