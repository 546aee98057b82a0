"""Network coordinates: points for nodes whose distances approximate the measured round trips.

The model is that of Vivaldi (Dabek et al., SIGCOMM 2004): round trip = distance of two points + a height of each node,
which is the common part of all its paths (its access link). Vivaldi, a distributed protocol, adjusts one pair at a
time. Here all known pairs are available, and one bounded descent (L-BFGS-B) fits them together. It minimises the sum
of robust relative errors, so that short and long delays have the same weight and violations of the triangle inequality
have little influence. It starts from classical scaling of some nodes; from a random start the error is twice as large
after the same number of steps.

Nodes that no chain of known pairs connects (islands) have no position relative to each other, so their round trips
remain unknown.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from latency_map.delays import Delays

Indices: TypeAlias = NDArray[np.intp]

#: Dimensions of the space without the height. Relative error on held-out pairs of PlanetLab (490 nodes), median and
#: 90th percentile: 10 and 34 % with 2, 8.8 and 29 % with 3, 8.4 and 27 % with 4, 8.1 and 25 % with 5, 8.0 and
#: 25 % with 6. With 8 known pairs per node, 18 and 57 % with 4; more dimensions make the tail worse.
DIMENSIONS = 4

#: Largest number of known pairs, beyond which they are sampled: all of 700 nodes, 125 for each of 4,000 nodes.
MAX_PAIRS_FITTED = 250_000

_ROBUST_FROM = 0.1
_MAX_ITERATIONS = 200
_HELD_OUT_RATIO = 0.1
_KEPT_PAIRS = 2
_LANDMARKS = 128
_FIRST_HEIGHT = 0.1
_FLAT = 1e-9
_NOTHING_MS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coordinates:
    """Coordinates of n nodes."""

    #: Shape ``(n, d)``: points, with distances in milliseconds of round trip.
    positions_ms: Delays
    #: Shape ``(n,)``, at least 0: the part that every path of a node adds.
    heights_ms: Delays
    #: Shape ``(n,)``: the number of the island; nodes of different islands cannot be compared.
    islands: Indices

    def rtt_ms(self) -> Delays:
        """Return the round trips between all nodes."""
        squares = np.einsum("nd,nd->n", self.positions_ms, self.positions_ms)
        products = -2.0 * self.positions_ms @ self.positions_ms.T
        rtt_ms: Delays = np.sqrt(np.maximum(products + (squares[:, None] + squares), 0.0))
        rtt_ms += self.heights_ms[:, None] + self.heights_ms
        rtt_ms[self.islands[:, None] != self.islands] = np.nan
        np.fill_diagonal(rtt_ms, 0.0)
        return rtt_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutError:
    """Error of coordinates for pairs that were excluded from the fit."""

    #: Of ``|estimated - measured| / measured``; NaN if no pair could be excluded (median_ratio, p90_ratio).
    median_ratio: float
    p90_ratio: float
    #: Number of excluded pairs.
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """Known pairs: rows ``i < j`` of the matrix, row by row, with their round trips in ms; 16 bytes each."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    rtt_ms: Delays

    def take(self, chosen: NDArray[np.bool_] | Indices) -> "_Pairs":
        return _Pairs(i=self.i[chosen], j=self.j[chosen], rtt_ms=self.rtt_ms[chosen])


def embed(rtt_ms: Delays) -> Coordinates:
    """Fit coordinates to measured round trips.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``, ms; NaN where missing. Two directions that differ are averaged. 0 between two nodes is not
        used as a measurement: it connects them at an unknown distance.
    """
    return _fit(_known_pairs(rtt_ms), len(rtt_ms), np.random.default_rng(0))


def held_out_error(rtt_ms: Delays) -> HeldOutError:
    """Return the error of coordinates for a random tenth of the known pairs, which is excluded from the fit.

    A pair is not excluded if one of its nodes would keep fewer than two known pairs.
    """
    rng = np.random.default_rng(0)
    pairs, n = _known_pairs(rtt_ms), len(rtt_ms)
    pairs = pairs.take(pairs.rtt_ms > 0)
    held = _hold_out(pairs, n, rng)
    kept, pairs = pairs.take(held), pairs.take(~held)
    estimates_ms = _fit(pairs, n, rng).rtt_ms()[kept.i, kept.j]
    errors = np.abs(estimates_ms - kept.rtt_ms) / kept.rtt_ms
    errors = errors[~np.isnan(errors)]
    if not len(errors):
        return HeldOutError(median_ratio=np.nan, p90_ratio=np.nan, pairs=0)
    median, p90 = np.quantile(errors, (0.5, 0.9))
    return HeldOutError(median_ratio=float(median), p90_ratio=float(p90), pairs=len(errors))


def _known_pairs(rtt_ms: Delays) -> _Pairs:
    i, j = np.triu_indices(len(rtt_ms), 1)
    both = np.stack([rtt_ms[i, j], rtt_ms[j, i]])
    known = ~np.isnan(both).all(axis=0)
    measured = np.where(both > _NOTHING_MS, both, np.nan)[:, known]
    one_ms, other_ms = (np.where(np.isnan(x), y, x) for x, y in (measured, measured[::-1]))
    known_ms = np.nan_to_num((one_ms + other_ms) / 2)  # 0: connected at an unknown distance
    return _Pairs(i=i[known].astype(np.int32), j=j[known].astype(np.int32), rtt_ms=known_ms)


