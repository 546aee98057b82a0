"""THR, the paper's threshold baselines (section V): CPU above 90 % adds a replica, below 50 % removes one.

NL-aware adds the nearest node and removes the farthest; NL-unaware draws the node. Where no CPU is measured, the
share of time in batches stands for it, so that waiting for the network counts as busy; the analysis says which.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gesscale.analyze.screening import screen
from gesscale.decision import Analysis, Change, Plan, Reason, Rejection, Verdict
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.plan.placement import additions, nd_max_ms, removals
from gesscale.policies.rules import PolicyRules, by_operator, hold, present_placement, stay
from gesscale.ports import ClusterState, Knowledge
from gesscale.workflow import Operator, Workflow
from latency_map import LatencyMap


@dataclass(frozen=True, slots=True)
class ThresholdPolicy:
    """One replica more above the upper threshold, one fewer below the lower.

    Attributes
    ----------
    workflow, delays, rules
        What is scaled, the latency map, the thresholds.
    latency_aware
        Whether the latency map chooses the node, or a seeded draw.
    """

    workflow: Workflow
    delays: LatencyMap
    rules: PolicyRules
    latency_aware: bool

    @property
    def name(self) -> str:
        """The registered name."""
        return "thr-nlaware" if self.latency_aware else "thr-nlunaware"

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Compare each operator's CPU with the thresholds."""
        return {name: self._analyze(name, observation, knowledge) for name in self.workflow.operators}

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Add or remove one replica of each operator that asks for it."""
        del knowledge
        return by_operator([self._plan(analysis, cluster) for analysis in analyses.values()])

    def _analyze(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        reading = screen(name, observation, knowledge)
        if isinstance(reading, Analysis):
            return reading
        measured = reading.cpu_share is not None
        share = reading.cpu_share if reading.cpu_share is not None else reading.busy_share
        verdict, reason = Verdict.SAME, Reason.WITHIN_TARGET
        if share > self.rules.cpu_high_share:
            verdict, reason = Verdict.MORE, Reason.OVERLOADED
        elif share < self.rules.cpu_low_share:
            verdict, reason = Verdict.FEWER, Reason.UNDERUSED
        return Analysis(
            operator=name,
            verdict=verdict,
            reason=reason,
            detail=f"{'CPU' if measured else 'share of time in batches'} {100 * share:.0f} %, thresholds "
            f"{100 * self.rules.cpu_low_share:.0f} and {100 * self.rules.cpu_high_share:.0f} %",
            reading=reading,
            nd_max_ms=nd_max_ms(self.delays, reading.placement, self.workflow.operators[name].driver_node),
        )

    def _plan(self, analysis: Analysis, cluster: ClusterState) -> Plan:
        reading = analysis.reading
        if (held := hold(analysis, cluster)) is not None or reading is None:
            return held or stay(analysis, cluster)
        operator = self.workflow.operators[analysis.operator]
        placement = present_placement(analysis, cluster)
        if analysis.verdict is Verdict.MORE:
            return self._plan_more(analysis, operator, placement, cluster, reading)
        if len(placement) <= operator.min_replicas:
            return stay(analysis, cluster, Reason.AT_MIN_REPLICAS, f"min_replicas is {operator.min_replicas}")
        ranked = removals(self.delays, placement, operator.driver_node)
        node, losers = self._choose(ranked, operator.name, reading)
        return self._result(analysis, operator, placement, Change(remove=(node,)), losers)

    def _plan_more(
        self,
        analysis: Analysis,
        operator: Operator,
        placement: tuple[str, ...],
        cluster: ClusterState,
        reading: OperatorReading,
    ) -> Plan:
        if len(placement) >= operator.max_replicas:
            return stay(analysis, cluster, Reason.AT_MAX_REPLICAS, f"max_replicas is {operator.max_replicas}")
        ranked = additions(self.delays, cluster, placement, operator.driver_node)
        if not ranked.nodes:
            return stay(analysis, cluster, Reason.NO_CANDIDATE_NODE, "no node can take one more replica")
        node, losers = self._choose(ranked.nodes, operator.name, reading)
        return self._result(analysis, operator, placement, Change(add=(node,)), ranked.rejections + losers)

    def _choose(
        self, ranked: Sequence[str], operator: str, reading: OperatorReading
    ) -> tuple[str, tuple[Rejection, ...]]:
        if self.latency_aware:
            chosen, reason = ranked[0], Reason.FARTHER
        else:
            # Drawn from the seed and the observation, so that planning twice gives the same node.
            entropy = [self.rules.seed, zlib.crc32(operator.encode()), int(reading.at_s)]
            chosen = str(np.random.default_rng(entropy).choice(sorted(ranked)))
            reason = Reason.NOT_DRAWN
        return chosen, tuple(Rejection(node=node, reason=reason) for node in ranked if node != chosen)

    def _result(
        self,
        analysis: Analysis,
        operator: Operator,
        placement: tuple[str, ...],
        change: Change,
        rejections: tuple[Rejection, ...],
    ) -> Plan:
        after = tuple(sorted({*placement, *change.add} - set(change.remove)))
        return Plan(
            operator=operator.name,
            reason=analysis.reason,
            detail=analysis.detail,
            placement=after,
            change=change,
            nd_max_ms=nd_max_ms(self.delays, after, operator.driver_node),
            rejections=rejections,
        )
