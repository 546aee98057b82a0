"""The policy `static`: keeps the initial replicas, the baseline without a scaler."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gesscale.analyze.readiness import actionable_reading
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.plan.node_ranking import keep_placement
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import ClusterState, Knowledge


@dataclass(frozen=True, slots=True)
class StaticPolicy:
    """Changes nothing; the loop still restores lost replicas."""

    name: ClassVar[str] = "static"

    workflow: Workflow
    options: PolicyOptions

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Report the readings; see `gesscale.ports.Policy`."""
        return {name: self._analyze(name, observation, knowledge) for name in self.workflow.operators}

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Keep the placement; see `gesscale.ports.Policy`."""
        del knowledge
        return {name: keep_placement(analysis, cluster) for name, analysis in analyses.items()}

    def _analyze(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        screened = actionable_reading(name, observation, knowledge, self.options.stabilization_window_s)
        if not isinstance(screened, OperatorReading):
            return screened
        return Analysis(
            operator=name,
            verdict=Verdict.SAME,
            reason=Reason.NEVER_CHANGES,
            detail="the policy never changes anything",
            reading=screened,
        )


POLICY = PolicyInfo(
    name="static",
    summary="keeps the initial replicas",
    source="the baseline without a scaler",
    build=StaticPolicy,
    guide="reference/policies/thresholds.md",
)
