"""A custom policy in forty lines that keeps a share of the capacity free.

It decides whether more or fewer replicas are needed; `ChoosingPolicy` handles limits, nodes and delays. For a policy
that chooses nodes and has settings and a memo, see docs/howto/write_a_policy.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.analyze.readiness import actionable_reading
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.policies.base import ChoosingPolicy, PlanningContext
from gesscale.ports import Knowledge

MAX_BUSY_SHARE, MIN_BUSY_SHARE = 0.8, 0.4
"""Shares of time in batches above which a replica is added, and below which one is removed."""


@dataclass(frozen=True, slots=True)
class Reserve(ChoosingPolicy):
    """Adds the nearest node to a busy operator; removes the farthest one from an idle operator."""

    name = "reserve"

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        return {name: self._analysis(name, observation, knowledge) for name in self.workflow.operators}

    def plan_more(self, context: PlanningContext) -> Plan:
        nearest = self.candidates(context).nodes[:1]
        return self.changed_plan(context, tuple(sorted({*context.placement, *nearest})), ())

    def plan_fewer(self, context: PlanningContext) -> Plan:
        return self.changed_plan(context, self.shrunk_placements(context)[0], ())

    def _analysis(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        seen = actionable_reading(name, observation, knowledge)
        if isinstance(seen, Analysis):  # no usable metrics, or a change in progress
            return seen
        verdict, reason = Verdict.SAME, Reason.WITHIN_TARGET
        if seen.busy_share > MAX_BUSY_SHARE:
            verdict, reason = Verdict.MORE, Reason.OVERLOADED
        elif seen.busy_share < MIN_BUSY_SHARE:
            verdict, reason = Verdict.FEWER, Reason.UNDERUSED
        detail = f"{seen.busy_share:.0%} of the time is spent in batches"
        return Analysis(operator=name, verdict=verdict, reason=reason, detail=detail, reading=seen)