def _hold_out(pairs: _Pairs, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    left = np.bincount(pairs.i, minlength=n) + np.bincount(pairs.j, minlength=n)
    held = np.zeros(len(pairs.i), dtype=bool)
    wanted = round(_HELD_OUT_RATIO * len(pairs.i))
    for pair in rng.permutation(len(pairs.i)):
        if wanted == 0:
            break
        ends = [pairs.i[pair], pairs.j[pair]]
        if left[ends].min() > _KEPT_PAIRS:
            left[ends] -= 1
            held[pair] = True
            wanted -= 1
    return held


def _fit(pairs: _Pairs, n: int, rng: np.random.Generator) -> Coordinates:
    links = scipy.sparse.csr_array((pairs.rtt_ms, (pairs.i, pairs.j)), shape=(n, n))
    islands = scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.intp)
    apart = np.flatnonzero(pairs.rtt_ms > 0)
    scale_ms = float(np.median(pairs.rtt_ms[apart])) if len(apart) else 1.0
    landmarks = rng.permutation(n)[:_LANDMARKS]
    points = _landmark_scaling(links, landmarks) / scale_ms
    del links
    start = np.concatenate([points.ravel(), np.full(n, _FIRST_HEIGHT)])
    if len(apart) > MAX_PAIRS_FITTED:
        apart = apart[rng.choice(len(apart), MAX_PAIRS_FITTED, replace=False)]
    fitted = pairs.take(apart)
    del pairs, apart
    bounds = [(None, None)] * (n * DIMENSIONS) + [(0.0, None)] * n
    loss = _Loss.of(fitted, n, scale_ms)
    found = scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _MAX_ITERATIONS}
    )
    place: Delays = found.x * scale_ms
    return Coordinates(
        positions_ms=place[: n * DIMENSIONS].reshape(n, DIMENSIONS), heights_ms=place[n * DIMENSIONS :], islands=islands
    )


def _landmark_scaling(links: "scipy.sparse.csr_array", landmarks: Indices) -> Delays:
    """Position nodes by classical scaling of some and triangulation of the rest (de Silva and Tenenbaum, 2004)."""
    lengths = scipy.sparse.csgraph.dijkstra(links, directed=False, indices=landmarks)
    known = np.isfinite(lengths)
    lengths[~known] = lengths[known].max()
    scale = max(float(lengths.max()), _FLAT)
    squares = (lengths / scale) ** 2
    among = squares[:, landmarks]
    means = among.mean(axis=0)
    values, vectors = np.linalg.eigh(-(among - means - means[:, None] + means.mean()) / 2)
    values, vectors = values[::-1][:DIMENSIONS], vectors[:, ::-1][:, :DIMENSIONS]
    inverse = np.where(values > _FLAT, vectors / np.sqrt(np.maximum(values, _FLAT)), 0.0)
    points = np.zeros((links.shape[0], DIMENSIONS))
    points[:, : len(values)] = -(squares - means[:, None]).T @ inverse * (scale / 2)
    return points


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """Sum of robust relative errors (pseudo-Huber) and its slope; lengths in units of the median delay.

    ``apart`` and ``joint`` have a row for each pair: +1 for one node and -1, or +1, for the other.
    """

    lengths: Delays
    apart: "scipy.sparse.csr_array"
    joint: "scipy.sparse.csr_array"
    nodes: int

    @classmethod
    def of(cls, pairs: _Pairs, n: int, scale_ms: float) -> "_Loss":
        m = len(pairs.i)
        nodes, ends = np.stack([pairs.i, pairs.j], axis=1).ravel(), np.arange(0, 2 * m + 1, 2, dtype=np.int32)
        apart = scipy.sparse.csr_array((np.tile([1.0, -1.0], m), nodes, ends), shape=(m, n))
        joint = scipy.sparse.csr_array((np.ones(2 * m), nodes, ends), shape=(m, n))
        return cls(lengths=pairs.rtt_ms / scale_ms, apart=apart, joint=joint, nodes=n)

    def __call__(self, place: Delays) -> tuple[float, Delays]:
        end = self.nodes * DIMENSIONS
        positions, heights = place[:end].reshape(self.nodes, DIMENSIONS), place[end:]
        between = self.apart @ positions
        distances = np.sqrt(np.einsum("pd,pd->p", between, between) + 1e-12)
        errors = (distances + self.joint @ heights) / self.lengths - 1.0
        bent = np.sqrt(1.0 + (errors / _ROBUST_FROM) ** 2)
        slopes = errors / (bent * self.lengths) / _ROBUST_FROM**2
        by_position = self.apart.T @ (between * (slopes / distances)[:, None])
        by_height = self.joint.T @ slopes
        return float((bent - 1.0).sum()), np.concatenate([by_position.ravel(), by_height])
