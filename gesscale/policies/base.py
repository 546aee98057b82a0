"""Base classes of policies that change placements: they apply limits and rank nodes, policies choose."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gesscale.analyze.readiness import actionable_reading
from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.plan.node_ranking import (
    NodeRanking,
    keep_placement,
    nd_max_ms,
    present_placement,
    rank_additions,
    rejections_for,
    removal_steps,
    shuffle_nodes,
    unknown_delays,
    usable_nodes,
)
from gesscale.policies.details import at_maximum, at_minimum, at_useful, no_removal, reconfiguring, stale_map
from gesscale.ports import ClusterState, Knowledge, Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """Operator that needs another number of replicas, with the cluster and the latencies."""

    #: The operator; its maximum is at most the number of useful replicas.
    operator: Operator
    #: Its analysis, and the reading of the analysis (analysis, reading).
    analysis: Analysis
    reading: OperatorReading
    #: The present nodes of its replicas, sorted.
    placement: tuple[str, ...]
    #: State of the cluster.
    cluster: ClusterState
    #: Readings, and the latency map with its status.
    knowledge: Knowledge

    @property
    def latencies(self) -> Latencies:
        """Latency map and its status."""
        return self.knowledge.latencies


@dataclass(frozen=True, slots=True)
class ChoosingPolicy(ABC):
    """Applies limits and ranks nodes; the policy chooses."""

    #: The workflow to scale, and the settings of the policy (workflow, options).
    workflow: Workflow
    options: PolicyOptions
    #: Choose nodes by the latency map. Then nothing changes without a map, and nothing is removed if the map is stale
    #: or lacks the node of a replica. Otherwise nodes are chosen at random, by a seed.
    latency_aware: bool = True

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Choose the nodes of every operator; see `gesscale.ports.Policy`."""
        return {
            name: self._plan(analysis, cluster.for_operator(name), knowledge) for name, analysis in analyses.items()
        }

    @abstractmethod
    def plan_more(self, context: PlanningContext) -> Plan:
        """Choose the nodes of additional replicas; ``max_replicas`` allows at least one."""

    @abstractmethod
    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Choose the replicas to remove; there are more than ``min_replicas``."""

    def candidates(self, context: PlanningContext) -> NodeRanking:
        """Rank the nodes that can take another replica: the nearest first, or in random order."""
        return self.additions_to(context, context.placement)

    def additions_to(self, context: PlanningContext, present: tuple[str, ...]) -> NodeRanking:
        """Rank the nodes that can take a replica beyond a placement: the nearest first, or in random order."""
        cluster = context.cluster
        if self.latency_aware:
            return rank_additions(context.latencies.map, cluster, present, context.operator.driver_node)
        free = usable_nodes(cluster, present)
        return replace(free, nodes=self._in_random_order(free.nodes, context))

    def shrunk_placements(self, context: PlanningContext) -> tuple[tuple[str, ...], ...]:
        """Return the placements after removing replicas one by one: the farthest first, or in random order."""
        present = context.placement
        if self.latency_aware:
            return removal_steps(context.latencies.map, present, context.operator.driver_node)
        order = self._in_random_order(present, context)
        return tuple(tuple(sorted(order[removed:])) for removed in range(1, len(order)))

    @property
    def rejection_reason(self) -> Reason:
        """Reason of an eligible node that was not chosen."""
        return Reason.FARTHER if self.latency_aware else Reason.NOT_SELECTED

    def rejections_of(self, nodes: Sequence[str]) -> tuple[Rejection, ...]:
        """Return eligible nodes that were not chosen, the best first, as rejections."""
        return rejections_for(nodes, self.rejection_reason)

    def changed_plan(
        self,
        context: PlanningContext,
        placement: tuple[str, ...],
        rejections: tuple[Rejection, ...],
        more_detail: str = "",
    ) -> Plan:
        """Return the plan of another placement, with the reason of the analysis.

        Parameters
        ----------
        context
            The operator and its present placement.
        placement
            The new nodes, sorted.
        rejections
            The candidates that lost.
        more_detail
            Text to append to the detail of the analysis.
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
        return shuffle_nodes(nodes, self.options.seed, context.operator.name, context.reading.at_s)

    def _plan(self, analysis: Analysis, cluster: ClusterState, knowledge: Knowledge) -> Plan:
        if analysis.reading is None or analysis.verdict not in {Verdict.MORE, Verdict.FEWER}:
            return keep_placement(analysis, cluster)
        context = PlanningContext(
            operator=useful_maximum(self.workflow.operators[analysis.operator], analysis.reading),
            analysis=analysis,
            reading=analysis.reading,
            placement=present_placement(analysis, cluster),
            cluster=cluster,
            knowledge=knowledge,
        )
        blocked = _blocking_reason(context) or (_map_blocker(context) if self.latency_aware else None)
        if blocked is not None:
            return keep_placement(analysis, cluster, *blocked)
        if analysis.verdict is Verdict.FEWER:
            return self.plan_fewer(context)
        plan = self.plan_more(context)
        if plan.change and self.latency_aware and (stale := context.latencies.map_status.stale):
            return replace(plan, detail=f"{plan.detail}; {stale_map(stale)}")
        return plan


