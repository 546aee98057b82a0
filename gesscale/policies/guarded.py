"""Guards a policy: it stays within the limits; after an exception nothing changes, and the decision has the cause."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gesscale.common.errors import Problem
from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.model.workflow import Workflow
from gesscale.plan.filters import within_limits
from gesscale.plan.node_ranking import keep_placement
from gesscale.ports import ClusterState, Knowledge, Policy

T = TypeVar("T")
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """A `gesscale.ports.Policy` that never raises, and keeps the replica limits of its `workflow`, if it has one."""

    #: The guarded policy, such as a custom one.
    inner: Policy

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.inner.name

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Analyze; if the policy fails, the verdict of every operator is unknown."""
        operators = {*observation.readings, *observation.missing_readings}
        found = self._attempt("analyze", lambda: self.inner.analyze(observation, knowledge), operators)
        if not isinstance(found, Problem):
            return found
        return {
            name: Analysis(
                operator=name,
                verdict=Verdict.UNKNOWN,
                reason=Reason.POLICY_FAILED,
                detail=str(found),
                reading=observation.readings.get(name),
            )
            for name in sorted(operators)
        }

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Plan; if the policy fails, no placement changes."""
        if any(analysis.reason is Reason.POLICY_FAILED for analysis in analyses.values()):
            return {name: keep_placement(analysis, cluster) for name, analysis in analyses.items()}
        found = self._attempt("plan", lambda: self.inner.plan(analyses, cluster, knowledge), {*analyses})
        if not isinstance(found, Problem):
            workflow = getattr(self.inner, "workflow", None)
            operators = workflow.operators if isinstance(workflow, Workflow) else {}
            return within_limits(found, operators, cluster, knowledge)
        return {
            name: keep_placement(analysis, cluster, Reason.POLICY_FAILED, str(found))
            for name, analysis in analyses.items()
        }

    def _attempt(
        self, method: str, call: Callable[[], Mapping[str, T]], operators: set[str]
    ) -> Mapping[str, T] | Problem:
        """Return the result of a call for all these operators, or its problem."""
        source = f"policy {self.name}, {method}"
        try:
            found = call()
            missing = sorted(operators - set(found))
        except Exception as error:  # noqa: BLE001 - a custom policy may raise anything
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
            cause = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
            fields = {"source": source, "place": place, "kind": type(error).__name__, "cause": cause}
            return Problem("policy-failed", fields)
        return Problem("policy-result-missing", {"source": source, "operators": missing}) if missing else found
