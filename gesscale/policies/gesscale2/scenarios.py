"""Courses that the load may take: random walks, repetitions of what followed such levels before, and jumps."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, qmc

from gesscale.policies.gesscale2.demand import Forecast

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scenarios:
    """Rates of each scenario in each step, rows/s, and their weights; shapes ``(s, steps)`` and ``(s,)``."""

    rates: Array
    weights: Array


@lru_cache(maxsize=16)
def _normals(count: int, steps: int) -> Array:
    sampler = qmc.Sobol(steps, seed=20211)
    half: Array = norm.ppf(np.clip(sampler.random(count // 2), 1e-3, 1 - 1e-3))
    return np.concatenate([half, -half])


WALKS = 16
ANALOGS = 24
JUMP_CHANCE = 1 / 60
PRIOR_ANALOGS = 3.0


def scenarios(past: Array, ahead: Forecast, steps: int, replica_rows_per_s: float, hops: Array) -> Scenarios:
    """Return courses of the load from now on.

    Parameters
    ----------
    past
        Rates of past periods, the newest last.
    ahead
        The forecast of the next period.
    steps
        How many steps.
    hops
        Periods from now to the middle of each step.
    """
    normals = _normals(WALKS, steps)
    lengths = np.diff(hops, prepend=0.0)
    drift = ahead.trend * np.cumsum(0.7 ** hops) * 0.5
    walk = ahead.rate + drift + ahead.spread * np.cumsum(normals * np.sqrt(lengths), axis=1)
    rows = [walk]
    weights = [np.full(WALKS, 1.0 / WALKS)]
    analog, analog_weights = _analogs(past, ahead, hops, replica_rows_per_s)
    total = float(analog_weights.sum())
    share = total / (total + PRIOR_ANALOGS)
    weights[0] = weights[0] * (1 - share)
    if total > 0:
        rows.append(analog)
        weights.append(analog_weights / total * share)
    jump, jump_weights = _jumps(past, ahead, steps)
    if len(jump):
        rows.append(jump)
        weights = [each * (1 - jump_weights.sum()) for each in weights] + [jump_weights]
    return Scenarios(np.maximum(np.concatenate(rows), 0.0), np.concatenate(weights))


def _analogs(past: Array, ahead: Forecast, hops: Array, replica: float) -> tuple[Array, Array]:
    count = len(past)
    if count < 8:
        return np.empty((0, len(hops))), np.empty(0)
    level = past[-1]
    width = max(0.4 * replica, 0.12 * level)
    starts = np.arange(1, count - 3)
    distance = (past[starts] - level) / width
    slopes = past[starts] - past[starts - 1]
    distance2 = distance**2 + ((slopes - (past[-1] - past[-2])) / width) ** 2
    kernel = np.exp(-0.5 * distance2)
    best = np.argsort(-kernel, kind="stable")[:ANALOGS]
    best = best[kernel[best] > 0.05]
    if not len(best):
        return np.empty((0, len(hops))), np.empty(0)
    chosen = starts[best]
    positions = chosen[:, None] + hops[None, :]
    known = positions <= count - 1
    values = np.interp(np.minimum(positions, count - 1), np.arange(count), past)
    values = values + (ahead.rate - past[np.minimum(chosen + 1, count - 1)])[:, None] * np.exp(-hops / 3.0)
    del known
    return values, kernel[best]


def _jumps(past: Array, ahead: Forecast, steps: int) -> tuple[Array, Array]:
    if len(past) < 3:
        return np.empty((0, steps)), np.empty(0)
    levels = np.quantile(past, [0.1, 0.5, 0.9, 1.0])
    rates = np.repeat(levels[:, None], steps, axis=1)
    return rates, np.full(len(levels), JUMP_CHANCE / len(levels))
