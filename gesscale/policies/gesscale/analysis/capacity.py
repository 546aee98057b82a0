"""Batches and placements as inputs of the model, and the MST that it predicts."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gesscale.model.evidence import mark_warm
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.workflow import Operator
from gesscale.policies.gesscale.analysis.round_trips import max_trips_ms
from latency_map import LatencyMap
from perfmodel import BatchSample, CapacityModel, Estimate, Points

#: A 90 % interval in standard deviations, and the fewest batches that give one.
_Z_90 = 1.645
_MIN_BATCHES = 3


def warm_samples(
    batches: Sequence[Batch], since_s: float, driver_node: str, weights: Mapping[str, float], delays: LatencyMap | None
) -> Iterator[BatchSample]:
    """Yield the warm batches that ended after an instant as samples; without a delay in the map one is not usable."""
    for batch, is_warm in zip(batches, mark_warm(batches), strict=True):
        if is_warm and batch.ended_at_s > since_s and batch.nodes:
            conditions = (*_weights(batch.nodes, weights), *max_trips_ms(batch.nodes, driver_node, delays))
            yield BatchSample(batch.rows, batch.seconds, *conditions, batch.ended_at_s)


def predicted_mst(
    model: CapacityModel | None,
    operator: Operator,
    nodes: Sequence[str],
    *,
    weights: Mapping[str, float],
    delays: LatencyMap | None,
    trigger_s: float,
) -> Estimate | None:
    """Predict the MST of a placement with a 90 % interval; None before any evidence, or if a delay is unknown."""
    driver_ms, pair_ms = max_trips_ms(tuple(nodes), operator.driver_node, delays)
    if model is None or np.isnan(driver_ms) or np.isnan(pair_ms):
        return None
    weight, even_weight = _weights(nodes, weights)
    cap = operator.batch_rows(len(nodes))
    point = Points.of(weight, driver_ms, even_weight=even_weight, pair_ms=pair_ms, cap_rows=cap, trigger_s=trigger_s)
    return model.predict(point).at(0)


def _weights(nodes: Sequence[str], weights: Mapping[str, float]) -> tuple[float, float]:
    """Return the sum of the weights, and their number times the smallest."""
    each = [weights.get(node, 1.0) for node in nodes]
    return sum(each), len(each) * min(each)


def proportional_rows_per_s(reading: OperatorReading, nodes: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return what some of the present replicas carry at least: their share of what all of them process while busy.

    Fewer replicas do not lose more time to delays, so each of them processes at least as much as now. It is the low end
    of a 90 % interval over the warm batches on all present nodes; 0 for other nodes, or with too few batches.
    """
    present = set(reading.placement)
    rates = np.array(
        [each.rows / each.seconds for each in reading.warm_batches if set(each.nodes) == present and each.seconds > 0]
    )
    if not set(nodes) <= present or len(rates) < _MIN_BATCHES:
        return 0.0
    weight, every_weight = (sum(weights.get(node, 1.0) for node in of) for of in (nodes, present))
    share = min(len(nodes) / len(present), weight / every_weight)
    return max(0.0, share * float(rates.mean() - _Z_90 * rates.std(ddof=1) / math.sqrt(len(rates))))
