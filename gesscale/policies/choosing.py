"""The nodes of a plan: what every policy that changes something shares, and the two things each must say."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gesscale.analyze.screening import screen
from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.plan.placement import (
    NodeRanking,
    additions,
    in_random_order,
    nd_max_ms,
    present_placement,
    rejected,
    shrinking,
    stay,
    unknown_delays,
    usable,
)
from gesscale.ports import ClusterState, Knowledge, Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """An operator that needs another number of replicas, and what there is to choose from."""

    #: The operator, what Analyze concluded, and from which reading (operator, analysis, reading).
    operator: Operator
    analysis: Analysis
    reading: OperatorReading
    #: The nodes that hold its replicas now, sorted.
    placement: tuple[str, ...]
    #: The nodes there are.
    cluster: ClusterState
    #: How far apart they are.
    latencies: Latencies


@dataclass(frozen=True, slots=True)
class ChoosingPolicy(ABC):
    """Keeps the limits, ranks the nodes, and leaves the rest to the policy."""

    #: What is scaled, and the settings of the policy (workflow, options).
    workflow: Workflow
    options: PolicyOptions
    #: Whether nodes are chosen by the latency map. Then nothing changes without a map. With a map that is
    #: stale, or lacks a replica's node, nothing is removed. Else a seeded draw takes its place.
    latency_aware: bool = True

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Choose for every operator its nodes; see `gesscale.ports.Policy`."""
        return {
            name: self._plan(analysis, cluster.for_operator(name), knowledge.latencies)
            for name, analysis in analyses.items()
        }

    @abstractmethod
    def plan_more(self, context: PlanningContext) -> Plan:
        """Choose where more replicas go; ``max_replicas`` leaves room for one at least."""

    @abstractmethod
    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Choose which replicas go; there are more than ``min_replicas``."""

    def candidates(self, context: PlanningContext) -> NodeRanking:
        """Rank the nodes that could take one more replica: the nearest first, or as drawn."""
        return self.additions_to(context, context.placement)

    def additions_to(self, context: PlanningContext, present: tuple[str, ...]) -> NodeRanking:
        """Rank the nodes that could take a replica in addition to its holders: the nearest first, or as drawn."""
        cluster = context.cluster
        if self.latency_aware:
            return additions(context.latencies.map, cluster, present, context.operator.driver_node)
        free = usable(cluster, present)
        return replace(free, nodes=self._in_random_order(free.nodes, context))

    def shrunk(self, context: PlanningContext) -> tuple[tuple[str, ...], ...]:
        """Return the placements that remain as replicas go one by one: the farthest first, or as drawn."""
        present = context.placement
        if self.latency_aware:
            return shrinking(context.latencies.map, present, context.operator.driver_node)
        order = self._in_random_order(present, context)
        return tuple(tuple(sorted(order[gone:])) for gone in range(1, len(order)))

    @property
    def passed_over(self) -> Reason:
        """Why a node that would have done was not taken."""
        return Reason.FARTHER if self.latency_aware else Reason.NOT_SELECTED

    def lost(self, nodes: Sequence[str]) -> tuple[Rejection, ...]:
        """Return the nodes that would have done, the best first, as candidates that lost."""
        return rejected(nodes, self.passed_over)

    def changed(
        self,
        context: PlanningContext,
        placement: tuple[str, ...],
        rejections: tuple[Rejection, ...],
        more_detail: str = "",
    ) -> Plan:
        """Return the plan of another placement, for the reason that Analyze gave.

        Parameters
        ----------
        context
            The operator, and where its replicas are.
        placement
            The nodes that are to hold them, sorted.
        rejections
            The candidates that lost.
        more_detail
            What to say in addition to the detail of the analysis.
        """
        return Plan(
            operator=context.operator.name,
            reason=context.analysis.reason,
            detail=context.analysis.detail + more_detail,
            before=context.placement,
            placement=placement,
            nd_max_ms=nd_max_ms(context.latencies.map, placement, context.operator.driver_node),
            rejections=rejections,
        )

    def _in_random_order(self, nodes: Sequence[str], context: PlanningContext) -> tuple[str, ...]:
        return in_random_order(nodes, self.options.seed, context.operator.name, context.reading.at_s)

    def _plan(self, analysis: Analysis, cluster: ClusterState, latencies: Latencies) -> Plan:
        if analysis.reading is None or analysis.verdict not in {Verdict.MORE, Verdict.FEWER}:
            return stay(analysis, cluster)
        context = PlanningContext(
            operator=self.workflow.operators[analysis.operator],
            analysis=analysis,
            reading=analysis.reading,
            placement=present_placement(analysis, cluster),
            cluster=cluster,
            latencies=latencies,
        )
        hindrance = _blocking_reason(context) or (_map_blocker(context) if self.latency_aware else None)
        if hindrance is not None:
            return stay(analysis, cluster, *hindrance)
        if analysis.verdict is Verdict.FEWER:
            return self.plan_fewer(context)
        plan = self.plan_more(context)
        if plan.change and self.latency_aware and latencies.map_status.stale:
            return replace(plan, detail=f"{plan.detail}; note that {latencies.map_status.stale}")
        return plan


def _blocking_reason(context: PlanningContext) -> tuple[Reason, str] | None:
    """Return why nothing may change, whatever the policy proposes."""
    cluster, operator = context.cluster, context.operator
    count = len(context.placement)
    if cluster.problem:
        return Reason.CLUSTER_UNAVAILABLE, cluster.problem
    idles = context.reading.throughput_rows_per_s == 0
    if set(context.placement) != set(context.reading.placement) and not idles:
        # The reading belongs to other nodes than those of the plan. (A query that idles runs no batch. So all night its
        # newest batch is from the time before the scale-in.)
        live, read = ", ".join(context.placement) or "no node", ", ".join(context.reading.placement)
        return Reason.RECONFIGURING, f"replicas live on {live}, but the newest batch ran on {read}"
    if context.analysis.verdict is Verdict.MORE and count >= operator.max_replicas:
        return Reason.AT_MAX_REPLICAS, f"max_replicas is {operator.max_replicas}"
    if context.analysis.verdict is Verdict.FEWER and count <= operator.min_replicas:
        return Reason.AT_MIN_REPLICAS, f"min_replicas is {operator.min_replicas}"
    return None


def _map_blocker(context: PlanningContext) -> tuple[Reason, str] | None:
    """Return why the latency map does not allow the change: nothing without one, no removal by a poor one."""
    analysis, map_status = context.analysis, context.latencies.map_status
    unknown = unknown_delays(context.latencies, context.placement, context.operator.driver_node)
    if analysis.verdict is Verdict.MORE:
        return unknown if context.latencies.map is None else None
    if unknown is None and map_status.stale:
        return Reason.LATENCY_MAP_STALE, f"{analysis.detail}; but nothing is removed: {map_status.stale}"
    return unknown


@dataclass(frozen=True, slots=True)
class PerOperatorPolicy(ChoosingPolicy):
    """Screens the readings and leaves each to the policy."""

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Conclude for every operator what it needs; see `gesscale.ports.Policy`."""
        analyses = {}
        for name in self.workflow.operators:
            screened = screen(name, observation, knowledge, self.options.stabilization_window_s)
            if isinstance(screened, OperatorReading):
                screened = self.analyze_operator(screened, observation, knowledge)
            analyses[name] = screened
        return analyses

    @abstractmethod
    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Conclude what an operator with a usable reading needs."""
