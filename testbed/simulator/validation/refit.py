"""Fits the constants of the physics to measured batches and to recorded runs of a real cluster."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.batches import MeasuredBatch, batch_of_run, batches_of_run, predicted_s
from testbed.simulator.validation.recorded_run import RecordedRun, ReplicaStart, starts

_BEGIN = {
    "service_ms_per_row": 1.0,
    "driver_round_trips": 5.0,
    "wave_round_trips": 2.0,
    "state_round_trips": 2.0,
    "state_task_s": 0.05,
}
_BEGIN_S = 0.2
_ROBUST_FROM = 0.03


def fit_constants(
    physics: SparkPhysics, names: Sequence[str], measured: Sequence[MeasuredBatch]
) -> tuple[SparkPhysics, NDArray[np.float64]]:
    """Fit constants by robust least squares of the logarithm of batch times."""

    def with_values(values: Sequence[float]) -> SparkPhysics:
        return replace(physics, **dict(zip(names, values, strict=True)))  # type: ignore[arg-type] # all are floats

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        trial = with_values(values.tolist())
        return np.array([math.log(predicted_s(trial, item) / item.seconds) for item in measured])

    begin = [_BEGIN.get(name, _BEGIN_S) for name in names]
    solution = scipy.optimize.least_squares(
        residuals, begin, bounds=(1e-6, np.inf), loss="soft_l1", f_scale=_ROBUST_FROM, x_scale=begin
    )
    values = [float(f"{value:.4g}") for value in solution.x]
    return with_values(values), residuals(np.array(values))


#: Start-up of the driver that is left out, seconds: it is cold itself.
CALM_S = 30.0
_FITTED = ("fixed_s", "service_ms_per_row", "driver_round_trips")
#: Placements needed to separate fixed time, round trips and state tasks; those of one placement give only their
#: sum.
_PLACEMENTS_FOR_STATE = 3
_MIN_START_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """Fitted constants and their origins."""

    #: Physics with the fitted constants; the others are unchanged.
    physics: SparkPhysics
    #: For each fitted constant, the data that it was fitted to.
    origins: dict[str, str]


def refit(physics: SparkPhysics, runs: Sequence[RecordedRun]) -> Refit:
    """Fit the constants that recorded runs determine.

    Raises
    ------
    InputError
        If the runs have too few warm batches or several trigger intervals, or started no replica.
    """
    names = ", ".join(run.name for run in runs)
    measured = [batch for run in runs for batch in batches_of_run(run, from_s=CALM_S)]
    if len(measured) < 2 * len(_FITTED):
        raise InputError("recorded-runs-too-few-batches", source=names, min=2 * len(_FITTED), got=len(measured))
    triggers_s = sorted({run.trigger_s for run in runs})
    if len(triggers_s) > 1:
        raise InputError("recorded-runs-trigger-intervals", source=names, intervals_s=[f"{s:g}" for s in triggers_s])
    placements = {batch.executor_set.nodes for batch in measured}
    fits_state = physics.state_partitions and len(placements) >= _PLACEMENTS_FOR_STATE
    to_fit = (*_FITTED, "state_task_s") if fits_state else _FITTED
    fitted, residuals = fit_constants(physics, to_fit, measured)
    noise = float(1.4826 * np.median(np.abs(residuals - np.median(residuals))))
    warm = f"Fitted to {len(measured)} warm batches of {names}."
    found: dict[str, tuple[float, str]] = {
        "trigger_s": (triggers_s[0], f"The setting of {names}."),
        "batch_noise": (noise, f"Scatter about the fit (median absolute deviation). {warm}"),
        **_fitted_by_starts(fitted, runs, names),
        **_fitted_by_leaving(fitted, runs, names),
    }
    return Refit(
        physics=replace(fitted, **{name: round(value, 4) for name, (value, _) in found.items()}),  # type: ignore[arg-type] # all are floats
        origins={**dict.fromkeys(to_fit, warm), **{name: origin for name, (_, origin) in found.items()}},
    )


def _fitted_by_starts(physics: SparkPhysics, runs: Sequence[RecordedRun], names: str) -> dict[str, tuple[float, str]]:
    cold_s = [extra_s for run in runs for extra_s in _cold_extras_s(physics, run)]
    orders = [start_s for run in runs for start_s in _starts_s(run)]
    if not cold_s or not orders:
        raise InputError("recorded-runs-without-starts", source=names)
    # Unbiased ends of a uniform distribution: the range of the samples is too narrow by 2 / (count + 1) of it.
    beyond_s = (max(cold_s) - min(cold_s)) / (len(cold_s) - 1) if len(cold_s) > 1 else 0.0
    cold = (
        f"Range of the extra time of {len(cold_s)} first batches of new executors in {names}: "
        f"{min(cold_s):.2f} to {max(cold_s):.2f} s, widened for their number."
    )
    found = {
        "cold_min_s": (max(0.0, min(cold_s) - beyond_s), cold),
        "cold_max_s": (max(cold_s) + beyond_s, cold),
        **_fitted_to_orders(orders, physics.start_together_s, names),
    }
    shares = [share for run in runs for share in _warm_up_shares(physics, run)]
    if shares:
        origin = f"Extra time of their second batches, as a share of the first; median of {len(shares)} in {names}."
        found["warm_up_share"] = (float(np.median(shares)), origin)
    return found


def _fitted_to_orders(
    orders: Sequence[tuple[int, Sequence[float]]], together_s: float, names: str
) -> dict[str, tuple[float, str]]:
    """Fit start times from pairs of the other executors that started with one, and their times."""
    times_s = [(others, took_s) for others, each_s in orders for took_s in each_s]
    alone_s = [took_s for others, took_s in times_s if not others]
    several = [(others, each_s) for others, each_s in orders if others]
    which = f"{len(alone_s)} that started alone" if alone_s else f"{len(times_s)}, as if each had started alone,"
    kept_s = alone_s or [max(_MIN_START_S, took_s - others * together_s) for others, took_s in times_s]
    start_s = float(np.median(kept_s))
    found = {"start_s": (start_s, f"From the order to the registered executor; median of {which} in {names}.")}
    if alone_s and several:
        more_s = [(np.mean(each_s) - start_s) / others for others, each_s in several]
        together_s = max(0.0, float(np.median(more_s)))
        origin = f"Extra start time for each other executor of the order; median of {len(several)} orders in {names}."
        found["start_together_s"] = (together_s, origin)
    if len(times_s) > 1:
        ratios = [took_s / (start_s + others * together_s) for others, took_s in times_s]
        origin = f"Standard deviation of the logarithm of {len(times_s)} times about these, in {names}."
        found["start_spread"] = (float(np.std(np.log(ratios), ddof=1)), origin)
    return found


def _fitted_by_leaving(physics: SparkPhysics, runs: Sequence[RecordedRun], names: str) -> dict[str, tuple[float, str]]:
    leaves_s = [extra_s for run in runs for extra_s in _leave_extras_s(physics, run)]
    if not leaves_s:
        return {}
    origin = f"Extra time of a batch while replicas left; median of {len(leaves_s)} in {names}."
    return {"leave_s": (max(0.0, float(np.median(leaves_s))), origin)}


def _cold_extras_s(physics: SparkPhysics, run: RecordedRun) -> Iterator[float]:
    """Yield the extra time of the first batch of new replicas; replicas that share it count once."""
    first = {start.served.batch_id: start.served for start in starts(run.batches, run.orders, run.operator)}
    for batch in first.values():
        yield batch.seconds - predicted_s(physics, batch_of_run(run, batch))


def _warm_up_shares(physics: SparkPhysics, run: RecordedRun) -> Iterator[float]:
    """Yield the extra time of the second batch of a new replica, as a share of that of the first."""
    first = {start.served.batch_id for start in starts(run.batches, run.orders, run.operator)}
    for cold, second in pairwise(run.batches):
        if cold.batch_id in first and second.nodes == cold.nodes and second.rows:
            extras_s = [each.seconds - predicted_s(physics, batch_of_run(run, each)) for each in (cold, second)]
            if extras_s[0] > 0:
                yield min(1.0, max(0.0, extras_s[1] / extras_s[0]))


def _leave_extras_s(physics: SparkPhysics, run: RecordedRun) -> Iterator[float]:
    """Yield the extra time of batches during which replicas left, as these finish their tasks.

    A batch that began after the order is compared with a batch on the remaining replicas, as in the simulator.
    """
    removals_s = [order.at_s for order in run.orders if order.change.remove]
    for before, left in pairwise(run.batches):
        if set(left.nodes) < set(before.nodes) and left.rows:
            began_s = left.began_s
            had_begun = any(began_s < at_s < left.ended_at_s for at_s in removals_s)
            nodes = before.nodes if had_begun else left.nodes
            yield left.seconds - predicted_s(physics, batch_of_run(run, left, nodes))


def _starts_s(run: RecordedRun) -> Iterator[tuple[int, list[float]]]:
    """Yield for each order the number of other replicas, and the times until replicas registered.

    The record may have the time of the last one; otherwise the estimate is the middle of the first batch that lists
    the replica.
    """
    took_s = {order.at_s: order.took_s for order in run.orders}
    started = starts(run.batches, run.orders, run.operator)
    for ordered_at_s, group in groupby(started, key=lambda start: start.ordered_at_s):
        middles_s = [max(_MIN_START_S, _middle_of_first_batch_s(start)) for start in group]
        last_s = took_s[ordered_at_s]
        yield len(middles_s) - 1, middles_s if last_s is None else [last_s]


def _middle_of_first_batch_s(start: ReplicaStart) -> float:
    named = start.named
    from_s = max(start.ordered_at_s, named.began_s)
    return (from_s + named.ended_at_s) / 2 - start.ordered_at_s
