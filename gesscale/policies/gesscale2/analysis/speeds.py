"""How fast each node is, by what its replica did beside the others.

In one window all replicas work on the same query. So the logarithm of the rows that one does in a busy second is that
of the query plus that of its node. The part of the nodes is learned, the part of the query is the mean of what is left:
rows that become costlier make no node slower. A node is compared only with those that it has worked with.
"""

from collections.abc import Mapping
from math import exp, log
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from gesscale.model.observation import NodeReading

#: What the figures of a whole bucket count against all earlier ones.
GAIN = 0.3
#: Logarithms that differ less from 0 count as 0: noise must not move a replica.
EQUAL_WITHIN = 0.15
MOST_NODES = 100
_MOST_LOG = 3.0


class NodeSpeeds(BaseModel):
    """The speeds of nodes against their reported weights."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: By node the logarithm of its speed over its weight, the last seen last.
    logs: Mapping[str, float] = {}

    def learned(
        self, by_node: Mapping[str, NodeReading], weights: Mapping[str, float], share: float = 1.0
    ) -> "NodeSpeeds":
        """Return the speeds after one window more; one that tells of fewer than two replicas teaches nothing."""
        seen = {
            node: log(each.throughput_rows_per_s / each.cpu_share / weights.get(node, 1.0))
            for node, each in by_node.items()
            if each.throughput_rows_per_s > 0 and each.cpu_share > 0
        }
        if len(seen) < 2:
            return self
        query = sum(value - self.logs.get(node, 0.0) for node, value in seen.items()) / len(seen)
        logs = {node: value for node, value in self.logs.items() if node not in seen}
        for node, value in seen.items():
            known = self.logs.get(node, 0.0)
            found = known + GAIN * share * (value - query - known)
            logs[node] = float(f"{max(-_MOST_LOG, min(found, _MOST_LOG)):.4g}")
        return NodeSpeeds(logs=dict([*logs.items()][-MOST_NODES:]))

    def weights(self, reported: Mapping[str, float]) -> Mapping[str, float]:
        """Return the weights of nodes with what was learned; those of which nothing is known as reported."""
        differing = {node: value for node, value in self.logs.items() if abs(value) > EQUAL_WITHIN}
        if not differing:
            return reported
        return {**reported, **{node: reported.get(node, 1.0) * exp(each) for node, each in differing.items()}}
