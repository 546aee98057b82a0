"""Relative speeds of nodes, learned from the throughput of replicas in the same window.

In one window all replicas process the same query. So the logarithm of the rows per busy second is a term of the query
plus a term of the node. The terms of the nodes are learned, and that of the query is the mean of the rest: rows that
become more expensive make no node slower. A node is compared only with nodes that worked at the same time.
"""

from collections.abc import Mapping
from math import exp, log
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from gesscale.model.observation import NodeReading

#: Weight of the samples of a whole bucket against all earlier ones.
GAIN = 0.3
#: Smaller logarithms count as 0: noise must not move a replica.
EQUAL_WITHIN = 0.15
MAX_NODES = 100
_MAX_LOG = 3.0
#: Squared distance of the weights from equal ones, as shares, from which a split of the rows is visible.
_LEAST_SPREAD = 0.01


def even_split(by_node: Mapping[str, NodeReading], weights: Mapping[str, float], known: float) -> float:
    """Return the share of the rows that replicas take evenly, and not by weight; ``known`` if weights hardly differ.

    Least squares of the replicas' shares of the rows between 1 / n and their shares of the weight, in steps of 0.05.
    """
    rows = {node: each.throughput_rows_per_s for node, each in by_node.items() if each.throughput_rows_per_s > 0}
    if len(rows) < 2:
        return known
    all_rows, all_weight = sum(rows.values()), sum(weights.get(node, 1.0) for node in rows)
    by_weight = {node: weights.get(node, 1.0) / all_weight for node in rows}
    lead = {node: 1 / len(rows) - share for node, share in by_weight.items()}
    spread = sum(each * each for each in lead.values())
    if spread < _LEAST_SPREAD:
        return known
    found = sum(lead[node] * (each / all_rows - by_weight[node]) for node, each in rows.items()) / spread
    return round(20 * max(0.0, min(found, 1.0))) / 20


class NodeSpeeds(BaseModel):
    """Speeds of nodes relative to their reported weights."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: Logarithm of speed over weight by node, the most recent last.
    logs: Mapping[str, float] = {}

    def updated(
        self, by_node: Mapping[str, NodeReading], weights: Mapping[str, float], share: float = 1.0
    ) -> "NodeSpeeds":
        """Add one window; windows with fewer than two replicas are ignored."""
        observed = {
            node: log(each.throughput_rows_per_s / each.busy_share / weights.get(node, 1.0))
            for node, each in by_node.items()
            if each.throughput_rows_per_s > 0 and each.busy_share > 0
        }
        if len(observed) < 2:
            return self
        query = sum(value - self.logs.get(node, 0.0) for node, value in observed.items()) / len(observed)
        logs = {node: value for node, value in self.logs.items() if node not in observed}
        for node, value in observed.items():
            known = self.logs.get(node, 0.0)
            found = known + GAIN * share * (value - query - known)
            logs[node] = float(f"{max(-_MAX_LOG, min(found, _MAX_LOG)):.4g}")
        return NodeSpeeds(logs=dict([*logs.items()][-MAX_NODES:]))

    def weights(self, reported: Mapping[str, float]) -> Mapping[str, float]:
        """Return the weights of nodes, adjusted by the learned speeds; others as reported."""
        differing = {node: value for node, value in self.logs.items() if abs(value) > EQUAL_WITHIN}
        if not differing:
            return reported
        return {**reported, **{node: reported.get(node, 1.0) * exp(each) for node, each in differing.items()}}
