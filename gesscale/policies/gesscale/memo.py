"""Memo of `gesscale`: what it has learned of an operator."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from gesscale.model.decision import Reason
from gesscale.model.observation import NodeReading, OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.model.workflow import Operator
from gesscale.policies.gesscale.analysis.batch_caps import find_cap
from gesscale.policies.gesscale.analysis.capacity import warm_samples
from gesscale.policies.gesscale.analysis.demand import LoadHistory
from gesscale.policies.gesscale.analysis.gains import Growth
from gesscale.policies.gesscale.analysis.idleness import IdleMemory
from gesscale.policies.gesscale.analysis.limits import limiting_order
from gesscale.policies.gesscale.analysis.speeds import NodeSpeeds, even_split
from gesscale.policies.memos import Memo
from latency_map import LatencyMap
from perfmodel import BatchEvidence, learned

#: Fewer replicas must suffice at the slowest pace of this time, as nodes that became faster may slow down again.
STEADY_S = 450.0


class GesscaleMemo(Memo):
    """Learned state of an operator; 3 to 9 kB of JSON."""

    #: Time between two steps.
    period_s: float
    #: End of the newest batch in the evidence, seconds since the epoch.
    learned_until_s: float = 0.0
    #: Evidence for the law of batch times.
    batches: BatchEvidence = BatchEvidence()
    #: Rows of a batch beyond which the sources give no more, as seen in the batches; None if they give all.
    seen_cap_rows: int | None = None
    #: Changes of the pace of the evidence (`BatchEvidence.pace`) with their instants, the newest last.
    paces: tuple[tuple[float, float], ...] = ()
    #: History of the offered load.
    load: LoadHistory = LoadHistory()
    #: Relative speeds of the nodes.
    speeds: NodeSpeeds = NodeSpeeds()
    #: The last additions of replicas, and the late batches before them.
    growth: Growth = Growth()
    #: The last replicas without work that were given back; None if there were none.
    idle: IdleMemory | None = None

    def bucket_s(self, slo_s: float) -> float:
        """Return the time over which the load is averaged, the longest acceptable wait of a row."""
        return max(self.period_s, slo_s)

    def slowdown(self, since_s: float) -> float:
        """Return how much longer a batch took at worst since an instant than it does now, at least 1."""
        if not self.paces:
            return 1.0
        before = [at_s for at_s, _ in self.paces if at_s <= since_s]
        first_s = before[-1] if before else -math.inf
        return max(pace for at_s, pace in self.paces if at_s >= first_s) / self.paces[-1][1]

    def updated(
        self,
        observation: WorkflowObservation,
        operator: Operator,
        delays: LatencyMap | None,
        slo_s: float,
        orders: Sequence[Order] = (),
    ) -> "GesscaleMemo":
        """Learn from the reading of an operator, whose newest order is first."""
        reading, weights = observation.readings[operator.name], observation.node_weights
        batches, bucket_s = reading.batches, self.bucket_s(slo_s)
        since_s = observation.at_s - bucket_s
        settled = _working_since(reading, since_s)
        speeds = self.speeds.updated(settled, weights, self.period_s / bucket_s)
        adjusted = speeds.weights(weights)
        warm = warm_samples(batches, self.learned_until_s, operator.driver_node, adjusted, delays)
        evidence = replace(
            learned(self.batches, warm), even_split=even_split(settled, adjusted, self.batches.even_split)
        )
        if (limit := limiting_order(orders, observation.at_s)) is not None:
            # Larger placements showed the limit, not what a replica does.
            evidence = evidence.up_to(sum(adjusted.get(node, 1.0) for node in limit.placement))
        return self.model_copy(
            update={
                "at_s": observation.at_s,
                "learned_until_s": batches[-1].ended_at_s if batches else self.learned_until_s,
                "batches": evidence,
                "paces": self._paces(observation.at_s, evidence.pace),
                "seen_cap_rows": find_cap(operator.cap, batches, self.seen_cap_rows).seen_rows,
                "load": self.load.updated(reading.offered_points, bucket_s),
                "speeds": speeds,
                "growth": self.growth.updated(reading, orders[0] if orders else None),
                "idle": self._idle(limit, observation, operator.name),
            }
        )

    def _idle(self, limit: Order | None, observation: WorkflowObservation, operator: str) -> IdleMemory | None:
        if limit is None or limit.reason != Reason.IDLE_REPLICA or not (usable := observation.usable_by(operator)):
            return self.idle
        now = IdleMemory.of(limit.at_s, usable)
        return now if self.idle is None else self.idle.updated(now)

    def _paces(self, at_s: float, pace: float) -> tuple[tuple[float, float], ...]:
        if self.paces and self.paces[-1][1] == pace:
            return self.paces
        kept = [each for each, following in pairwise(self.paces) if following[0] > at_s - STEADY_S]
        return (*kept, *self.paces[-1:], (at_s, pace))


def _working_since(reading: OperatorReading, since_s: float) -> dict[str, NodeReading]:
    """Return the readings of nodes that took part in all batches that ended since an instant: no replica is new."""
    placements = {batch.nodes for batch in reading.batches if batch.ended_at_s > since_s}
    return {node: each for node, each in reading.by_node.items() if all(node in nodes for nodes in placements)}
