"""The policy of the paper: Algorithms 1-4 as the specification corrects them (sections 3-5).

Each operator is decided on its own. An overloaded operator gets one replica more, on the nearest node; an
underused one gives up all the farthest replicas that the performance model says it can do without.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from gesscale.analyze.capacity import evidence_of, fit, predict, weight_of
from gesscale.analyze.load import drain_time_s, has_backlog, slack_pct
from gesscale.analyze.screening import screen
from gesscale.decision import Analysis, Change, Plan, Reason, Rejection, Verdict
from gesscale.observation import OperatorReading, WorkflowObservation
from gesscale.plan.placement import additions, nd_max_ms, shrinking
from gesscale.plan.sizing import Sized
from gesscale.policies.rules import PolicyRules, by_operator, hold, present_placement, stay
from gesscale.ports import ClusterState, Knowledge
from gesscale.workflow import Operator, Workflow
from latency_map import LatencyMap
from perfmodel import Estimator, law_named


@dataclass(frozen=True, slots=True)
class GesscalePolicy:
    """Analyze by back pressure and model, plan by model and latency map.

    Attributes
    ----------
    workflow, delays, rules
        What is scaled, the latency map, the thresholds.
    """

    workflow: Workflow
    delays: LatencyMap
    rules: PolicyRules
    name: str = "gesscale"

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Decide per operator whether it is the root of an overload (1) or has slack to give up (2)."""
        return {name: self._analyze(name, observation, knowledge) for name in self.workflow.operators}

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Plan one replica more (3) or as many fewer as the model allows (4)."""
        del knowledge
        return by_operator([self._plan(analysis, cluster) for analysis in analyses.values()])

    # Analyze

    def _analyze(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        reading = screen(name, observation, knowledge)
        if isinstance(reading, Analysis):
            return reading
        operator = self.workflow.operators[name]
        nd = nd_max_ms(self.delays, reading.placement, operator.driver_node)
        weight = weight_of(reading.placement, observation.node_weights)
        evidence = evidence_of(reading, nd, weight, self.rules.back_pressure_threshold)
        model = fit((*evidence, *knowledge.readings.get(name, ())), self._law(), observation.at_s)
        mst = predict(model, reading.placement, nd, operator, weight)
        seen = Analysis(
            operator=name,
            verdict=Verdict.SAME,
            reason=Reason.WITHIN_TARGET,
            reading=reading,
            evidence=evidence,
            model=model,
            mst=mst,
            nd_max_ms=nd,
        )
        if reading.saturated_share > self.rules.back_pressure_threshold:
            return self._analyze_saturated(seen, reading, observation)
        return self._analyze_slack(seen, reading)

    def _law(self) -> Estimator:
        return law_named(
            self.rules.law,
            half_life_s=self.rules.reading_half_life_s,
            max_age_s=self.rules.reading_max_age_s,
        )

    def _analyze_saturated(
        self, seen: Analysis, reading: OperatorReading, observation: WorkflowObservation
    ) -> Analysis:
        pushed_back = [
            consumer
            for consumer in self.workflow.downstream(reading.operator)
            if (other := observation.readings.get(consumer)) is not None
            and other.saturated_share > self.rules.back_pressure_threshold
        ]
        if pushed_back:
            return replace(
                seen,
                reason=Reason.NOT_ROOT_OF_OVERLOAD,
                detail=f"saturated, but held back by {', '.join(pushed_back)}",
            )
        drain_s = drain_time_s(reading)
        if drain_s is not None and drain_s <= self.rules.recovery_target_s:
            return replace(
                seen,
                reason=Reason.DRAINING_BACKLOG,
                detail=f"the backlog of {reading.backlog_rows or 0:.0f} rows drains within {drain_s:.0f} s",
            )
        offered = "" if reading.input_rows_per_s is None else f", offered {reading.input_rows_per_s:.0f}"
        observed = reading.warm_rows_per_s or reading.throughput_rows_per_s
        return replace(
            seen,
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            detail=f"saturated at {observed:.0f} rows/s{offered}",
        )

    def _analyze_slack(self, seen: Analysis, reading: OperatorReading) -> Analysis:
        if has_backlog(reading):
            return replace(
                seen,
                reason=Reason.DRAINING_BACKLOG,
                detail=f"a backlog of {reading.backlog_rows or 0:.0f} rows is being processed",
            )
        if seen.mst is None:
            return replace(
                seen,
                reason=Reason.MODEL_UNCALIBRATED,
                detail="no saturation has been observed yet, so the model knows no MST",
            )
        slack = slack_pct(seen.mst.low, reading.throughput_rows_per_s)
        detail = (
            f"throughput {reading.throughput_rows_per_s:.0f} of at least {seen.mst.low:.0f} rows/s, "
            f"slack {slack:.0f} %, threshold {self.rules.slack_threshold_pct:.0f} %"
        )
        if slack >= self.rules.slack_threshold_pct:
            return replace(
                seen, verdict=Verdict.FEWER, reason=Reason.UNDERUSED, detail=detail, slack_pct=slack
            )
        return replace(seen, detail=detail, slack_pct=slack)

    # Plan

    def _plan(self, analysis: Analysis, cluster: ClusterState) -> Plan:
        if (held := hold(analysis, cluster)) is not None:
            return held
        operator = self.workflow.operators[analysis.operator]
        if analysis.verdict is Verdict.MORE:
            return self._plan_more(analysis, operator, cluster)
        return self._plan_fewer(analysis, operator, cluster)

    def _sized(
        self, analysis: Analysis, operator: Operator, placement: tuple[str, ...], cluster: ClusterState
    ) -> Sized:
        nd = nd_max_ms(self.delays, placement, operator.driver_node)
        weight = weight_of(placement, cluster.weights)
        return Sized(placement, nd, predict(analysis.model, placement, nd, operator, weight))

    def _plan_more(self, analysis: Analysis, operator: Operator, cluster: ClusterState) -> Plan:
        placement = present_placement(analysis, cluster)
        if len(placement) >= operator.max_replicas:
            return stay(analysis, cluster, Reason.AT_MAX_REPLICAS, f"max_replicas is {operator.max_replicas}")
        now = self._sized(analysis, operator, placement, cluster)
        ranked = additions(self.delays, cluster, placement, operator.driver_node)
        sized = {
            node: self._sized(analysis, operator, tuple(sorted((*placement, node))), cluster)
            for node in ranked.nodes
        }
        helpful = [node for node, after in sized.items() if after.beats(now)]
        rejections = ranked.rejections + tuple(
            Rejection(
                node=node,
                reason=Reason.FARTHER if node in helpful else Reason.DELAY_EATS_GAIN,
                detail=f"{after}; now {now}",
            )
            for node, after in sized.items()
            if node not in helpful[:1]
        )
        if not helpful:
            reason = Reason.DELAY_EATS_GAIN if sized else Reason.NO_CANDIDATE_NODE
            detail = "every free node is too far to help" if sized else "no node can take one more replica"
            return replace(stay(analysis, cluster, reason, detail), rejections=rejections)
        node, after = helpful[0], sized[helpful[0]]
        return Plan(
            operator=operator.name,
            reason=Reason.OVERLOADED,
            detail=f"{analysis.detail}; {node} is the nearest free node that helps: {after}",
            placement=after.placement,
            change=Change(add=(node,)),
            mst=after.mst,
            nd_max_ms=after.nd_max_ms,
            rejections=rejections,
        )

    def _plan_fewer(self, analysis: Analysis, operator: Operator, cluster: ClusterState) -> Plan:
        placement = present_placement(analysis, cluster)
        reading = analysis.reading
        if reading is None or len(placement) <= operator.min_replicas:
            return stay(analysis, cluster, Reason.AT_MIN_REPLICAS, f"min_replicas is {operator.min_replicas}")
        needed = max(reading.input_rows_per_s or 0.0, reading.throughput_rows_per_s)
        calibrated = analysis.model is not None and analysis.model.calibrated
        most = len(placement) - operator.min_replicas if calibrated else 1
        sized = [
            self._sized(analysis, operator, after, cluster)
            for after in shrinking(self.delays, placement, operator.driver_node)[:most]
        ]
        enough = list(takewhile(lambda after: after.sustains(needed), sized))
        one_too_few = sized[len(enough)] if len(enough) < len(sized) else None
        kept = enough[-1].placement if enough else placement
        rejections = tuple(
            Rejection(
                node=node,
                reason=Reason.FEWER_WOULD_NOT_SUSTAIN,
                detail=f"without it: {one_too_few}; {needed:.0f} rows/s are needed",
            )
            for node in kept
            if one_too_few is not None and node not in one_too_few.placement
        )
        if not enough:
            detail = f"one replica fewer: {one_too_few}; {needed:.0f} rows/s are needed"
            stuck = stay(analysis, cluster, Reason.FEWER_WOULD_NOT_SUSTAIN, detail)
            return replace(stuck, rejections=rejections)
        return Plan(
            operator=operator.name,
            reason=Reason.UNDERUSED,
            detail=f"{needed:.0f} rows/s are needed; {len(kept)} replicas: {enough[-1]}",
            placement=kept,
            change=Change(remove=tuple(sorted(set(placement) - set(kept)))),
            mst=enough[-1].mst,
            nd_max_ms=enough[-1].nd_max_ms,
            rejections=rejections,
        )
