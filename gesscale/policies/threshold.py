"""THR, the paper's threshold baselines (section V): CPU above 90 % adds a replica, below 50 % removes one.

NL-aware adds the nearest node and removes the farthest; NL-unaware draws the node. Where no CPU is measured, the
share of time in batches stands for it, so that waiting for the network counts as busy; the analysis says which.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gesscale.decision import Analysis, Change, Plan, Reason, Rejection, Verdict
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.plan.placement import nd_max_ms
from gesscale.policies.per_operator import Occasion, PerOperatorPolicy
from gesscale.policies.rules import stay
from gesscale.ports import Knowledge


@dataclass(frozen=True, slots=True)
class ThresholdPolicy(PerOperatorPolicy):
    """One replica more above the upper threshold, one fewer below the lower."""

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
        ranked = self.candidates(occasion)
        if not ranked.nodes:
            detail = "no node can take one more replica"
            stuck = stay(occasion.analysis, occasion.cluster, Reason.NO_CANDIDATE_NODE, detail)
            return replace(stuck, rejections=ranked.rejections)
        node, *losers = ranked.nodes
        return self._result(occasion, Change(add=(node,)), ranked.rejections + self._lost(losers))

    def plan_fewer(self, occasion: Occasion) -> Plan:
        """Remove the farthest node, or one that is drawn."""
        kept = self.shrunk(occasion)[0]
        gone = tuple(sorted(set(occasion.placement) - set(kept)))
        return self._result(occasion, Change(remove=gone), self._lost(kept))

    def _lost(self, nodes: Sequence[str]) -> tuple[Rejection, ...]:
        return tuple(Rejection(node=node, reason=self.passed_over) for node in nodes)

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
