"""Policies that decide each operator on its own (paper IV-A): what they share, and the two things each must say."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.analyze.screening import screen
from gesscale.decision import Analysis, Plan, Reason, Verdict
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.policies.rules import PolicyRules, present_placement, stay
from gesscale.ports import ClusterState, Knowledge
from gesscale.workflow import Operator, Workflow
from latency_map import LatencyMap


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """An operator that needs another number of replicas, and what there is to choose from.

    Attributes
    ----------
    operator, analysis, reading
        The operator, what Analyze concluded, and from which reading.
    placement
        The nodes that hold its replicas now, sorted.
    cluster
        The nodes there are.
    """

    operator: Operator
    analysis: Analysis
    reading: OperatorReading
    placement: tuple[str, ...]
    cluster: ClusterState


@dataclass(frozen=True, slots=True)
class PerOperatorPolicy(ABC):
    """Screens the readings, keeps the limits, and leaves the rest to the policy.

    Attributes
    ----------
    workflow, delays, rules
        What is scaled, the latency map, the thresholds.
    """

    workflow: Workflow
    delays: LatencyMap
    rules: PolicyRules

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Conclude for every operator what it needs; see `gesscale.ports.Policy`."""
        analyses = {}
        for name in self.workflow.operators:
            screened = screen(name, observation, knowledge)
            if isinstance(screened, OperatorReading):
                screened = self.analyze_operator(screened, observation, knowledge)
            analyses[name] = screened
        return analyses

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Choose for every operator its nodes; see `gesscale.ports.Policy`."""
        del knowledge
        return {name: self._plan(analysis, cluster) for name, analysis in analyses.items()}

    @abstractmethod
    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Conclude what an operator with a usable reading needs."""

    @abstractmethod
    def plan_more(self, occasion: Occasion) -> Plan:
        """Choose where one more replica goes; ``max_replicas`` leaves room for it."""

    @abstractmethod
    def plan_fewer(self, occasion: Occasion) -> Plan:
        """Choose which replicas go; there are more than ``min_replicas``."""

    def _plan(self, analysis: Analysis, cluster: ClusterState) -> Plan:
        if analysis.reading is None or analysis.verdict not in {Verdict.MORE, Verdict.FEWER}:
            return stay(analysis, cluster)
        occasion = Occasion(
            operator=self.workflow.operators[analysis.operator],
            analysis=analysis,
            reading=analysis.reading,
            placement=present_placement(analysis, cluster),
            cluster=cluster,
        )
        if (hindrance := _hindrance(occasion)) is not None:
            return stay(analysis, cluster, *hindrance)
        return self.plan_more(occasion) if analysis.verdict is Verdict.MORE else self.plan_fewer(occasion)


def _hindrance(occasion: Occasion) -> tuple[Reason, str] | None:
    """Return why nothing may change, whatever the policy would like."""
    cluster, operator = occasion.cluster, occasion.operator
    count = len(occasion.placement)
    if cluster.problem:
        return Reason.CLUSTER_UNAVAILABLE, cluster.problem
    if set(occasion.placement) != set(occasion.reading.placement):
        # What was read belongs to other nodes than those that would be planned with.
        live, read = ", ".join(occasion.placement) or "no node", ", ".join(occasion.reading.placement)
        return Reason.RECONFIGURING, f"replicas live on {live}, but the newest batch ran on {read}"
    if occasion.analysis.verdict is Verdict.MORE and count >= operator.max_replicas:
        return Reason.AT_MAX_REPLICAS, f"max_replicas is {operator.max_replicas}"
    if occasion.analysis.verdict is Verdict.FEWER and count <= operator.min_replicas:
        return Reason.AT_MIN_REPLICAS, f"min_replicas is {operator.min_replicas}"
    return None
