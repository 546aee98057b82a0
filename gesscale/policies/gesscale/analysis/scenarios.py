"""Weighted scenarios of the future load: random walks, repetitions of the past, and jumps."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale.analysis.demand import Forecast
from gesscale.policies.gesscale.analysis.draws import normal_draws

Array = NDArray[np.float64]

WALKS = 16
#: Share of the deviation of a walk from the forecast that remains after a bucket.
REVERSION = 0.8
#: Share of the growth that remains from bucket to bucket after the next, and the total that is still to come.
GROWTH_FADE, GROWTH_SHARE = 0.7, 0.8

REPETITIONS = 24
#: Minimum number of known buckets for repetitions of the past.
MIN_BUCKETS = 8
#: Standard deviation of the similarity of two loads, as a share of the load and of one replica.
LEVEL_WIDTH_SHARE, LEVEL_WIDTH_REPLICAS = 0.12, 0.4
MIN_SIMILARITY = 0.05
#: Total weight of all walks, in buckets identical to the present one.
WALKS_WEIGHT = 1.0
#: Time constant, in buckets, with which the shift of a repetition to the present level fades.
PRESENT_FADE_BUCKETS = 4.0

#: Probability of a jump in the next bucket.
JUMP_CHANCE = 1 / 60
#: Quantiles of the past load that a jump leads to.
JUMP_QUANTILES = (0.1, 0.5, 0.9, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """Scenarios of the load."""

    #: Shape ``(s, steps)``: mean rate in each step, rows/s.
    rates: Array
    #: Shape ``(s,)``: weights with sum 1.
    weights: Array


def scenarios(rates: Array, ahead: Forecast, after: Array, replica_rows_per_s: float) -> Scenarios:
    """Return weighted scenarios of the load.

    Parameters
    ----------
    rates
        Shape ``(p,)``: past buckets, oldest first, at least one, rows/s.
    """
    walks = _walks(ahead, after)
    parts = [(walks, np.full(WALKS, WALKS_WEIGHT / WALKS))]
    if len(rates) >= MIN_BUCKETS:
        parts.append(_repetitions(rates, ahead, after, replica_rows_per_s))
    weights = np.concatenate([weight for _, weight in parts])
    weights /= weights.sum()
    scenarios = np.concatenate([scenario for scenario, _ in parts])
    levels = np.quantile(rates, JUMP_QUANTILES)
    jumps = np.repeat(levels[:, None], len(after), axis=1)
    return Scenarios(
        rates=np.maximum(np.concatenate([scenarios, jumps]), 0.0),
        weights=np.concatenate([weights * (1 - JUMP_CHANCE), np.full(len(levels), JUMP_CHANCE / len(levels))]),
    )


def _walks(ahead: Forecast, after: Array) -> Array:
    beyond = np.maximum(after - 1.0, 0.0)  # the next bucket's growth is in its forecast
    grown: Array = ahead.growth * GROWTH_SHARE * (1.0 - GROWTH_FADE**beyond)
    return ahead.rate + grown + ahead.spread * _distance(tuple(after.tolist()))


@lru_cache(maxsize=16)
def _distance(after: tuple[float, ...]) -> Array:
    """Return the distance of each walk from the forecast, in spreads; shape ``(WALKS, steps)``."""
    draws = normal_draws(WALKS, len(after))
    lengths = np.diff(np.array(after), prepend=0.0)
    walks, distances = np.zeros_like(draws), np.zeros(WALKS)
    for step, buckets in enumerate(lengths):
        distances = distances * REVERSION**buckets + draws[:, step] * np.sqrt(buckets)
        walks[:, step] = distances
    walks.setflags(write=False)
    return walks


def _repetitions(rates: Array, ahead: Forecast, after: Array, replica_rows_per_s: float) -> tuple[Array, Array]:
    """Return the loads that followed past buckets of similar level and growth, shifted to the present level.

    The next bucket of each is at most one spread from the forecast.
    """
    known = len(rates)
    starts = np.arange(1, known - 3)
    width = max(LEVEL_WIDTH_REPLICAS * replica_rows_per_s, LEVEL_WIDTH_SHARE * rates[-1])
    growths = np.diff(rates)
    squares = ((rates[starts] - rates[-1]) / width) ** 2 + ((growths[starts - 1] - growths[-1]) / width) ** 2
    similarity = np.exp(-0.5 * squares)
    best = np.argsort(-similarity, kind="stable")[:REPETITIONS]
    best = best[similarity[best] > MIN_SIMILARITY]
    followed = np.interp(starts[best][:, None] + after, np.arange(known), rates)
    following = rates[starts[best] + 1]
    following_now = following - rates[starts[best]] + ahead.rate - ahead.growth
    shift = np.clip(following_now, ahead.rate - ahead.spread, ahead.rate + ahead.spread) - following
    fades = np.exp(-np.maximum(after - 1.0, 0.0) / PRESENT_FADE_BUCKETS)
    return followed + shift[:, None] * fades, similarity[best]
