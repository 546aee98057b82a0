"""The policy `gesscale`: learns the law and the load, and takes the fewest replicas that suffice.

Each operator is decided separately, by the rule in `analysis.sizing`. A decision contains the predicted capacity of
each number of replicas.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

from gesscale.analyze.capacity import evidence_of, weight_of
from gesscale.analyze.readiness import actionable_reading
from gesscale.model.decision import Analysis, Candidate, Plan, Reason, Verdict
from gesscale.model.observation import Batch, OperatorReading, WorkflowObservation
from gesscale.model.workflow import Operator, Workflow
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
from gesscale.policies.gesscale.analysis.capacity import predicted_mst, proportional_rows_per_s, warm_samples
from gesscale.policies.gesscale.analysis.changes import change_times
from gesscale.policies.gesscale.analysis.demand import waiting_rows
from gesscale.policies.gesscale.analysis.limits import (
    blocking_reason,
    change_reason,
    count_moves,
    idle_replicas,
    limit_reason,
    plan_without_idle,
    plan_without_surplus,
    too_far,
    too_few_recently,
    trigger_interval_s,
    useful_placement,
    work_limit,
)
from gesscale.policies.gesscale.analysis.placements import placements
from gesscale.policies.gesscale.analysis.sizing import LoadAhead, Size, SizingRule, Why
from gesscale.policies.gesscale.flows import Flow, growth_factor
from gesscale.policies.gesscale.memo import GesscaleMemo
from gesscale.policies.gesscale.node_contention import resolve_node_contention
from gesscale.policies.gesscale.reasons import explain, reason_to_stay
from gesscale.policies.gesscale.replica_options import ReplicaOptions
from gesscale.policies.gesscale.settings import GesscaleSettings
from gesscale.policies.memos import load_memo, parse_memo, serialize_memo
from gesscale.ports import ClusterState, Knowledge
from perfmodel import CapacityModel, Estimate, Reading, fit_model

_FIRST_PERIOD_S = 60.0
#: Steps of the loop within one latency objective.
_STEPS_PER_OBJECTIVE = 3.0
#: Safety margin of a batch before its deadline, in cycles.
_SAFETY_CYCLES = 1.5
_MIN_ALLOWED_SHARE = 0.3


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
            assert isinstance(screened, Analysis)  # noqa: S101 - without a reading it is an analysis
            known = load_memo(GesscaleMemo, self.name, name, knowledge)
            return screened if known is None else _reported(screened, self._model(known, (), knowledge, name))
        memo = self._memo(reading, observation, knowledge)
        if isinstance(screened, OperatorReading):
            analysis = self._verdict(screened, memo, observation, knowledge)
        else:
            analysis = _reported(screened, self._model(memo, (), knowledge, name))
        return replace(
            analysis,
            memo=serialize_memo(memo),
            nd_max_ms=nd_max_ms(knowledge.latencies.map, reading.placement, self.workflow.operators[name].driver_node),
        )

    def _verdict(
        self, reading: OperatorReading, memo: GesscaleMemo, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Compare the expected load with the capacity of the present replicas, and of one fewer."""
        same = Analysis(
            operator=reading.operator,
            verdict=Verdict.SAME,
            reason=Reason.MODEL_UNCALIBRATED,
            detail=details.NOTHING_LEARNED,
            reading=reading,
        )
        operator = self.workflow.operators[reading.operator]
        weights, delays = memo.speeds.weights(observation.node_weights), knowledge.latencies.map
        trigger_s = trigger_interval_s(reading)
        evidence = self._saturation(reading, weights, knowledge)
        model = self._model(memo, evidence, knowledge, operator.name)
        if model is None:
            return same
        same = replace(_reported(same, model), evidence=evidence)
        if len(memo.load.points) < 2:
            return same

        def mst_on(nodes: tuple[str, ...]) -> Estimate | None:
            return predicted_mst(model, operator, nodes, weights=weights, delays=delays, trigger_s=trigger_s)

        same = replace(same, mst=mst_on(reading.placement))
        sized = placements(
            model, operator, reading.placement, (), weights=weights, delays=delays, trigger_s=trigger_s, moves=False
        )
        load = memo.load.forecast(self._bucket_s(memo, operator)).rate
        present = sized.present_rows_per_s
        detail = details.load_and_capacity(load, reading.replicas, present)
        if load > present:
            return replace(same, verdict=Verdict.MORE, reason=Reason.OVERLOADED, detail=detail)
        fewer = mst_on(sized.nodes[reading.replicas - 2]) if reading.replicas > 1 else None
        if fewer is not None and load <= fewer.low:
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

    def _model(
        self, memo: GesscaleMemo, evidence: tuple[Reading, ...], knowledge: Knowledge, operator: str
    ) -> CapacityModel | None:
        """Fit the laws; Eq. 1 is cached."""
        readings = (*evidence, *knowledge.readings.get(operator, ()))
        return fit_model(readings, memo.batches, law=self.sizing.law, now_s=memo.at_s)

    def _memo(self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge) -> GesscaleMemo:
        """Return the memo including this observation; unchanged if it has it already."""
        at_s = observation.at_s
        memo = load_memo(GesscaleMemo, self.name, reading.operator, knowledge)
        if memo is None or memo.at_s > at_s:
            memo = GesscaleMemo(policy=self.name, at_s=at_s, period_s=_FIRST_PERIOD_S)
        elif memo.at_s == at_s:
            return memo
        elif at_s - memo.at_s < 3 * memo.period_s:  # after a longer gap the period is unchanged
            memo = memo.model_copy(update={"period_s": at_s - memo.at_s})
        batches = reading.batches
        bucket_s = self._bucket_s(memo, self.workflow.operators[reading.operator])
        speeds = memo.speeds.updated(
            {node: each for node, each in reading.by_node.items() if _in_every_batch(node, batches, at_s - bucket_s)},
            observation.node_weights,
            memo.period_s / bucket_s,
        )
        weights = speeds.weights(observation.node_weights)
        return memo.model_copy(
            update={
                "at_s": at_s,
                "learned_until_s": batches[-1].ended_at_s if batches else memo.learned_until_s,
                "batches": memo.batches.updated(
                    warm_samples(
                        reading.batches,
                        memo.learned_until_s,
                        self.workflow.operators[reading.operator].driver_node,
                        weights,
                        knowledge.latencies.map,
                    )
                ),
                "load": memo.load.updated(reading.offered_points, bucket_s),
                "speeds": speeds,
            }
        )

    # Plan

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Choose the nodes of every operator; see `gesscale.ports.Policy`."""
        return resolve_node_contention(cluster, lambda seen: self._plans(analyses, seen, knowledge))

    def _plans(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        """Choose the nodes of every operator, upstream first, without regard to contention."""
        plans: dict[str, Plan] = {}
        next_step_after_s = self.sizing.slo_s / _STEPS_PER_OBJECTIVE
        flows: dict[str, Flow] = {}
        for names in self.workflow.generations:
            growth = {name: growth_factor([flows[each] for each in self.workflow.upstream(name)]) for name in names}
            for name in names:
                plan = self._plan(analyses[name], cluster.for_operator(name), knowledge, growth[name])
                plans[name] = replace(plan, next_step_after_s=next_step_after_s)
                if self.workflow.downstream(name):
                    flows[name] = self._flow(analyses[name], plans[name], growth[name])
        return {name: plans[name] for name in analyses}

    def _flow(self, analysis: Analysis, plan: Plan, growth: float) -> Flow:
        """Return the output of an operator now and after its plan, limited by its input, backlog and capacity."""
        reading = analysis.reading
        if reading is None or analysis.memo is None or analysis.mst is None:
            return Flow(0.0, 0.0)
        planned = plan.mst or analysis.mst
        memo = parse_memo(GesscaleMemo, analysis.memo)
        bucket_s = self._bucket_s(memo, self.workflow.operators[analysis.operator])
        load = memo.load.forecast(bucket_s).rate * growth
        demand = load + (reading.backlog_rows or 0.0) / self._slo_s(analysis.operator)
        return Flow(min(demand / growth, analysis.mst.mid), min(demand, planned.mid))

    def _slo_s(self, operator: str) -> float:
        """Return the share of the objective of an operator, equal for all operators on a path."""
        return self.sizing.slo_s / self.workflow.path_operators(operator)

    def _bucket_s(self, memo: GesscaleMemo, operator: Operator) -> float:
        """Return the time over which the load is averaged, the longest acceptable wait of a row."""
        return max(memo.period_s, self._slo_s(operator.name))

    def _plan(self, analysis: Analysis, cluster: ClusterState, knowledge: Knowledge, growth: float) -> Plan:
        """Choose the nodes of an operator, if nothing blocks a change.

        Parameters
        ----------
        growth
            Factor by which the output of the upstream operators grows with their plans.
        """
        operator = self.workflow.operators[analysis.operator]
        present = present_placement(analysis, cluster)
        reading, text = analysis.reading, analysis.memo
        if reading is None or text is None or analysis.reason not in _COMPARED:
            unknown = None
            if analysis.reason is Reason.MODEL_UNCALIBRATED:  # without delays no batch is evidence
                unknown = unknown_delays(knowledge.latencies, present, operator.driver_node)
            return keep_placement(analysis, cluster, *(unknown or ()))
        if (reason := blocking_reason(reading, present, operator, cluster, knowledge)) is not None:
            return keep_placement(analysis, cluster, *reason)
        idle = idle_replicas(present, reading, knowledge.latest(operator.name))
        if idle and reading.saturated_share and reading.replicas >= operator.min_replicas:
            return plan_without_idle(idle, keep_placement(analysis, cluster), reading)
        if (useful := useful_placement(present, operator, reading, knowledge.latencies)) is not None:
            return plan_without_surplus(useful, keep_placement(analysis, cluster), reading)
        free = usable_nodes(cluster, present)
        memo = parse_memo(GesscaleMemo, text)
        model = self._model(memo, analysis.evidence, knowledge, operator.name)
        assert model is not None  # noqa: S101 - the analysis used it
        sized = placements(
            model,
            operator,
            present,
            free.nodes,
            weights=memo.speeds.weights(cluster.weights),
            delays=knowledge.latencies.map,
            trigger_s=trigger_interval_s(reading),
            moves=not knowledge.latencies.map_status.stale,
        )
        if (limit := work_limit(operator, reading, knowledge)) is not None:
            sized = sized.up_to(max(limit, len(present)))
        options = ReplicaOptions(
            analysis=analysis, reading=reading, memo=memo, model=model, present=present, free=free, sized=sized
        )
        return self._choose(options, cluster, knowledge, growth)

    def _choose(self, options: ReplicaOptions, cluster: ClusterState, knowledge: Knowledge, growth: float) -> Plan:
        """Return the plan that the rule chooses."""
        analysis, present, free, reading = options.analysis, options.present, options.free, options.reading
        operator = self.workflow.operators[analysis.operator]
        rule, placements_of = self._rule(options, cluster, knowledge, growth)
        size, why = rule.choose()
        candidates = tuple(
            Candidate(
                replicas=each.replicas,
                moved=each.moved,
                mst=Estimate(low=each.low, mid=each.mid, high=each.high),
                wait_s=rule.wait_s(each),
                late_s=rule.late_s(each),
            )
            for each in placements_of
        )
        unchanged = replace(keep_placement(analysis, cluster, Reason.WITHIN_TARGET), candidates=candidates)
        text = explain(rule, size, why)
        if why is Why.LARGEST:
            end = options.sized.growth_end
            limit = work_limit(operator, reading, knowledge)
            reason, bound = limit_reason(operator, reading, size.replicas, limit, end)
            rejections = free.rejections if end is None else free.rejections + too_far(end)
            return replace(unchanged, reason=reason, detail=f"{text}; {bound}", rejections=rejections)
        if size == rule.present:
            return replace(unchanged, reason=reason_to_stay(rule, why), detail=text)
        placement = placements_of[size]
        stale = knowledge.latencies.map_status.stale
        if stale and not set(present) <= set(placement):
            return replace(unchanged, reason=Reason.LATENCY_MAP_STALE, detail=f"{text}; {no_removal(stale)}")
        taken, nearest = (set(placement), nearest_first(knowledge.latencies.map, free.nodes, operator.driver_node))
        return replace(
            unchanged,
            reason=change_reason(len(present), len(placement), analysis.verdict),
            detail=text,
            placement=placement,
            mst=Estimate(low=size.low, mid=size.mid, high=size.high),
            nd_max_ms=nd_max_ms(knowledge.latencies.map, placement, operator.driver_node),
            rejections=free.rejections
            + rejections_for([node for node in nearest if node not in taken], Reason.FARTHER),
        )

    def _rule(
        self, options: ReplicaOptions, cluster: ClusterState, knowledge: Knowledge, growth: float
    ) -> tuple[SizingRule, Mapping[Size, tuple[str, ...]]]:
        """Return the rule with its inputs, and the placement of each size, the fewest replicas first."""
        reading, memo, sized, present = options.reading, options.memo, options.sized, options.present
        operator = self.workflow.operators[options.analysis.operator]
        orders, trigger_s = knowledge.orders.get(operator.name, ()), trigger_interval_s(reading)
        slo_s, bucket_s = self._slo_s(operator.name), self._bucket_s(memo, operator)
        weights = memo.speeds.weights(cluster.weights)

        def size_of(nodes: tuple[str, ...], mid: float) -> Size:
            mst = predicted_mst(
                options.model, operator, nodes, weights=weights, delays=knowledge.latencies.map, trigger_s=trigger_s
            )
            low, high = (0.0, math.inf) if mst is None else (mst.low, max(mst.high, mid))
            low = min(mid, max(low, proportional_rows_per_s(reading, nodes, weights)))
            return Size(replicas=len(nodes), mid=mid, low=low, high=high, moved=count_moves(present, nodes))

        now = size_of(present, sized.present_rows_per_s)
        best = {sized.nodes[n - 1]: float(sized.rows_per_s[n - 1]) for n in sized.sizes}
        sizes = {now if nodes == present else size_of(nodes, mid): nodes for nodes, mid in best.items()}
        ahead = memo.load.forecast(bucket_s)
        rarely = self.sizing.late_minute_price / (1 + self.sizing.late_minute_price)
        high = max(0.0, ahead.rate + NormalDist().inv_cdf(rarely) * ahead.spread)
        late_s = _SAFETY_CYCLES * max(trigger_s, reading.batches[-1].seconds)
        rule = SizingRule(
            present=now,
            sizes=tuple(sizes),
            max_replicas=operator.max_replicas,
            load=LoadAhead(
                expected=ahead.rate * growth,
                high=high * growth,
                past=(memo.load.rates(bucket_s) * growth).tolist(),
                backlog_rows=waiting_rows(reading, ahead.newest, now.mid),
                bucket_s=bucket_s,
            ),
            change=change_times(orders, trigger_s, restarts=operator.restarts),
            allowed_s=max(slo_s - late_s, _MIN_ALLOWED_SHARE * slo_s),
            step_s=memo.period_s,
            change_price=self.sizing.change_price,
            late_minute_price=self.sizing.late_minute_price,
            too_few=too_few_recently(orders, memo.load, reading.at_s, bucket_s),
        )
        ordered = sorted({**sizes, now: present}.items(), key=lambda one: (one[0].replicas, one[0].moved))
        return rule, dict(ordered)


#: Reasons of an analysis that compared load and capacity.
_COMPARED = frozenset({Reason.OVERLOADED, Reason.UNDERUSED, Reason.WITHIN_TARGET})


def _reported(analysis: Analysis, model: CapacityModel | None) -> Analysis:
    return analysis if model is None else replace(analysis, model=model.summary)


def _in_every_batch(node: str, batches: Sequence[Batch], since_s: float) -> bool:
    """Return True if a node took part in all batches that ended since an instant, so its replica is not new."""
    return all(node in batch.nodes for batch in batches if batch.ended_at_s > since_s)
