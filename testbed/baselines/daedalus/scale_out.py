"""The choice of Algorithm 1 (section 3.2): the fewest workers that carry the load, recover in time, and will last."""

import math
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from testbed.baselines.daedalus.settings import DaedalusSettings

_LEAST_DOWNTIME_S = 1.0

# Weight of a measured downtime against the previous estimate.
_NEWEST_DOWNTIME = 0.3

# Until a failure is noticed, added to the recovery of the present replicas: the paper has none.
_DETECTION_S = 0.001

# No replica goes while the backlog is more than the fewer replicas process in this time (Algorithm 1).
_LAG_S = 1.0


def predicted_recovery_s(
    capacity_rows_per_s: float,
    waiting_rows: float,
    forecast_rows_per_s: NDArray[np.float64],
    downtime_s: float,
) -> float:
    """Return the time from a stop until all that piled up is processed.

    Parameters
    ----------
    capacity_rows_per_s
        What the workers can do once they run again.
    waiting_rows
        What waits already: the present backlog, and the work since the last checkpoint that must be repeated.
    forecast_rows_per_s
        The workload of each second from now.
    downtime_s
        For so long nothing is processed.

    Returns
    -------
    float
        Seconds from now, the downtime included: the first second at whose end the capacity beyond the forecast exceeds
        what piled up; infinity where that lies beyond the forecast.
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
    """What the decision rests on.

    Attributes
    ----------
    workers
        How many there are.
    capacities
        Of 1, 2 ... workers, rows/s; at least as many as there are.
    most_workers
        How many there may be.
    input_rows_per_s
        Mean workload since the last look.
    backlog_rows
        Rows that wait; None where that is unknown.
    replayed_rows
        Rows since the last checkpoint, at worst, that a stop makes undone.
    forecast_rows_per_s
        The workload of each second from now.
    downtimes
        How long a change stops the job.
    since_rescale_s
        Time since the last change; infinity where there was none.
    """

    workers: int
    capacities: tuple[float, ...]
    most_workers: int
    input_rows_per_s: float
    backlog_rows: float | None
    replayed_rows: float
    forecast_rows_per_s: NDArray[np.float64]
    downtimes: Downtimes
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
    """The choice.

    Attributes
    ----------
    workers
        How many there should be.
    why
        For people: what was enough, and the test that each smaller number failed.
    """

    workers: int
    why: str


def choose(situation: ScaleOutContext, settings: DaedalusSettings) -> ScaleOutChoice:
    """Choose a number of workers.

    Parameters
    ----------
    situation
        What is known.
    settings
        What is wanted.

    Returns
    -------
    ScaleOutChoice
        Where no number passes, the most there may be, as in the paper.
    """
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
    return ScaleOutChoice(
        workers=situation.most_workers, why="; ".join(("no number passes", *_grouped(fallen)))
    )


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
