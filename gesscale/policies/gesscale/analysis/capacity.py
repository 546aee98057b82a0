"""Conditions of placements, and the capacity that the model of an operator predicts for them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.model.evidence import first_that_matters, mark_warm
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.workflow import BatchCap, Operator
from latency_map import LatencyMap
from perfmodel import BatchSample, CapacityModel, Estimate, Points

#: A 90 % interval in standard deviations, and the fewest batches that give one.
_Z_90 = 1.645
_MIN_BATCHES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorModel:
    """The fitted model of an operator, and the conditions under which it works."""

    operator: Operator
    model: CapacityModel
    #: Weights of the nodes, by their learned speeds.
    weights: Mapping[str, float]
    #: Prices of the nodes.
    prices: Mapping[str, float]
    delays: LatencyMap | None
    trigger_s: float
    #: Cap on the rows of a batch; None without one.
    cap: BatchCap | None = None

    def cap_rows(self, replicas: int) -> float:
        """Return the cap with a number of replicas; NaN without one."""
        return math.nan if self.cap is None else float(self.cap.at(replicas))

    def price_of(self, nodes: Sequence[str]) -> float:
        """Return the sum of the prices of nodes."""
        return sum(self.prices.get(node, 1.0) for node in nodes)

    @property
    def cap_rows_per_s(self) -> float:
        """The most rows that batches of the cap take with any number of replicas."""
        return math.inf if self.cap is None else self.cap_rows(self.operator.max_replicas) / self.trigger_s

    def mst(self, nodes: Sequence[str]) -> Estimate | None:
        """Predict the MST of a placement with a 90 % interval; None if a delay is unknown."""
        return self.msts((nodes,))[0]

    def msts(self, placements: Sequence[Sequence[str]]) -> list[Estimate | None]:
        """Predict the MST of each of some placements; None if a delay is unknown."""
        points = self._points(placements)
        predicted = self.model.predict(points)
        return [None if unknown else predicted.at(at) for at, unknown in enumerate(np.isnan(points.nd_max_ms).tolist())]

    def overhead_s(self, nodes: Sequence[str]) -> float:
        """Return the time of a batch on a placement that its rows do not change; 0 if it is unknown."""
        law = self.model.batch_time
        return 0.0 if law is None else float(np.nan_to_num(law.times(self._points((nodes,)))[0][0]))

    def round_trips_ms(self, nodes: Sequence[str]) -> float:
        """Return the longest round trip to the driver plus that between two of the nodes; NaN if one is unknown."""
        return sum(max_trips_ms(tuple(nodes), self.operator.driver_node, self.delays))

    def speedup(self, nodes: Sequence[str], before: Sequence[str]) -> float:
        """Return how many times as fast rows are expected on a placement than on another one, by the weights."""
        now, then = _weights(nodes, self.weights), _weights(before, self.weights)
        return min(now[0] / then[0], now[1] / then[1])

    def _points(self, placements: Sequence[Sequence[str]]) -> Points:
        conditions = [
            (
                *_weights(nodes, self.weights),
                *max_trips_ms(tuple(nodes), self.operator.driver_node, self.delays),
                self.cap_rows(len(nodes)),
            )
            for nodes in placements
        ]
        weight, even_weight, driver_ms, pair_ms, cap_rows = np.array(conditions).T
        return Points(
            weight=weight,
            even_weight=even_weight,
            driver_ms=driver_ms,
            pair_ms=pair_ms,
            cap_rows=cap_rows,
            trigger_s=self.trigger_s,
        )

    def proportional_rows_per_s(self, placement: Sequence[str], busy_rows_per_s: float, nodes: Sequence[str]) -> float:
        """Return what some replicas of a placement carry at least: their share of what all of them do while busy.

        Fewer replicas do not lose more time to delays, so each of them processes at least as much as now. 0 for other
        nodes.
        """
        present = set(placement)
        if not set(nodes) <= present:
            return 0.0
        weight, every_weight = (sum(self.weights.get(node, 1.0) for node in of) for of in (nodes, present))
        share = min(len(nodes) / len(present), weight / every_weight)
        return max(0.0, share * busy_rows_per_s)


def busy_rows_per_s(reading: OperatorReading) -> float:
    """Return the low end of a 90 % interval of what the present replicas process while busy.

    It is that of the warm batches on all present nodes; 0 with too few of them.
    """
    present = set(reading.placement)
    warm = [each for each in reading.warm_batches if set(each.nodes) == present and each.seconds > 0]
    if len(warm) < _MIN_BATCHES:
        return 0.0
    rates = np.array([each.rows / each.seconds for each in warm])
    return float(rates.mean() - _Z_90 * rates.std(ddof=1) / math.sqrt(len(rates)))


def warm_samples(
    batches: Sequence[Batch], since_s: float, driver_node: str, weights: Mapping[str, float], delays: LatencyMap | None
) -> Iterator[BatchSample]:
    """Yield the warm batches that ended after an instant as samples; without a delay in the map one is not usable."""
    first = next((at for at in range(len(batches), 0, -1) if batches[at - 1].ended_at_s <= since_s), 0)
    began = first_that_matters(batches, first)
    for batch, is_warm in zip(batches[began:], mark_warm(batches[began:]), strict=True):
        if is_warm and batch.ended_at_s > since_s and batch.nodes:
            conditions = (*_weights(batch.nodes, weights), *max_trips_ms(batch.nodes, driver_node, delays))
            yield BatchSample(batch.rows, batch.seconds, *conditions, batch.ended_at_s)


def _weights(nodes: Sequence[str], weights: Mapping[str, float]) -> tuple[float, float]:
    """Return the sum of the weights, and their number times the smallest."""
    each = [weights.get(node, 1.0) for node in nodes]
    return sum(each), len(each) * min(each)


def max_trips_ms(nodes: tuple[str, ...], driver_node: str, delays: LatencyMap | None) -> tuple[float, float]:
    """Return the longest round trips of a placement, to the driver and between two nodes; NaN: unknown."""

    def find() -> tuple[float, float]:
        driver_ms, pairs_ms = round_trips_ms(nodes, driver_node, delays)
        return float(driver_ms.max()), float(pairs_ms.max())

    return find() if delays is None else delays.cached((max_trips_ms, nodes, driver_node), find)


def round_trips_ms(
    nodes: tuple[str, ...], driver_node: str, delays: LatencyMap | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return round trips to the driver, shape ``(n,)``, and between nodes, ``(n, n)``; NaN: unknown, 0: the same."""
    names = (*nodes, driver_node)
    rtts_ms = np.full((len(names), len(names)), np.nan)
    if delays is not None:
        known = delays.known_indices(names)
        rows = delays.positions([names[index] for index in known.tolist()])
        rtts_ms[np.ix_(known, known)] = delays.rtt_ms[np.ix_(rows, rows)]
    np.fill_diagonal(rtts_ms, 0.0)
    if driver_node in nodes:
        rtts_ms[-1, nodes.index(driver_node)] = 0.0
    return rtts_ms[-1, :-1], rtts_ms[:-1, :-1]
