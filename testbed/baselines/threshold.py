"""THR, the threshold baselines of the paper (section V): CPU above 90 % adds a replica, below 50 % removes one.

NL-aware adds the nearest node and removes the farthest; NL-unaware chooses a random node. Nothing changes while CPU is
not reported.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.plan.node_ranking import keep_placement, nd_max_ms
from gesscale.policies.base import PerOperatorPolicy, PlanningContext
from gesscale.policies.details import NO_OTHER_NODE
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.shared.signals import cpu_share


@dataclass(frozen=True, slots=True)
class ThresholdPolicy(PerOperatorPolicy):
    """Adds a replica above the upper threshold, removes one below the lower."""

    @property
    def name(self) -> str:
        """The registered name."""
        return "thr-nlaware" if self.latency_aware else "thr-nlunaware"

    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Compare the operator's CPU with the thresholds."""
        del observation
        share = cpu_share(reading)
        verdict, reason = Verdict.SAME, Reason.WITHIN_TARGET
        if math.isnan(share):
            reason = Reason.METRICS_MISSING
        elif share > self.options.cpu_high_share:
            verdict, reason = Verdict.MORE, Reason.OVERLOADED
        elif share < self.options.cpu_low_share:
            verdict, reason = Verdict.FEWER, Reason.UNDERUSED
        driver_node = self.workflow.operators[reading.operator].driver_node
        return Analysis(
            operator=reading.operator,
            verdict=verdict,
            reason=reason,
            detail="CPU not reported"
            if math.isnan(share)
            else f"CPU {100 * share:.0f} %, thresholds {100 * self.options.cpu_low_share:.0f} and "
            f"{100 * self.options.cpu_high_share:.0f} %",
            reading=reading,
            nd_max_ms=nd_max_ms(knowledge.latencies.map, reading.placement, driver_node),
        )

    def plan_more(self, context: PlanningContext) -> Plan:
        """Add the nearest node, or a random one."""
        ranked = self.candidates(context)
        if not ranked.nodes:
            stuck = keep_placement(context.analysis, context.cluster, Reason.NO_CANDIDATE_NODE, NO_OTHER_NODE)
            return replace(stuck, rejections=ranked.rejections)
        node, *others = ranked.nodes
        placement = tuple(sorted((*context.placement, node)))
        return self.changed_plan(context, placement, ranked.rejections + self.rejections_of(others))

    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Remove the farthest node, or a random one."""
        remaining = self.shrunk_placements(context)[0]
        return self.changed_plan(context, remaining, self.rejections_of(remaining))


_ACCEPTS = ("cpu_high_pct", "cpu_low_pct", "stabilization_window_s")

POLICY = PolicyInfo(
    name="thr-nlaware",
    summary="CPU thresholds; nearest node added, farthest removed",
    source="Arkian, Pierre, Tordsson, Elmroth, Gesscale, ICCCN 2021, section V",
    build=ThresholdPolicy,
    accepts=_ACCEPTS,
    guide="reference/policies/thresholds.md",
)
UNAWARE_POLICY = PolicyInfo(
    name="thr-nlunaware",
    summary="CPU thresholds; random nodes",
    source=POLICY.source,
    build=partial(ThresholdPolicy, latency_aware=False),
    accepts=(*_ACCEPTS, "seed"),
    guide="reference/policies/thresholds.md",
)
