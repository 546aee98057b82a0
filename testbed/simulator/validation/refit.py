"""Constants of the physics fitted again, to recorded runs of a real cluster and to nothing else."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from gesscale.errors import InputError
from gesscale.observation import Batch
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.batch_times import MeasuredBatch, of_batch, of_run, predicted_s
from testbed.simulator.validation.recorded_run import RecordedRun

CALM_S = 30.0
"""So long a driver that has just started is left out: it is cold itself."""
_FITTED = ("fixed_s", "service_ms_per_row", "driver_round_trips")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """New constants and what they rest on.

    Attributes
    ----------
    physics
        With the fitted constants; the others are as they were.
    origins
        For each fitted constant, what it was fitted to.
    """

    physics: SparkPhysics
    origins: dict[str, str]


def refit(physics: SparkPhysics, runs: Sequence[RecordedRun]) -> Refit:
    """Fit the constants that recorded runs tell.

    Parameters
    ----------
    physics
        What to begin from, and what is kept of constants that runs do not tell.
    runs
        At least one, in which replicas were started.

    Returns
    -------
    Refit
        Fixed time, service time and round trips by robust least squares on warm batches, noise from what is left;
        what the first batch of a new replica takes longer; how long an executor needs to register.

    Raises
    ------
    InputError
        Where the runs have too few warm batches, or no replica was started in them.
    """
    measured = [batch for run in runs for batch in of_run(run, from_s=CALM_S)]
    if len(measured) < 2 * len(_FITTED):
        message = f"expected at least {2 * len(_FITTED)} warm batches, got {len(measured)}; take a longer run"
        raise InputError(message)
    fitted, residuals = _fit_warm(physics, measured)
    cold_s = [extra_s for run in runs for extra_s in _cold_extras_s(fitted, run)]
    starts_s = [start_s for run in runs for start_s in _starts_s(run)]
    leaves_s = [extra_s for run in runs for extra_s in _leave_extras_s(fitted, run)]
    if not cold_s or not starts_s:
        message = "expected runs in which replicas were started, got none; cold starts cannot be told"
        raise InputError(message)
    names = ", ".join(run.name for run in runs)
    spread = float(np.std(np.log(starts_s))) if len(starts_s) > 1 else physics.start_spread
    noise = float(1.4826 * np.median(np.abs(residuals - np.median(residuals))))
    warm = f"Fitted to {len(measured)} warm batches of {names}."
    starts = f"{len(starts_s)} executors of {names}."
    return Refit(
        physics=replace(
            fitted,
            batch_noise=round(noise, 4),
            cold_least_s=round(min(cold_s), 2),
            cold_most_s=round(max(cold_s), 2),
            start_s=round(float(np.median(starts_s)), 2),
            start_spread=round(spread, 3),
            leave_s=round(max(0.0, float(np.median(leaves_s))), 2) if leaves_s else physics.leave_s,
        ),
        origins={
            **dict.fromkeys(_FITTED, warm),
            "batch_noise": f"Scatter about the fit (median absolute deviation). {warm}",
            "cold_least_s": f"What the first batches of {starts[:-1]} took longer than a warm one, the least.",
            "cold_most_s": f"The same, the most, of {starts}",
            "start_s": f"From the order to the batch that named the executor, half a batch less; median of {starts}",
            **(
                {
                    "leave_s": f"What a batch took longer while a replica left; median of {len(leaves_s)} in {names}."
                }
                if leaves_s
                else {}
            ),
            "start_spread": f"Standard deviation of the logarithm of the same {starts}",
        },
    )


def _fit_warm(
    physics: SparkPhysics, measured: Sequence[MeasuredBatch]
) -> tuple[SparkPhysics, NDArray[np.float64]]:
    def with_values(values: Iterable[float]) -> SparkPhysics:
        return replace(physics, **dict(zip(_FITTED, map(float, values), strict=True)))  # type: ignore[arg-type] # all floats

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        trial = with_values(values)
        return np.array([math.log(predicted_s(trial, item) / item.seconds) for item in measured])

    start = [max(getattr(physics, name), 1e-3) for name in _FITTED]
    solution = least_squares(
        residuals, start, bounds=(1e-6, np.inf), loss="soft_l1", f_scale=0.03, x_scale=start
    )
    values = [float(f"{value:.4g}") for value in solution.x]
    return with_values(values), residuals(np.array(values))


def _cold_extras_s(physics: SparkPhysics, run: RecordedRun) -> Iterator[float]:
    """Yield what the first batch of a new replica took longer: it joins in the midst of one, and slows the next."""
    for before, joined, cold in _triples(run.batches):
        if set(joined.nodes) > set(before.nodes) and cold.nodes == joined.nodes:
            yield cold.seconds - predicted_s(physics, of_batch(run, cold))


def _leave_extras_s(physics: SparkPhysics, run: RecordedRun) -> Iterator[float]:
    """Yield what a batch took longer during which replicas left: they end the tasks that they have."""
    for before, left in pairwise(run.batches):
        if set(left.nodes) < set(before.nodes) and left.rows:
            yield left.seconds - predicted_s(physics, of_batch(run, replace(left, nodes=before.nodes)))


def _starts_s(run: RecordedRun) -> Iterator[float]:
    """Yield for each started replica the time from its order to the middle of the batch that named it first."""
    for at_s, change in run.orders:
        for node in change.add:
            named = next((b for b in run.batches if b.ended_at_s > at_s and node in b.nodes), None)
            if named is not None:
                yield max(0.1, named.ended_at_s - named.seconds / 2 - at_s)


def _triples(batches: Sequence[Batch]) -> Iterator[tuple[Batch, Batch, Batch]]:
    for (before, joined), (_, cold) in pairwise(pairwise(batches)):
        yield before, joined, cold
