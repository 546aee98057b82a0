"""THR, the paper's threshold baselines (section V): CPU above 90 % adds a replica, below 50 % removes one.

NL-aware adds the nearest node and removes the farthest; NL-unaware draws the node. Where no CPU is measured, the
share of time in batches stands for it, so that waiting for the network counts as busy; the analysis says which.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gesscale.decision import Analysis, Change, Plan, Reason, Rejection, Verdict
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.plan.placement import additions, nd_max_ms, removals, usable
from gesscale.policies.per_operator import Occasion, PerOperatorPolicy
from gesscale.policies.rules import stay
from gesscale.ports import Knowledge


@dataclass(frozen=True, slots=True)
class ThresholdPolicy(PerOperatorPolicy):
    """One replica more above the upper threshold, one fewer below the lower.

    Where it is not latency-aware, a seeded draw among all usable nodes takes the place of the latency map.
    """

    @property
    def name(self) -> str:
        """The registered name."""
        return "thr-nlaware" if self.latency_aware else "thr-nlunaware"

    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Compare the operator's CPU with the thresholds."""
        del observation
        measured = reading.cpu_share is not None
        share = reading.cpu_share if reading.cpu_share is not None else reading.busy_share
        verdict, reason = Verdict.SAME, Reason.WITHIN_TARGET
        if share > self.rules.cpu_high_share:
            verdict, reason = Verdict.MORE, Reason.OVERLOADED
        elif share < self.rules.cpu_low_share:
            verdict, reason = Verdict.FEWER, Reason.UNDERUSED
        driver_node = self.workflow.operators[reading.operator].driver_node
        return Analysis(
            operator=reading.operator,
            verdict=verdict,
            reason=reason,
            detail=f"{'CPU' if measured else 'share of time in batches'} {100 * share:.0f} %, thresholds "
            f"{100 * self.rules.cpu_low_share:.0f} and {100 * self.rules.cpu_high_share:.0f} %",
            reading=reading,
            nd_max_ms=nd_max_ms(knowledge.latencies.map, reading.placement, driver_node),
        )

    def plan_more(self, occasion: Occasion) -> Plan:
        """Add the nearest node, or one that is drawn."""
        cluster, placement = occasion.cluster, occasion.placement
        if self.latency_aware:
            driver_node = occasion.operator.driver_node
            ranked = additions(occasion.latencies.map, cluster, placement, driver_node)
        else:
            ranked = usable(cluster, placement)
        if not ranked.nodes:
            detail = "no node can take one more replica"
            stuck = stay(occasion.analysis, cluster, Reason.NO_CANDIDATE_NODE, detail)
            return replace(stuck, rejections=ranked.rejections)
        node, losers = self._choose(ranked.nodes, occasion)
        return self._result(occasion, Change(add=(node,)), ranked.rejections + losers)

    def plan_fewer(self, occasion: Occasion) -> Plan:
        """Remove the farthest node, or one that is drawn."""
        placement = occasion.placement
        if self.latency_aware:
            ranked = removals(occasion.latencies.map, placement, occasion.operator.driver_node)
        else:
            ranked = placement
        node, losers = self._choose(ranked, occasion)
        return self._result(occasion, Change(remove=(node,)), losers)

    def _choose(self, ranked: Sequence[str], occasion: Occasion) -> tuple[str, tuple[Rejection, ...]]:
        if self.latency_aware:
            chosen, reason = ranked[0], Reason.FARTHER
        else:
            # Drawn from the seed and the observation, so that planning twice gives the same node.
            entropy = [
                self.rules.seed,
                zlib.crc32(occasion.operator.name.encode()),
                int(occasion.reading.at_s),
            ]
            chosen = str(np.random.default_rng(entropy).choice(sorted(ranked)))
            reason = Reason.NOT_DRAWN
        return chosen, tuple(Rejection(node=node, reason=reason) for node in ranked if node != chosen)

    def _result(self, occasion: Occasion, change: Change, rejections: tuple[Rejection, ...]) -> Plan:
        after = tuple(sorted({*occasion.placement, *change.add} - set(change.remove)))
        return Plan(
            operator=occasion.operator.name,
            reason=occasion.analysis.reason,
            detail=occasion.analysis.detail,
            placement=after,
            change=change,
            nd_max_ms=nd_max_ms(occasion.latencies.map, after, occasion.operator.driver_node),
            rejections=rejections,
        )
