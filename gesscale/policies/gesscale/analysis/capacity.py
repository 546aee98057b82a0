"""Weights and delays of placements as inputs of the law, and the MST that the law predicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gesscale.model.evidence import mark_warm
from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator
from gesscale.policies.gesscale.analysis.law import BatchSample, LawEvidence
from gesscale.policies.gesscale.analysis.round_trips import max_trips_s
from latency_map import LatencyMap
from perfmodel import Estimate

_Z_90 = 1.645


def sample_of(
    nodes: Sequence[str], driver_node: str, weights: Mapping[str, float], delays: LatencyMap | None
) -> BatchSample | None:
    """Return a sample without rows with the weight and delays of a placement; None if the map lacks a delay."""
    driver_rtt_s, pair_rtt_s = max_trips_s(tuple(nodes), driver_node, delays)
    if np.isnan(driver_rtt_s) or np.isnan(pair_rtt_s):
        return None
    each = [weights.get(node, 1.0) for node in nodes]
    return BatchSample(
        rows=0.0,
        seconds=0.0,
        weight=sum(each),
        even_weight=len(each) * min(each),
        driver_rtt_s=driver_rtt_s,
        pair_rtt_s=pair_rtt_s,
    )


def warm_samples(
    batches: Sequence[Batch], since_s: float, driver_node: str, weights: Mapping[str, float], delays: LatencyMap | None
) -> Iterator[BatchSample]:
    """Yield the warm batches that ended after an instant as samples, if the latency map has their delays."""
    samples: dict[tuple[str, ...], BatchSample | None] = {}
    for batch, is_warm in zip(batches, mark_warm(batches), strict=True):
        if not is_warm or batch.ended_at_s <= since_s or not batch.nodes:
            continue
        if batch.nodes not in samples:
            samples[batch.nodes] = sample_of(batch.nodes, driver_node, weights, delays)
        if (sample := samples[batch.nodes]) is not None:
            yield replace(sample, rows=batch.rows, seconds=batch.seconds)


def predicted_mst(
    evidence: LawEvidence,
    operator: Operator,
    nodes: Sequence[str],
    *,
    weights: Mapping[str, float],
    delays: LatencyMap | None,
    trigger_s: float,
) -> Estimate | None:
    """Predict the MST of a placement with a 90 % interval; None before any evidence, or if a delay is unknown."""
    law, sample = evidence.law(), sample_of(nodes, operator.driver_node, weights, delays)
    if law is None or sample is None:
        return None
    cap = operator.batch_rows(len(nodes))
    mid = float(
        law.rows_per_s(
            np.array([sample.weight]),
            np.array([sample.even_weight]),
            np.array([sample.driver_rtt_s]),
            np.array([sample.pair_rtt_s]),
            None if cap is None else float(cap),
            trigger_s,
        )[0]
    )
    seconds = trigger_s if cap is None else max(trigger_s, cap / mid)
    share = _Z_90 * evidence.spread_share(replace(sample, rows=mid * seconds, seconds=seconds))
    return Estimate(low=mid / (1 + share), mid=mid, high=mid * (1 + share))
