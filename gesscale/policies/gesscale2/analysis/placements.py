"""The best placement for each number of replicas, by predicted capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.law import BatchTimeLaw
from gesscale.workflow import Operator
from latency_map import LatencyMap

Array = NDArray[np.float64]
Orders = NDArray[np.int64]

UNKNOWN_RTT_S = 1.0
"""A delay that the map does not know counts as long."""

MOST_FREE_NODES = 64
"""Of more free nodes those nearest to the driver are considered."""
MOST_CENTRES = 16

LEAST_GAIN = 0.02
"""Replicas move only to nodes that carry so much more: a share of the capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """A placement for each number of replicas.

    Attributes
    ----------
    nodes
        For 1, 2, ... replicas the nodes that hold them, sorted.
    rows_per_s
        The predicted capacity of each.
    present_rows_per_s
        That of the present placement.
    """

    nodes: tuple[tuple[str, ...], ...]
    rows_per_s: Array
    present_rows_per_s: float

    def up_to(self, replicas: int) -> "Placements":
        """Return those of at most so many replicas; the present ones carry no more than these."""
        most = float(self.rows_per_s[:replicas].max())
        return Placements(
            nodes=self.nodes[:replicas],
            rows_per_s=self.rows_per_s[:replicas],
            present_rows_per_s=min(self.present_rows_per_s, most),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """Round trips of nodes to the driver, shape ``(n,)``, and between each two, ``(n, n)``; seconds, NaN: unknown."""

    driver_s: Array
    pairs_s: Array

    @classmethod
    def of(cls, nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> "RoundTrips":
        """Read them from a latency map; a node is 0 from itself without one, too."""
        pairs_s = np.full((len(nodes), len(nodes)), np.nan)
        if delays is not None:
            known = [index for index, node in enumerate(nodes) if node in delays]
            rows = delays.positions(nodes[index] for index in known)
            pairs_s[np.ix_(known, known)] = delays.rtt_ms[np.ix_(rows, rows)] / 1000
        np.fill_diagonal(pairs_s, 0.0)
        return cls(driver_s=_driver_rtts_s(nodes, driver_node, delays), pairs_s=pairs_s)


def _driver_rtts_s(nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> Array:
    rtts_s = np.full(len(nodes), np.nan)
    if delays is not None and driver_node in delays:
        known = delays.known(nodes)
        rows = delays.positions([nodes[index] for index in known.tolist()])
        rtts_s[known] = delays.rtt_ms[delays.positions([driver_node])[0]][rows] / 1000
    if driver_node in nodes:
        rtts_s[nodes.index(driver_node)] = 0.0
    return rtts_s


def placements(
    law: BatchTimeLaw,
    operator: Operator,
    present: Sequence[str],
    free: Sequence[str],
    *,
    weights: Mapping[str, float],
    delays: LatencyMap | None,
    trigger_s: float,
    moves: bool = True,
) -> Placements:
    """Find for each number of replicas the nodes with the best predicted capacity.

    Nodes are put in order by their distance to the driver or to one of the nodes, once with the present ones first
    and once without, and once with the strongest first. The beginnings of all these orders are compared. So a query
    that only maps gets nodes near its driver, and one that shuffles gets nodes near each other.

    Parameters
    ----------
    law
        Of the batch times.
    operator
        Its driver, cap and limits.
    present, free
        The nodes that hold replicas, at least one, and those that could take one.
    weights
        Capacity weight by node; one that is not listed weighs 1.
    delays
        The latency map.
    trigger_s
        The trigger interval.
    moves
        Whether a replica may leave its node for a better one; if not, placements only grow or shrink.

    Returns
    -------
    Placements
        Up to ``max_replicas``, as far as there are nodes; at least as many as are present.
    """
    nodes = (*present, *_nearest(free, operator.driver_node, delays))
    trips = RoundTrips.of(nodes, operator.driver_node, delays)
    driver_s, pairs_s = (
        np.nan_to_num(values, nan=UNKNOWN_RTT_S) for values in (trips.driver_s, trips.pairs_s)
    )
    weight = np.array([weights.get(node, 1.0) for node in nodes])
    kept = np.arange(len(nodes)) < len(present)
    most = max(operator.max_replicas, len(present))
    orders = _orders(driver_s, pairs_s, weight, kept, most, moves=moves)
    counts = np.arange(1, orders.shape[1] + 1)
    caps = [operator.batch_rows(int(count)) for count in counts]
    found = law.rows_per_s(
        np.cumsum(weight[orders], axis=1),
        counts * np.minimum.accumulate(weight[orders], axis=1),
        np.maximum.accumulate(driver_s[orders], axis=1),
        _widest_pairs(pairs_s, orders),
        None if caps[0] is None else np.array(caps, dtype=float),
        trigger_s,
    )
    moved = np.minimum(counts, len(present)) - np.cumsum(kept[orders], axis=1)
    best = np.argmax(np.where(moved > 0, found * (1 - LEAST_GAIN), found), axis=0)
    as_it_is = next(row for row in range(len(orders)) if moved[row, len(present) - 1] == 0)
    return Placements(
        nodes=tuple(
            tuple(sorted(nodes[index] for index in orders[row, :count]))
            for row, count in zip(best, counts, strict=True)
        ),
        rows_per_s=found[best, counts - 1],
        present_rows_per_s=float(found[as_it_is, len(present) - 1]),
    )


def _nearest(free: Sequence[str], driver_node: str, delays: LatencyMap | None) -> Sequence[str]:
    """Return the free nodes, or so many of them as are considered."""
    if len(free) <= MOST_FREE_NODES:
        return free
    driver_s = _driver_rtts_s(free, driver_node, delays)  # NaN is sorted last
    return [free[index] for index in np.argsort(driver_s, kind="stable")[:MOST_FREE_NODES]]


def _orders(
    driver_s: Array, pairs_s: Array, weight: Array, kept: NDArray[np.bool_], most: int, *, moves: bool
) -> Orders:
    """Return the first ``most`` nodes of each order in which nodes are taken, shape ``(o, most)``; no two are equal.

    The present ones come first in some of them.
    """
    centres = np.argsort(driver_s, kind="stable")[:MOST_CENTRES]
    distances = np.concatenate([driver_s[None], pairs_s[centres] + 1e-6 * driver_s])
    by_distance = np.argsort(distances, axis=1, kind="stable")
    orders = [by_distance]
    if (weight != weight[0]).any():
        orders.append(_first(by_distance, -weight))
    present_first = [_first(order, ~kept) for order in orders]
    found = np.concatenate([*present_first, *orders] if moves else present_first)
    return np.array(sorted(set(map(tuple, found[:, :most].tolist()))))


def _first(orders: Orders, keys: NDArray[np.generic]) -> Orders:
    """Put the nodes of the least key first in each order, and leave the order of equal ones."""
    return np.take_along_axis(orders, np.argsort(keys[orders], axis=1, kind="stable"), axis=1)


def _widest_pairs(pairs_s: Array, orders: Orders) -> Array:
    """Return the longest round trip between two of the first 1, 2, ... nodes of each order."""
    among = pairs_s[orders[:, :, None], orders[:, None, :]]
    earlier = np.tril(np.ones(among.shape[1:], dtype=bool))
    widest: Array = np.maximum.accumulate(np.where(earlier, among, 0.0).max(axis=2), axis=1)
    return widest
