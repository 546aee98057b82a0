"""How long a job takes to catch up after a stop: predicted, and as it was (Daedalus, sections 3.4 and 3.5)."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from testbed.baselines.daedalus.analysis.workload import Flows

_LEAST_DOWNTIME_S = 1.0
_LEAST_NORMAL = 10
"""So many values show what is normal."""

_CALM_S = 30.0
"""After an anomaly it must be normal for so long, as in the authors' scripts."""

_ROUNDING_SHARE = 0.01
"""Of the workload: a difference of less is no anomaly, however quiet it was before."""


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

    def learned(self, workers_more: int, downtime_s: float, weight: float) -> "Downtimes":
        """Return the same after a change by so many workers that took so long; the newest has a weight."""

        def mean_s(before_s: float) -> float:
            return max(_LEAST_DOWNTIME_S, before_s + weight * (downtime_s - before_s))

        if workers_more > 0:
            return replace(self, out_s=mean_s(self.out_s))
        return replace(self, in_s=mean_s(self.in_s)) if workers_more < 0 else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Normality:
    """Running mean and variance of workload minus throughput, rows/s (Welford's one-pass form).

    Attributes
    ----------
    count, mean, square
        Values, their mean, and the sum of their squared deviations.
    """

    count: int = 0
    mean: float = 0.0
    square: float = 0.0

    def with_values(self, values: NDArray[np.float64]) -> "Normality":
        """Return it with more values."""
        count, mean, square = self.count, self.mean, self.square
        for value in values.tolist():
            count += 1
            off = value - mean
            mean += off / count
            square += off * (value - mean)
        return Normality(count=count, mean=mean, square=square)

    def is_anomalous(
        self, values: NDArray[np.float64], rows_per_s: NDArray[np.float64], sigmas: float
    ) -> NDArray[np.bool_]:
        """Say of each value whether it is farther from the mean than so many standard deviations.

        Parameters
        ----------
        values
            Workload minus throughput, rows/s.
        rows_per_s
            The workload.
        sigmas
            How many.
        """
        deviation = math.sqrt(self.square / self.count) if self.count else 0.0
        band = np.maximum(sigmas * deviation, _ROUNDING_SHARE * rows_per_s)
        return np.abs(values - self.mean) > band


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The recovery from the last change.

    Attributes
    ----------
    from_s
        When the change was ordered, seconds since the epoch.
    predicted_s
        The predicted duration; None where it ends beyond the forecast.
    anomalous_until_s
        The end of the last anomaly since.
    over
        Whether the job is as it was before, or has been given up on.
    """

    from_s: float
    predicted_s: float | None
    anomalous_until_s: float
    over: bool = False

    @property
    def observed_s(self) -> float:
        """How long it took, or has taken so far."""
        return self.anomalous_until_s - self.from_s


def watched(
    recovery: Recovery | None,
    normality: Normality,
    lately: Flows,
    *,
    sigmas: float,
    give_up_s: float,
    learns: bool,
) -> tuple[Recovery | None, Normality]:
    """Watch a job return to normal after a change, and learn what is normal at other times.

    Parameters
    ----------
    recovery
        From the last change; None where there was none.
    normality
        What is normal.
    lately
        What was offered and processed since the last look.
    sigmas
        How many standard deviations are normal.
    give_up_s
        A recovery that lasts longer is not waited for.
    learns
        Whether this was normal, provided that the job does not recover.

    Returns
    -------
    tuple of Recovery or None, and Normality
        The recovery is over once it has been normal for half a minute; None where it is not known yet what is normal.
    """
    gaps = lately.offered - lately.processed
    if recovery is None or recovery.over:
        return recovery, normality.with_values(gaps) if learns else normality
    if normality.count < _LEAST_NORMAL:
        return None, normality
    ends_s = lately.ends_s
    anomalous = (ends_s > recovery.from_s) & normality.is_anomalous(gaps, lately.offered, sigmas)
    until_s = float(ends_s[anomalous].max(initial=recovery.anomalous_until_s))
    seen_until_s = float(ends_s.max(initial=recovery.from_s))
    over = seen_until_s - until_s >= _CALM_S or seen_until_s - recovery.from_s > give_up_s
    return replace(recovery, anomalous_until_s=until_s, over=over), normality
