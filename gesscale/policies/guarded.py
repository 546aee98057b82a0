"""A policy whose faults change nothing: an exception or a missing answer becomes a decision that says so."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.model.observation import WorkflowObservation
from gesscale.plan.placement import stay
from gesscale.ports import ClusterState, Knowledge, Policy

T = TypeVar("T")
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """A `gesscale.ports.Policy` that never raises."""

    #: What is guarded, such as a policy of one's own.
    inner: Policy

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.inner.name

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Analyze; where the policy fails, nothing is known of any operator."""
        operators = {*observation.readings, *observation.missing_readings}
        found, fault = _attempt(lambda: self.inner.analyze(observation, knowledge), operators)
        if found is not None:
            return found
        return {
            name: Analysis(
                operator=name,
                verdict=Verdict.UNKNOWN,
                reason=Reason.POLICY_FAILED,
                detail=f"policy {self.name}, analyze: {fault}",
                reading=observation.readings.get(name),
            )
            for name in sorted(operators)
        }

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Plan; where the policy fails, every replica stays where it is."""
        if any(analysis.reason is Reason.POLICY_FAILED for analysis in analyses.values()):
            return {name: stay(analysis, cluster) for name, analysis in analyses.items()}
        found, fault = _attempt(lambda: self.inner.plan(analyses, cluster, knowledge), {*analyses})
        if found is not None:
            return found
        detail = f"policy {self.name}, plan: {fault}"
        return {name: stay(analysis, cluster, Reason.POLICY_FAILED, detail) for name, analysis in analyses.items()}


def _attempt(call: Callable[[], Mapping[str, T]], operators: set[str]) -> tuple[Mapping[str, T] | None, str]:
    """Return what a call gives for these operators, or None and what was wrong with it."""
    try:
        found = call()
        missing = sorted(operators - set(found))
    except Exception as error:  # noqa: BLE001 - code of the user's, which may raise anything
        frames = traceback.extract_tb(error.__traceback__)
        place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        said = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
        return None, f"{type(error).__name__}{place}: {said}"
    return (None, f"it says nothing of operator {missing[0]}") if missing else (found, "")
