"""The policy of the paper (Algorithms 1-4, with the corrections of docs/reference/policies/gesscale-2021.md), and MDL.

Each operator is decided separately. An overloaded operator gets one more replica, on the nearest node. An underused
one loses all farthest replicas that the performance model does not need. The baseline MDL-NLUnaware does the same with
Eq. 2 and random nodes (section V of the paper).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from gesscale.analyze.capacity import drain_time_s, evidence_of, has_backlog, headroom_pct, weight_of
from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.plan.node_ranking import keep_placement, nd_max_ms, rejections_for, unknown_delays
from gesscale.policies.base import PerOperatorPolicy, PlanningContext
from gesscale.policies.details import NO_OTHER_NODE
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge, Latencies
from perfmodel import EQ1, PROPORTIONAL, Estimate, FittedEq1, Reading, fit_eq1, summary_of
from testbed.baselines.gesscale_2021 import details
from testbed.baselines.gesscale_2021.settings import Gesscale2021Settings
from testbed.baselines.gesscale_2021.sized_placements import GrownPlacements, SizedPlacement, predict_mst, sized

#: Creates an analysis from a verdict (default Same), a reason and a detail.
_Concluded = Callable[..., Analysis]


#: Distinct readings of a calibrated Eq. 1, the third stage of the paper.
_CALIBRATED_FROM = 3


@dataclass(frozen=True, slots=True)
class Gesscale2021Policy(PerOperatorPolicy):
    """Analyzes by back pressure and performance model, plans by model and latency map."""

    #: Settings of the policy.
    own: Gesscale2021Settings = field(default_factory=Gesscale2021Settings)

    @property
    def name(self) -> str:
        """The registered name."""
        return "gesscale-2021" if self.latency_aware else "mdl-nlunaware"

    # Analyze

    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Decide whether the operator is the root of an overload (Algorithm 1) or has headroom (Algorithm 2)."""
        name = reading.operator
        driver_node = self.workflow.operators[name].driver_node
        nd = nd_max_ms(knowledge.latencies.map, reading.placement, driver_node)
        weight = weight_of(reading.placement, observation.node_weights)
        # The model must not learn outdated delays from a stale map; a single node has none.
        on_driver = {*reading.placement} == {driver_node}
        known_nd = nd if on_driver or not knowledge.latencies.map_status.stale else None
        if known_nd is None and not self.latency_aware:
            known_nd = 0.0
        evidence = evidence_of(reading, known_nd, weight, self.own.back_pressure_threshold)
        model = self._model(evidence, name, knowledge, observation.at_s)
        mst = predict_mst(model, reading.placement, nd, weight)
        concluded = partial(
            Analysis,
            operator=name,
            verdict=Verdict.SAME,
            reading=reading,
            evidence=evidence,
            model=None if model is None else summary_of(model),
            mst=mst,
            nd_max_ms=nd,
        )
        if reading.saturated_share > self.own.back_pressure_threshold:
            return self._analyze_saturated(concluded, reading, observation)
        if lagging := self._lagging_ancestors(reading.operator, observation, knowledge):
            return concluded(reason=Reason.DRAINING_BACKLOG, detail=details.upstream_lag(lagging))
        return self._analyze_headroom(concluded, mst, reading, knowledge.latencies)

    def _lagging_ancestors(
        self, operator: str, observation: WorkflowObservation, knowledge: Knowledge
    ) -> tuple[str, ...]:
        """Return the upstream operators whose output is below their input, so that this one seems underused."""
        return tuple(
            name
            for name in self.workflow.ancestors(operator)
            if (reading := observation.readings.get(name)) is None
            or has_backlog(reading)
            or knowledge.pending(name) is not None
        )

    def _model(
        self, evidence: tuple[Reading, ...], operator: str, knowledge: Knowledge, at_s: float
    ) -> FittedEq1 | None:
        return fit_eq1(
            (*evidence, *knowledge.readings.get(operator, ())),
            at_s,
            law=EQ1 if self.latency_aware else PROPORTIONAL,
            half_life_s=self.own.reading_half_life_s,
            max_age_s=self.own.reading_max_age_s,
        )

    def _planned_with(self, context: PlanningContext) -> FittedEq1 | None:
        """Return the model of the analysis; the fit is cached."""
        return self._model(context.analysis.evidence, context.operator.name, context.knowledge, context.reading.at_s)

    def _analyze_saturated(
        self, concluded: _Concluded, reading: OperatorReading, observation: WorkflowObservation
    ) -> Analysis:
        blocking = [
            consumer
            for consumer in self.workflow.downstream(reading.operator)
            if (other := observation.readings.get(consumer)) is not None
            and other.saturated_share > self.own.back_pressure_threshold
        ]
        if blocking:
            return concluded(reason=Reason.NOT_ROOT_OF_OVERLOAD, detail=details.back_pressure(blocking))
        drain_s = drain_time_s(reading)
        if drain_s is not None and drain_s <= self.own.recovery_target_s:
            return concluded(reason=Reason.DRAINING_BACKLOG, detail=details.drains_within(reading, drain_s))
        return concluded(verdict=Verdict.MORE, reason=Reason.OVERLOADED, detail=details.saturated(reading))

    def _analyze_headroom(
        self, concluded: _Concluded, mst: Estimate | None, reading: OperatorReading, latencies: Latencies
    ) -> Analysis:
        if has_backlog(reading):
            return concluded(reason=Reason.DRAINING_BACKLOG, detail=details.draining(reading))
        driver_node = self.workflow.operators[reading.operator].driver_node
        unknown = unknown_delays(latencies, reading.placement, driver_node) if self.latency_aware else None
        if unknown is not None:
            return concluded(reason=unknown[0], detail=unknown[1])
        if mst is None:
            stale = latencies.map_status.stale if self.latency_aware else ""
            return concluded(reason=Reason.MODEL_UNCALIBRATED, detail=details.uncalibrated(stale))
        headroom = headroom_pct(mst.low, reading.throughput_rows_per_s)
        detail = details.headroom(reading, mst, headroom, self.own.headroom_threshold_pct)
        if headroom >= self.own.headroom_threshold_pct:
            return concluded(verdict=Verdict.FEWER, reason=Reason.UNDERUSED, detail=detail, headroom_pct=headroom)
        return concluded(reason=Reason.WITHIN_TARGET, detail=detail, headroom_pct=headroom)

    # Plan

    def plan_more(self, context: PlanningContext) -> Plan:
        """Add one replica on the nearest node, unless its delay is known to cancel the gain (Algorithm 3, IV-E)."""
        analysis, cluster, present = context.analysis, context.cluster, context.placement
        ranked = self.candidates(context)
        model = self._planned_with(context)
        now = sized(context, present, model)
        grown = GrownPlacements.by_one(context, ranked.nodes, model)
        helps = grown.beat(now)
        helpful = [ranked.nodes[index] for index in np.flatnonzero(helps).tolist()]
        useless = [ranked.nodes[index] for index in np.flatnonzero(~helps).tolist()]
        rank = dict(zip(ranked.nodes, range(len(ranked.nodes)), strict=True))
        present_text = str(now)

        def comparison(node: str) -> str:
            return details.comparison(grown.sized(rank[node]), present_text)

        lost = (
            *rejections_for(helpful[1:], self.rejection_reason, comparison),
            *rejections_for(useless, Reason.DELAY_EATS_GAIN, comparison),
        )
        rejections = (*ranked.rejections, *sorted(lost, key=lambda each: rank[each.node]))
        if not helpful:
            reason = Reason.DELAY_EATS_GAIN if useless else Reason.NO_CANDIDATE_NODE
            detail = details.TOO_FAR if useless else NO_OTHER_NODE
            return replace(keep_placement(analysis, cluster, reason, detail), rejections=rejections)
        node, after = helpful[0], sized(context, (*present, helpful[0]), model)
        choice = details.chosen_node(node, after, latency_aware=self.latency_aware)
        plan = self.changed_plan(context, after.placement, rejections, f"; {choice}")
        return replace(plan, mst=after.mst)

    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Remove all farthest replicas that the model does not need (Algorithm 4, IV-E)."""
        model = self._planned_with(context)
        calibrated = model is not None and (not self.latency_aware or len(model.conditions) >= _CALIBRATED_FROM)
        most = len(context.placement) - context.operator.min_replicas if calibrated else 1
        remaining = present = sized(context, context.placement, model)
        blocked: tuple[Reason, str] | None = None
        rejections: tuple[Rejection, ...] = ()
        for placement in self.shrunk_placements(context)[:most]:
            fewer = sized(context, placement, model)
            blocked = self._blocker(context.reading, remaining, fewer)
            if blocked is not None:
                kept = (node for node in remaining.placement if node not in fewer.placement)
                rejections = tuple(Rejection(node=node, reason=blocked[0], detail=blocked[1]) for node in kept)
                break
            remaining = fewer
        if blocked is not None and remaining is present:
            return replace(keep_placement(context.analysis, context.cluster, *blocked), rejections=rejections)
        plan = self.changed_plan(context, remaining.placement, rejections)
        return replace(plan, detail=details.enough(_needed_rows_per_s(context.reading), remaining), mst=remaining.mst)

    def _blocker(
        self, reading: OperatorReading, remaining: SizedPlacement, fewer: SizedPlacement
    ) -> tuple[Reason, str] | None:
        """Return why Algorithm 4 stops before a removal: too low an MST after it, or too little headroom before it."""
        needed = _needed_rows_per_s(reading)
        if not fewer.sustains(needed):
            return Reason.FEWER_WOULD_NOT_SUSTAIN, details.too_few(fewer, needed)
        headroom, threshold = remaining.headroom_pct(reading.throughput_rows_per_s), self.own.headroom_threshold_pct
        if self.own.headroom_for_each_removal and headroom < threshold:
            return Reason.WITHIN_TARGET, details.little_headroom(remaining, headroom, threshold)
        return None


def _needed_rows_per_s(reading: OperatorReading) -> float:
    return max(reading.input_rows_per_s or 0.0, reading.throughput_rows_per_s)


def _factory(*, latency_aware: bool) -> Callable[[Workflow, PolicyOptions, Gesscale2021Settings], Gesscale2021Policy]:
    return lambda workflow, options, own: Gesscale2021Policy(workflow, options, latency_aware=latency_aware, own=own)


POLICY = PolicyInfo(
    name="gesscale-2021",
    summary="the performance model of Eq. 1-3 and the latency map",
    source="Arkian, Pierre, Tordsson, Elmroth, Gesscale, ICCCN 2021",
    build=_factory(latency_aware=True),
    settings=Gesscale2021Settings,
    accepts=("stabilization_window_s",),
    guide="reference/policies/gesscale-2021.md",
)
UNAWARE_POLICY = PolicyInfo(
    name="mdl-nlunaware",
    summary="Eq. 2 alone, which ignores delays; random nodes",
    source=f"{POLICY.source}, section V",
    build=_factory(latency_aware=False),
    settings=Gesscale2021Settings,
    accepts=("stabilization_window_s", "seed"),
    guide="reference/policies/gesscale-2021.md",
)
