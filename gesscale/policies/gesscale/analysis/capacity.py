"""Conditions of placements, and the capacity that the model of an operator predicts for them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.model.evidence import mark_warm
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
        point = self._point(nodes)
        if np.isnan(point.nd_max_ms).any():
            return None
        return self.model.predict(point).at(0)

    def overhead_s(self, nodes: Sequence[str]) -> float:
        """Return the time of a batch on a placement that its rows do not change; 0 if it is unknown."""
        law = self.model.batch_time
        return 0.0 if law is None else float(np.nan_to_num(law.times(self._point(nodes))[0][0]))

    def round_trips_ms(self, nodes: Sequence[str]) -> float:
        """Return the longest round trip to the driver plus that between two of the nodes; NaN if one is unknown."""
        return sum(max_trips_ms(tuple(nodes), self.operator.driver_node, self.delays))

    def speedup(self, nodes: Sequence[str], before: Sequence[str]) -> float:
        """Return how many times as fast rows are expected on a placement than on another one, by the weights."""
        now, then = _weights(nodes, self.weights), _weights(before, self.weights)
        return min(now[0] / then[0], now[1] / then[1])

    def _point(self, nodes: Sequence[str]) -> Points:
        driver_ms, pair_ms = max_trips_ms(tuple(nodes), self.operator.driver_node, self.delays)
        weight, even_weight = _weights(nodes, self.weights)
        return Points.of(
            weight,
            driver_ms,
            even_weight=even_weight,
            pair_ms=pair_ms,
            cap_rows=self.cap_rows(len(nodes)),
            trigger_s=self.trigger_s,
        )

    def proportional_rows_per_s(self, reading: OperatorReading, nodes: Sequence[str]) -> float:
        """Return what some of the present replicas carry at least: their share of what all of them process while busy.

        Fewer replicas do not lose more time to delays, so each of them processes at least as much as now. It is the low
        end of a 90 % interval over the warm batches on all present nodes; 0 for other nodes, or with too few batches.
        """
        present = set(reading.placement)
        warm = [each for each in reading.warm_batches if set(each.nodes) == present and each.seconds > 0]
        if not set(nodes) <= present or len(warm) < _MIN_BATCHES:
            return 0.0
        rates = np.array([each.rows / each.seconds for each in warm])
        weight, every_weight = (sum(self.weights.get(node, 1.0) for node in of) for of in (nodes, present))
        share = min(len(nodes) / len(present), weight / every_weight)
        return max(0.0, share * float(rates.mean() - _Z_90 * rates.std(ddof=1) / math.sqrt(len(rates))))


def warm_samples(
    batches: Sequence[Batch], since_s: float, driver_node: str, weights: Mapping[str, float], delays: LatencyMap | None
) -> Iterator[BatchSample]:
    """Yield the warm batches that ended after an instant as samples; without a delay in the map one is not usable."""
    for batch, is_warm in zip(batches, mark_warm(batches), strict=True):
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
