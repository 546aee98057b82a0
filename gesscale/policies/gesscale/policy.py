"""The policy `gesscale`: learns the law and the load, and takes the fewest replicas that suffice.

Each operator is decided separately, by the rule in `analysis.sizing`. A decision contains the predicted capacity of
each number of replicas.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gesscale.analyze.capacity import evidence_of, weight_of
from gesscale.analyze.readiness import actionable_reading
from gesscale.model.decision import Analysis, Candidate, Plan, Reason, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import BatchCap, Workflow
from gesscale.options import PolicyOptions
from gesscale.plan.node_ranking import (
    keep_placement,
    nd_max_ms,
    nearest_first,
    present_placement,
    rejections_for,
    unknown_delays,
    usable_nodes,
)
from gesscale.policies.details import no_removal
from gesscale.policies.gesscale import details
from gesscale.policies.gesscale.analysis.batch_caps import CapFinding, find_cap
from gesscale.policies.gesscale.analysis.capacity import OperatorModel
from gesscale.policies.gesscale.analysis.gains import missing_gain
from gesscale.policies.gesscale.analysis.limits import (
    blocking_reason,
    change_reason,
    limit_reason,
    shrunk,
    too_far,
    without_workless,
    work_limit,
)
from gesscale.policies.gesscale.analysis.placements import placements
from gesscale.policies.gesscale.analysis.sizing import Why, size_under_cap
from gesscale.policies.gesscale.memo import STEADY_S, GesscaleMemo
from gesscale.policies.gesscale.reasons import explain, reason_to_stay
from gesscale.policies.gesscale.rule_inputs import sizes_of, sizing_rule
from gesscale.policies.gesscale.settings import OBJECTIVE_INTERVALS, GesscaleSettings
from gesscale.policies.gesscale.workflow_plans import Flow, growth_factor, resolve_node_contention
from gesscale.policies.memos import load_memo, parse_memo, serialize_memo
from gesscale.ports import ClusterState, Knowledge
from perfmodel import CapacityModel, Reading, fit_model

_FIRST_PERIOD_S = 60.0
#: Trigger interval if it is unknown.
_TRIGGER_S = 1.0
#: Steps of the loop within one latency objective.
_STEPS_PER_OBJECTIVE = 3.0
#: Reasons of an analysis that compared load and capacity.
_COMPARED = frozenset({Reason.OVERLOADED, Reason.UNDERUSED, Reason.WITHIN_TARGET})


@dataclass(frozen=True, slots=True)
class GesscalePolicy:
    """Chooses the fewest replicas that suffice, and their nodes."""

    workflow: Workflow
    options: PolicyOptions
    sizing: GesscaleSettings = field(default_factory=GesscaleSettings)

    @property
    def name(self) -> str:
        """The registered name."""
        return "gesscale"

    # Analyze

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Learn from the observation; see `gesscale.ports.Policy`."""
        return {name: self._analysis(name, observation, knowledge) for name in self.workflow.operators}

    def _analysis(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> Analysis:
        screened = actionable_reading(name, observation, knowledge, self.options.stabilization_window_s)
        reading = observation.readings.get(name)
        if reading is None:
            memo = load_memo(GesscaleMemo, self.name, name, knowledge)
        else:
            memo = self._learned(name, observation, knowledge)
        if isinstance(screened, OperatorReading):
            assert memo is not None  # noqa: S101 - there is a reading
            analysis = self._verdict(screened, memo, observation.node_weights, knowledge)
        else:
            model = None if memo is None else self._model(name, memo, (), knowledge)
            analysis = screened if model is None else replace(screened, model=model.summary)
        if reading is None or memo is None:
            return analysis
        driver_node = self.workflow.operators[name].driver_node
        nd_ms = nd_max_ms(knowledge.latencies.map, reading.placement, driver_node)
        return replace(analysis, memo=serialize_memo(memo), nd_max_ms=nd_ms)

    def _learned(self, name: str, observation: WorkflowObservation, knowledge: Knowledge) -> GesscaleMemo:
        """Return the memo including this observation; unchanged if it has it already."""
        at_s = observation.at_s
        memo = load_memo(GesscaleMemo, self.name, name, knowledge)
        if memo is None or memo.at_s > at_s:
            memo = GesscaleMemo(policy=self.name, at_s=at_s, period_s=_FIRST_PERIOD_S)
        elif memo.at_s == at_s:
            return memo
        elif at_s - memo.at_s < 3 * memo.period_s:  # after a longer gap the period is unchanged
            memo = memo.model_copy(update={"period_s": at_s - memo.at_s})
        objective_s, orders = self._objective_s(observation.readings[name]), knowledge.orders.get(name, ())
        return memo.updated(observation, self.workflow.operators[name], knowledge.latencies.map, objective_s, orders)

    def _verdict(
        self, reading: OperatorReading, memo: GesscaleMemo, node_weights: Mapping[str, float], knowledge: Knowledge
    ) -> Analysis:
        """Compare the expected load with the capacity of the present replicas, and of one fewer."""
        name = reading.operator
        weights = memo.speeds.weights(node_weights)
        evidence = self._saturation(reading, weights, knowledge)
        model = self._model(name, memo, evidence, knowledge)
        same = Analysis(
            operator=name,
            verdict=Verdict.SAME,
            reason=Reason.MODEL_UNCALIBRATED,
            detail=details.not_learned(reading),
            reading=reading,
        )
        if model is None:
            return same
        cap = self._cap(reading, memo)
        summary = replace(model.summary, warnings=(*model.summary.warnings, *map(str, cap.warnings)))
        if len(memo.load.points) < 2:
            return replace(same, model=summary, evidence=evidence)
        fitted = self._operator_model(model, reading, weights, {}, knowledge, cap.cap)
        sized = placements(fitted, reading.placement, (), moves=False)
        one_fewer = sized.nodes[reading.replicas - 2 : reading.replicas - 1] if reading.replicas > 1 else ()
        present, *fewer = fitted.msts((reading.placement, *one_fewer))
        same = replace(same, model=summary, evidence=evidence, mst=present)
        load = memo.load.forecast(memo.bucket_s(self._objective_s(reading))).rate
        detail = details.load_and_capacity(load, reading.replicas, sized.present_rows_per_s)
        if load > sized.present_rows_per_s:
            return replace(same, verdict=Verdict.MORE, reason=Reason.OVERLOADED, detail=detail)
        if any(each is not None and load <= each.low for each in fewer):
            return replace(same, verdict=Verdict.FEWER, reason=Reason.UNDERUSED, detail=detail)
        return replace(same, reason=Reason.WITHIN_TARGET, detail=detail)

    def _saturation(
        self, reading: OperatorReading, weights: Mapping[str, float], knowledge: Knowledge
    ) -> tuple[Reading, ...]:
        """Return the evidence of Eq. 1 in this window; a stale map gives none, but on the driver's node."""
        driver_node = self.workflow.operators[reading.operator].driver_node
        nd_ms = nd_max_ms(knowledge.latencies.map, reading.placement, driver_node)
        if knowledge.latencies.map_status.stale and {*reading.placement} != {driver_node}:
            nd_ms = None
        return evidence_of(reading, nd_ms, weight_of(reading.placement, weights))

    # Model and objective of an operator

    def _model(
        self, operator: str, memo: GesscaleMemo, evidence: tuple[Reading, ...], knowledge: Knowledge
    ) -> CapacityModel | None:
        """Fit the laws; both fits are cached, as Plan uses the evidence of Analyze."""
        readings = (*evidence, *knowledge.readings.get(operator, ()))
        return fit_model(readings, memo.batches, law=self.sizing.law, now_s=memo.at_s)

    def _operator_model(
        self,
        model: CapacityModel,
        reading: OperatorReading,
        weights: Mapping[str, float],
        prices: Mapping[str, float],
        knowledge: Knowledge,
        cap: BatchCap | None,
    ) -> OperatorModel:
        return OperatorModel(
            operator=self.workflow.operators[reading.operator],
            model=model,
            weights=weights,
            prices=prices,
            delays=knowledge.latencies.map,
            trigger_s=reading.trigger_s or _TRIGGER_S,
            cap=cap,
        )

    def _cap(self, reading: OperatorReading, memo: GesscaleMemo) -> CapFinding:
        return find_cap(self.workflow.operators[reading.operator].cap, reading.batches, memo.seen_cap_rows)

    def _objective_s(self, reading: OperatorReading) -> float:
        """Return the objective of an operator: its share, or what its trigger allows if that is longer."""
        return max(self.workflow.objective_s(reading.operator), OBJECTIVE_INTERVALS * (reading.trigger_s or 0.0))

    # Plan

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Choose the nodes of every operator; see `gesscale.ports.Policy`."""
        return resolve_node_contention(cluster, lambda seen: self._plans(analyses, seen, knowledge))

    def _plans(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Choose the nodes of every operator, upstream first, without regard to contention."""
        plans: dict[str, Plan] = {}
        flows: dict[str, Flow] = {}
        for name in self.workflow.topological_order:
            growth = growth_factor([flows[each] for each in self.workflow.upstream(name)])
            plan = self._plan(analyses[name], cluster.for_operator(name), knowledge, growth)
            plans[name] = replace(plan, next_step_after_s=self.workflow.slo_s / _STEPS_PER_OBJECTIVE)
            if self.workflow.downstream(name):
                flows[name] = self._flow(analyses[name], plan, growth)
        return {name: plans[name] for name in analyses}

    def _flow(self, analysis: Analysis, plan: Plan, growth: float) -> Flow:
        """Return the output of an operator now and after its plan, limited by its input, backlog and capacity."""
        reading = analysis.reading
        if reading is None or analysis.memo is None or analysis.mst is None:
            return Flow(0.0, 0.0)
        memo, objective_s = parse_memo(GesscaleMemo, analysis.memo), self._objective_s(reading)
        load = memo.load.forecast(memo.bucket_s(objective_s)).rate * growth
        demand = load + (reading.backlog_rows or 0.0) / objective_s
        return Flow(min(demand / growth, analysis.mst.mid), min(demand, (plan.mst or analysis.mst).mid))

    def _plan(self, analysis: Analysis, cluster: ClusterState, knowledge: Knowledge, growth: float) -> Plan:
        """Choose the nodes of an operator, if nothing blocks a change; its load grows by a factor."""
        operator = self.workflow.operators[analysis.operator]
        present = present_placement(analysis, cluster)
        reading, text = analysis.reading, analysis.memo
        if reading is None or text is None or analysis.reason not in _COMPARED:
            unknown = None
            if analysis.reason is Reason.MODEL_UNCALIBRATED:  # without delays no batch is evidence
                unknown = unknown_delays(knowledge.latencies, present, operator.driver_node)
            return keep_placement(analysis, cluster, *(unknown or ()))
        if (blocked := blocking_reason(reading, present, operator, cluster, knowledge)) is not None:
            return keep_placement(analysis, cluster, *blocked)
        if (working := without_workless(present, operator, reading, knowledge)) is not None:
            placement, detail = working
            return replace(keep_placement(analysis, cluster, Reason.IDLE_REPLICA, detail), placement=placement)
        return self._sized_plan(analysis, reading, parse_memo(GesscaleMemo, text), cluster, knowledge, growth)

    def _sized_plan(
        self,
        analysis: Analysis,
        reading: OperatorReading,
        memo: GesscaleMemo,
        cluster: ClusterState,
        knowledge: Knowledge,
        growth: float,
    ) -> Plan:
        """Return the plan that the sizing rule chooses."""
        operator = self.workflow.operators[analysis.operator]
        unchanged = keep_placement(analysis, cluster, Reason.WITHIN_TARGET)
        present = unchanged.before
        model = self._model(operator.name, memo, analysis.evidence, knowledge)
        assert model is not None  # noqa: S101 - the analysis used it
        weights, cap = memo.speeds.weights(cluster.weights), self._cap(reading, memo).cap
        fitted = self._operator_model(model, reading, weights, cluster.prices, knowledge, cap)
        free, stale = usable_nodes(cluster, present), knowledge.latencies.map_status.stale
        sized = placements(fitted, present, free.nodes, moves=not stale)
        orders = knowledge.orders.get(operator.name, ())
        slo_s, objective_s = self.workflow.objective_s(operator.name), self._objective_s(reading)
        lost = missing_gain(fitted, reading, memo.growth, memo.batches)
        if lost is not None and (fewer := shrunk(present, lost.replicas, operator, knowledge)) is not None:
            return replace(unchanged, reason=lost.reason, detail=details.no_gain(*lost[2:]), placement=fewer)
        limit = work_limit(operator, reading, orders, memo.load, memo.bucket_s(objective_s), memo.idle)
        if limit is not None:
            sized = sized.up_to(max(limit.replicas, len(present)))
        now, placement_of = sizes_of(sized, reading, present, memo.slowdown(reading.at_s - STEADY_S))
        rule = sizing_rule(now, tuple(placement_of), fitted, reading, memo, orders, self.sizing, objective_s, growth)
        size, why = rule.choose()
        by_cap = size_under_cap(rule, why, fitted.cap_rows_per_s)
        size = by_cap or size
        text = explain(rule, size, Why.LARGEST if by_cap else why)
        if objective_s > slo_s:
            text = f"{text}; {details.objective_below_trigger(slo_s, fitted.trigger_s, objective_s)}"
        listed = sorted({*placement_of, now}, key=lambda each: (each.replicas, each.moved, each not in {size, now}))
        candidates = [
            Candidate(
                replicas=each.replicas,
                moved=each.moved,
                mst=each.mst,
                wait_s=rule.wait_s(each),
                late_s=rule.late_s(each),
            )
            for each in listed
        ]
        unchanged = replace(unchanged, candidates=tuple(candidates), detail=text)
        if by_cap is not None:
            rows = int(fitted.cap_rows(operator.max_replicas))
            text = f"{text}; {details.cap_limits(rows, fitted.trigger_s, fitted.cap_rows_per_s)}"
            unchanged = replace(unchanged, reason=Reason.CAP_LIMITS, detail=text)
        elif why is Why.LARGEST:
            end = sized.growth_end
            reason, bound = limit_reason(operator, size.replicas, limit, end)
            rejections = free.rejections if end is None else free.rejections + too_far(end)
            return replace(unchanged, reason=reason, detail=f"{text}; {bound}", rejections=rejections)
        if size == now:
            return unchanged if by_cap else replace(unchanged, reason=reason_to_stay(rule, why))
        placement = placement_of[size]
        if stale and not set(present) <= set(placement):
            return replace(unchanged, reason=Reason.LATENCY_MAP_STALE, detail=f"{text}; {no_removal(stale)}")
        others = nearest_first(fitted.delays, free.nodes, operator.driver_node)
        farther = rejections_for([node for node in others if node not in placement], Reason.FARTHER)
        return replace(
            unchanged,
            reason=Reason.CAP_LIMITS if by_cap else change_reason(now, size, analysis.verdict),
            placement=placement,
            mst=size.mst,
            nd_max_ms=nd_max_ms(fitted.delays, placement, operator.driver_node),
            rejections=free.rejections + farther,
        )
