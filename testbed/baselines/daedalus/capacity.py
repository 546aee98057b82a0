"""What workers could do, by throughput over CPU, and what other numbers of workers could do (Daedalus, section 3.1)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import scipy

from gesscale.model.observation import NodeReading, OperatorReading
from testbed.baselines.shared.signals import cpu_share

_LEAST_VARIANCE = 1e-3
"""Of the CPU, as shares: below it a line through the samples says nothing of 100 %."""

_LEAST_WINDOWS = 2
"""Of a minute each, as many as 120 samples of a second."""

_MOST_ABOVE_RATIO = 1.5
"""A line may promise this much more than throughput over CPU does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRegression:
    """Running sums of a worker's least squares line, one sample a window (Welford's one-pass form).

    Attributes
    ----------
    count
        Samples.
    mean_cpu, mean_rate
        Mean CPU, 0..1, and mean throughput, rows/s.
    square_cpu, product
        Sums of squared deviations of the CPU, and of products of both deviations.
    """

    count: int = 0
    mean_cpu: float = 0.0
    mean_rate: float = 0.0
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
    """Return the figures of each worker that did something.

    Parameters
    ----------
    reading
        The operator. Where it has no figures of single workers, each counts as their mean, and skew is not seen.

    Returns
    -------
    Mapping of str to NodeReading
        By node; it leaves out a worker that idled, or whose figures are no numbers.
    """
    reported = reading.by_node or dict.fromkeys(
        reading.placement,
        NodeReading(
            throughput_rows_per_s=reading.throughput_rows_per_s / max(1, reading.replicas),
            cpu_share=cpu_share(reading)[0],
        ),
    )
    return {node: each for node, each in reported.items() if _works(each) and node in reading.placement}


def with_window(
    lines: Mapping[str, CpuRegression], window: Mapping[str, NodeReading]
) -> Mapping[str, CpuRegression]:
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
    lines: Mapping[str, CpuRegression],
    window: Mapping[str, NodeReading],
    replicas: int,
    full_cpu: float = 1.0,
) -> float:
    """Return what all workers together could do.

    Parameters
    ----------
    lines
        Of the workers.
    window
        Their figures now, as `workers` returns them; at least of one.
    replicas
        How many workers there are; one that is not seen counts as the mean of those that are.
    full_cpu
        The CPU of the hottest worker at which the job can do no more, 0..1.

    Returns
    -------
    float
        Rows/s.

    Notes
    -----
    Skew: rows are dealt by key, so when the hottest worker is at its limit the others are at their share of its CPU,
    and can get no more (section 3.1, figures 3 and 4).
    """
    share = full_cpu / hottest_cpu(window)
    found = [
        _capacity(lines.get(node, CpuRegression()), each, each.cpu_share * share)
        for node, each in window.items()
    ]
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

_GUESSED = 1e-3
"""Weight of a capacity in proportion against one that was seen, where the two contradict each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRate:
    """The capacity at a number of workers, rows/s, and when it was last found."""

    rows_per_s: float
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacities:
    """What is known of capacities.

    Attributes
    ----------
    per_worker_rows_per_s
        The newest capacity over its number of workers; 0 before there is any.
    seen
        By number of workers.
    """

    per_worker_rows_per_s: float = 0.0
    seen: Mapping[int, ObservedRate] = field(default_factory=dict)

    def learned(self, workers: int, rows_per_s: float, at_s: float) -> "Capacities":
        """Return the same with the newest capacity of so many workers.

        Parameters
        ----------
        workers, rows_per_s, at_s
            What was found, and when.
        """
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