def useful_maximum(operator: Operator, reading: OperatorReading) -> Operator:
    """Return an operator whose maximum is at most the number of replicas that get work, and at least its minimum."""
    if reading.useful_replicas is None or reading.useful_replicas >= operator.max_replicas:
        return operator
    return replace(operator, max_replicas=max(operator.min_replicas, reading.useful_replicas))


def _blocking_reason(context: PlanningContext) -> tuple[Reason, str] | None:
    """Return the reason that blocks any change; None if there is none."""
    cluster, operator = context.cluster, context.operator
    count = len(context.placement)
    if cluster.problem:
        return Reason.CLUSTER_UNAVAILABLE, cluster.problem
    idles = context.reading.throughput_rows_per_s == 0
    if set(context.placement) != set(context.reading.placement) and not idles:
        # The reading belongs to another placement. (An idle query runs no batch, so after a scale-in at night its
        # newest batch is from the old placement.)
        return Reason.RECONFIGURING, reconfiguring(context.placement, context.reading.placement)
    if context.analysis.verdict is Verdict.MORE and count >= operator.max_replicas:
        useful = context.reading.useful_replicas
        if useful is not None and count >= useful:
            return Reason.PARTITION_LIMIT, at_useful(context.reading)
        return Reason.AT_MAX_REPLICAS, at_maximum(operator.max_replicas)
    if context.analysis.verdict is Verdict.FEWER and count <= operator.min_replicas:
        return Reason.AT_MIN_REPLICAS, at_minimum(operator.min_replicas)
    return None


def _map_blocker(context: PlanningContext) -> tuple[Reason, str] | None:
    """Return the reason why the latency map blocks the change: there is no map, or a removal has a poor one."""
    analysis, map_status = context.analysis, context.latencies.map_status
    unknown = unknown_delays(context.latencies, context.placement, context.operator.driver_node)
    if analysis.verdict is Verdict.MORE:
        return unknown if context.latencies.map is None else None
    if unknown is None and map_status.stale:
        return Reason.LATENCY_MAP_STALE, f"{analysis.detail}; {no_removal(map_status.stale)}"
    return unknown


@dataclass(frozen=True, slots=True)
class PerOperatorPolicy(ChoosingPolicy):
    """Screens the readings; the policy analyzes each operator separately."""

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Analyze every operator; see `gesscale.ports.Policy`."""
        analyses = {}
        for name in self.workflow.operators:
            screened = actionable_reading(name, observation, knowledge, self.options.stabilization_window_s)
            if isinstance(screened, OperatorReading):
                screened = self.analyze_operator(screened, observation, knowledge)
            analyses[name] = screened
        return analyses

    @abstractmethod
    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Analyze an operator with a usable reading."""
