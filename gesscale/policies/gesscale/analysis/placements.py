"""The placements to choose from: for each number of replicas the one that carries most, and cheaper ones.

If all nodes have the same price, a placement costs as much as it has replicas, and there are no cheaper ones.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gesscale.plan.node_ranking import nearest_first
from gesscale.policies.gesscale.analysis.capacity import OperatorModel, round_trips_ms
from gesscale.policies.gesscale.analysis.growth import GrowthEnd, additions, carries_more, growing_sizes
from perfmodel import Points

Array = NDArray[np.float64]
NodeOrders = NDArray[np.int64]
_Nodes = tuple[str, ...]

#: Round trip assumed for a delay that the map does not have.
UNKNOWN_RTT_MS = 1000.0

#: Maximum number of free nodes considered: those nearest to the driver.
MAX_FREE_NODES = 64
MAX_CENTRES = 16

#: Replicas move only if the capacity grows by at least this share.
MIN_GAIN = 0.02
#: Share of the capacity that 1 ms of delay counts at least: of placements that carry the same, the nearest is best.
NEARER_PER_MS = 1e-6


@dataclass(frozen=True, kw_only=True)
class Placements:
    """Best placement for each number of replicas."""

    fitted: OperatorModel
    #: Nodes of 1, 2, ... replicas, sorted.
    nodes: tuple[_Nodes, ...]
    #: Predicted capacity of each placement.
    rows_per_s: Array
    #: Predicted capacity of the present placement.
    present_rows_per_s: float
    #: All considered nodes, present and free.
    considered: _Nodes
    #: Other placements with their capacity, if the prices differ: each carries more than all cheaper ones.
    cheaper: tuple[tuple[_Nodes, float], ...] = ()

    def up_to(self, replicas: int) -> "Placements":
        """Return the placements of at most this number of replicas; limits the present capacity too."""
        capacity = float(self.rows_per_s[:replicas].max())
        return replace(
            self,
            nodes=self.nodes[:replicas],
            rows_per_s=self.rows_per_s[:replicas],
            present_rows_per_s=min(self.present_rows_per_s, capacity),
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of replicas to choose from: each carries more than all smaller ones."""
        operator = self.fitted.operator
        return growing_sizes(self.rows_per_s[: operator.max_replicas], operator.min_replicas)

    @cached_property
    def choices(self) -> tuple[tuple[_Nodes, float], ...]:
        """The placements to choose from, each with its capacity, which is above that of all cheaper ones."""
        best = [(self.nodes[size - 1], float(self.rows_per_s[size - 1])) for size in self.sizes]
        if not self.cheaper:
            return tuple(best)
        least, most = self.sizes[0], min(len(self.nodes), self.fitted.operator.max_replicas)
        found = [*best, *(each for each in self.cheaper if least <= len(each[0]) <= most)]
        price_of = self.fitted.price_of
        chosen: list[tuple[_Nodes, float]] = []
        for nodes, rows_per_s in sorted(found, key=lambda each: (price_of(each[0]), -each[1], each[0])):
            if not chosen or carries_more(rows_per_s, price_of(nodes), chosen[-1][1], price_of(chosen[-1][0])):
                chosen.append((nodes, rows_per_s))
        return tuple(chosen)

    @cached_property
    def growth_end(self) -> GrowthEnd | None:
        """Why there is no larger size; None at the maximum, or if no other node is free."""
        replicas = self.sizes[-1]
        if replicas >= min(len(self.nodes), self.fitted.operator.max_replicas):
            return None
        rows_per_s = float(self.rows_per_s[replicas - 1])
        found = [
            each
            for each in additions(self.fitted, self.nodes[replicas - 1], self.considered)
            if not carries_more(each.rows_per_s, replicas + 1, rows_per_s, replicas)
        ]
        return GrowthEnd(replicas=replicas, rows_per_s=rows_per_s, additions=tuple(found)) if found else None


def placements(fitted: OperatorModel, present: _Nodes, free: _Nodes, *, moves: bool = True) -> Placements:
    """Find the nodes with the highest predicted capacity for each number of replicas.

    Nodes are sorted by their distance to the driver or to one of the nodes, with and without the present nodes first,
    and with the strongest first; if prices differ, also with the cheapest first, by node and by weight. The prefixes of
    all these orders are compared. So a query that only maps gets nodes near its driver, and one that shuffles gets
    nodes near each other.
    """
    operator = fitted.operator
    if len(free) > MAX_FREE_NODES:
        free = nearest_first(fitted.delays, free, operator.driver_node)[:MAX_FREE_NODES]
    nodes = (*present, *free)
    options = _enumerate_placements(fitted, nodes, len(present), moves=moves)
    counts = np.arange(1, options.moved.shape[1] + 1)
    caps = [fitted.cap_rows(count) for count in counts.tolist()]
    cap_rows = np.broadcast_to(np.array(caps), options.moved.shape)
    points = replace(options.points, cap_rows=cap_rows, trigger_s=fitted.trigger_s)
    found = fitted.model.middle(points)
    score = np.where(options.moved > 0, found * (1 - MIN_GAIN), found) * (1 - NEARER_PER_MS * points.nd_max_ms)
    best = np.argmax(score, axis=0)

    def nodes_of(row: int, count: int) -> _Nodes:
        return tuple(sorted(nodes[index] for index in options.orders[row, :count].tolist()))

    return Placements(
        fitted=fitted,
        nodes=tuple(map(nodes_of, best.tolist(), counts.tolist())),
        rows_per_s=found[best, counts - 1],
        present_rows_per_s=float(found[options.present_row, len(present) - 1]),
        considered=nodes,
        cheaper=tuple(
            (nodes_of(row, column + 1), float(found[row, column]))
            for row, column in _undominated(options.price, score)
            if column < fitted.operator.max_replicas
        ),
    )


