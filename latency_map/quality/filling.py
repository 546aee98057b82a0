"""Estimates for pairs without a measurement: by the shortest path, or by network coordinates."""

from dataclasses import dataclass

import numpy as np
import scipy

from latency_map.delays import MAX_RTT_MS, Delays, round_trips_ms
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, Fill
from latency_map.quality.coordinates import DIMENSIONS, embed, held_out_error
from latency_map.quality.gaps import missing_pairs
from latency_map.survey import Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filled:
    """What was estimated.

    Attributes
    ----------
    rtt_ms
        Shape ``(n, n)``: what was given, with estimates in its gaps; NaN between islands.
    estimated
        Shape ``(n, n)``, symmetric: which cells are estimates.
    error
        What error to expect, for people.
    """

    rtt_ms: Delays
    estimated: Mask
    error: str


def fill_gaps(rtt_ms: Delays, method: Fill, *, seed: int = 0) -> Filled:
    """Estimate the pairs that are known in neither direction.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``, ms; NaN where missing. A known cell is never changed, and a pair that is known in one
        direction is no gap.
    method
        Where the estimates come from.
    seed
        Of the coordinates.

    Returns
    -------
    Filled
        Estimates are the same in both directions. Pairs between islands stay missing.
    """
    gaps = missing_pairs(rtt_ms)
    if method is Fill.NONE or not gaps.any():
        return Filled(rtt_ms=rtt_ms, estimated=np.zeros_like(gaps), error="")
    if method is Fill.PATH:
        estimates, error = _paths_ms(rtt_ms), "no less than the true delays where triangles hold"
    else:
        estimates, error = _by_coordinates(rtt_ms, seed)
    gaps &= np.isfinite(estimates)
    np.minimum(estimates, MAX_RTT_MS, out=estimates)
    np.copyto(estimates, rtt_ms, where=~gaps)
    return Filled(rtt_ms=estimates, estimated=gaps, error=error)


def _paths_ms(rtt_ms: Delays) -> Delays:
    combined = round_trips_ms(rtt_ms, unit=DelayUnit.MS, kind=DelayKind.RTT, asymmetry=Asymmetry.MAX)
    rows, columns = np.nonzero(~np.isnan(combined))
    links = scipy.sparse.csr_array((combined[rows, columns], (rows, columns)), shape=combined.shape)
    paths_ms: Delays = scipy.sparse.csgraph.shortest_path(links, directed=False)
    return np.maximum(paths_ms, paths_ms.T)


def _by_coordinates(rtt_ms: Delays, seed: int) -> tuple[Delays, str]:
    """Estimate by coordinates; no pair is nearer than the nearest that was measured."""
    error = held_out_error(rtt_ms, seed=seed)
    estimates = embed(rtt_ms, seed=seed).rtt_ms()
    measured = rtt_ms > 0
    least_ms = rtt_ms.min(where=measured, initial=MAX_RTT_MS) if measured.any() else 0.0
    space = f"{DIMENSIONS} dimensions and height"
    if error.pairs:
        said = (
            f"{space}; relative error on {error.pairs} known pairs held out: median"
            f" {error.median_ratio:.1%}, 90th percentile {error.p90_ratio:.1%}"
        )
    else:
        said = f"{space}; error not known, too few known pairs to hold any out"
    return np.maximum(estimates, least_ms, out=estimates), said
