"""A policy of one's own in forty lines: keep a share of the capacity free.

It says how much is needed; limits, nodes and delays are left to `ChoosingPolicy`. One that chooses nodes itself, has
settings and remembers something is in docs/howto/write_a_policy.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.analyze.screening import screen
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.policies.choosing import ChoosingPolicy, PlanningContext
from gesscale.ports import Knowledge

USED_MOST, USED_LEAST = 0.8, 0.4
"""Above this share of time in batches a replica is added; below the other one is removed."""


@dataclass(frozen=True, slots=True)
class Reserve(ChoosingPolicy):
    """Adds the nearest node where an operator is busy, removes the farthest one where it is not."""

    name = "reserve"

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        return {name: self._analysis(name, observation, knowledge) for name in self.workflow.operators}

    def plan_more(self, context: PlanningContext) -> Plan:
        nearest = self.candidates(context).nodes[:1]
        return self.changed_plan(context, tuple(sorted({*context.placement, *nearest})), ())

    def plan_fewer(self, context: PlanningContext) -> Plan:
        return self.changed_plan(context, self.shrunk_placements(context)[0], ())

    def _analysis(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        seen = screen(name, observation, knowledge)
        if isinstance(seen, Analysis):  # nothing was read, or a change has not settled yet
            return seen
        verdict, reason = Verdict.SAME, Reason.WITHIN_TARGET
        if seen.busy_share > USED_MOST:
            verdict, reason = Verdict.MORE, Reason.OVERLOADED
        elif seen.busy_share < USED_LEAST:
            verdict, reason = Verdict.FEWER, Reason.UNDERUSED
        detail = f"{seen.busy_share:.0%} of the time is spent in batches"
        return Analysis(operator=name, verdict=verdict, reason=reason, detail=detail, reading=seen)