def _undominated(price: Array | None, score: Array) -> list[tuple[int, int]]:
    """Return the indices of those that score more than all cheaper ones, the cheapest first; none without prices."""
    if price is None:
        return []
    by_price = np.lexsort((-score.ravel(), price.ravel()))
    best = np.maximum.accumulate(score.ravel()[by_price])
    rises = by_price[np.diff(best, prepend=-1.0) > 0]
    rows, columns = np.unravel_index(rises, score.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _PlacementOptions:
    """Orders of nodes, and the inputs of the law for each prefix; shape ``(o, max_replicas)``."""

    #: Orders as indices of the nodes.
    orders: NodeOrders
    #: Conditions of each prefix, without its cap.
    points: Points
    #: Number of replicas that move to another node.
    moved: NodeOrders
    #: Index of an order that starts with the present nodes.
    present_row: int
    #: Price of each prefix; None if all nodes have the same price.
    price: Array | None


def _enumerate_placements(fitted: OperatorModel, nodes: _Nodes, present: int, *, moves: bool) -> _PlacementOptions:
    """Return the orders of nodes, the first of which are the present ones; cached per map."""
    driver_node, delays = fitted.operator.driver_node, fitted.delays
    weights, prices = (tuple(of.get(node, 1.0) for node in nodes) for of in (fitted.weights, fitted.prices))
    max_replicas = max(fitted.operator.max_replicas, present)

    def find() -> _PlacementOptions:
        trips = round_trips_ms(nodes, driver_node, delays)
        driver_ms, pairs_ms = (np.nan_to_num(values, nan=UNKNOWN_RTT_MS) for values in trips)
        weight, price, is_present = np.array(weights), np.array(prices), np.arange(len(nodes)) < present
        orders = _orders(driver_ms, pairs_ms, weight, price, is_present, max_replicas, moves=moves)
        counts = np.arange(1, orders.shape[1] + 1)
        moved = np.minimum(counts, present) - np.cumsum(is_present[orders], axis=1)
        return _PlacementOptions(
            orders=orders,
            points=Points(
                weight=np.cumsum(weight[orders], axis=1),
                even_weight=counts * np.minimum.accumulate(weight[orders], axis=1),
                driver_ms=np.maximum.accumulate(driver_ms[orders], axis=1),
                pair_ms=_widest_pairs(pairs_ms, orders),
                cap_rows=np.full(orders.shape, np.nan),
            ),
            moved=moved,
            present_row=next(row for row in range(len(orders)) if moved[row, present - 1] == 0),
            price=np.cumsum(price[orders], axis=1) if (price != price[0]).any() else None,
        )

    if delays is None:
        return find()
    key = (_enumerate_placements, nodes, present, driver_node, weights, prices, max_replicas, moves)
    return delays.cached(key, find)


def _orders(
    driver_ms: Array,
    pairs_ms: Array,
    weight: Array,
    price: Array,
    is_present: NDArray[np.bool_],
    max_replicas: int,
    *,
    moves: bool,
) -> NodeOrders:
    """Return the first ``max_replicas`` nodes of each order, shape ``(o, max_replicas)``, without duplicates.

    Some orders start with the present nodes.
    """
    centres = np.argsort(driver_ms, kind="stable")[:MAX_CENTRES]
    distances = np.concatenate([driver_ms[None], pairs_ms[centres] + 1e-6 * driver_ms])
    by_distance = np.argsort(distances, axis=1, kind="stable")
    orders = [by_distance]
    if (weight != weight[0]).any():
        orders.append(_first(by_distance, -weight))
    if (price != price[0]).any():
        orders += [_first(by_distance, price), _first(by_distance, price / weight)]
    present_first = [_first(order, ~is_present) for order in orders]
    found = np.concatenate([*present_first, *orders] if moves else present_first)
    return np.array(sorted(set(map(tuple, found[:, :max_replicas].tolist()))))


def _first(orders: NodeOrders, keys: NDArray[np.generic]) -> NodeOrders:
    """Sort each order by a key of its nodes, stably."""
    return np.take_along_axis(orders, np.argsort(keys[orders], axis=1, kind="stable"), axis=1)


def _widest_pairs(pairs_ms: Array, orders: NodeOrders) -> Array:
    """Return the longest round trip between the first 1, 2, ... nodes of each order."""
    among = pairs_ms[orders[:, :, None], orders[:, None, :]]
    earlier = np.tril(np.ones(among.shape[1:], dtype=bool))
    widest: Array = np.maximum.accumulate(np.where(earlier, among, 0.0).max(axis=2), axis=1)
    return widest
