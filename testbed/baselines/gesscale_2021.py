"""The policy of the paper (Algorithms 1-4, with the corrections of docs/reference/policies/gesscale-2021.md), and MDL.

Each operator is decided separately. An overloaded operator gets one more replica, on the nearest node. An underused
one loses all farthest replicas that the performance model does not need. The baseline MDL-NLUnaware does the same with
Eq. 2 and random nodes (section V of the paper).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat, takewhile

import numpy as np
from numpy.typing import NDArray

from gesscale.analyze.capacity import (
    drain_time_s,
    evidence_of,
    fit,
    has_backlog,
    headroom_pct,
    predict,
    predict_all,
    summary_of,
    weight_of,
)
from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict, format_replicas
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.plan.node_ranking import keep_placement, nd_max_ms, nd_max_with_each_ms, rejections_for, unknown_delays
from gesscale.policies.base import PerOperatorPolicy, PlanningContext
from gesscale.policies.details import NO_OTHER_NODE
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge, Latencies
from perfmodel import Estimate, Estimates, Estimator, Model, Reading, law_named


@dataclass(frozen=True, slots=True)
class SizedPlacement:
    """A placement and its predicted capacity."""

    #: Nodes of the replicas, sorted.
    placement: tuple[str, ...]
    #: NDmax including the driver's node, round trip; None if the latency map lacks a delay.
    nd_max_ms: float | None
    #: Predicted MST, rows/s; None without a model.
    mst: Estimate | None

    def __str__(self) -> str:
        delay = "NDmax unknown" if self.nd_max_ms is None else f"NDmax {self.nd_max_ms:.0f} ms"
        if self.mst is None:
            return delay
        return f"{delay}, MST {self.mst.mid:.0f} ({self.mst.low:.0f} to {self.mst.high:.0f}) rows/s"

    def sustains(self, rows_per_s: float) -> bool:
        """Return True if the low end of the MST is at least a rate (scale-in never relies on the middle)."""
        return self.mst is not None and self.mst.low >= rows_per_s


#: Creates an analysis from a verdict (default Same), a reason and a detail.
_Concluded = Callable[..., Analysis]


@dataclass(frozen=True, slots=True)
class Gesscale2021Policy(PerOperatorPolicy):
    """Analyzes by back pressure and performance model, plans by model and latency map."""

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
        operator = self.workflow.operators[name]
        nd = nd_max_ms(knowledge.latencies.map, reading.placement, operator.driver_node)
        weight = weight_of(reading.placement, observation.node_weights)
        # The model must not learn outdated delays from a stale map; a single node has none.
        on_driver = {*reading.placement} == {operator.driver_node}
        known_nd = nd if on_driver or not knowledge.latencies.map_status.stale else None
        evidence = evidence_of(reading, known_nd, weight, self.options.back_pressure_threshold)
        model = self._model(evidence, name, knowledge, observation.at_s)
        mst = predict(model, reading.placement, nd, operator, weight)
        concluded = partial(
            Analysis,
            operator=name,
            verdict=Verdict.SAME,
            reading=reading,
            evidence=evidence,
            model=summary_of(model),
            mst=mst,
            nd_max_ms=nd,
        )
        if reading.saturated_share > self.options.back_pressure_threshold:
            return self._analyze_saturated(concluded, reading, observation)
        if lagging := self._lagging_ancestors(reading.operator, observation, knowledge):
            return concluded(reason=Reason.DRAINING_BACKLOG, detail=_upstream_lag(lagging))
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

    def _law(self) -> Estimator:
        return law_named(
            self.options.law if self.latency_aware else "proportional",
            half_life_s=self.options.reading_half_life_s,
            max_age_s=self.options.reading_max_age_s,
        )

    def _model(self, evidence: tuple[Reading, ...], operator: str, knowledge: Knowledge, at_s: float) -> Model | None:
        return fit((*evidence, *knowledge.readings.get(operator, ())), self._law(), at_s)

    def _planned_with(self, context: PlanningContext) -> Model | None:
        """Return the model of the analysis; the fit is cached."""
        return self._model(context.analysis.evidence, context.operator.name, context.knowledge, context.reading.at_s)

    def _analyze_saturated(
        self, concluded: _Concluded, reading: OperatorReading, observation: WorkflowObservation
    ) -> Analysis:
        blocking = [
            consumer
            for consumer in self.workflow.downstream(reading.operator)
            if (other := observation.readings.get(consumer)) is not None
            and other.saturated_share > self.options.back_pressure_threshold
        ]
        if blocking:
            return concluded(reason=Reason.NOT_ROOT_OF_OVERLOAD, detail=_back_pressure(blocking))
        drain_s = drain_time_s(reading)
        if drain_s is not None and drain_s <= self.options.recovery_target_s:
            return concluded(reason=Reason.DRAINING_BACKLOG, detail=_drains_within(reading, drain_s))
        return concluded(verdict=Verdict.MORE, reason=Reason.OVERLOADED, detail=_saturated(reading))

    def _analyze_headroom(
        self, concluded: _Concluded, mst: Estimate | None, reading: OperatorReading, latencies: Latencies
    ) -> Analysis:
        if has_backlog(reading):
            return concluded(reason=Reason.DRAINING_BACKLOG, detail=_draining(reading))
        driver_node = self.workflow.operators[reading.operator].driver_node
        if (unknown := unknown_delays(latencies, reading.placement, driver_node)) is not None:
            return concluded(reason=unknown[0], detail=unknown[1])
        if mst is None:
            stale = latencies.map_status.stale
            return concluded(reason=Reason.MODEL_UNCALIBRATED, detail=_uncalibrated(stale))
        headroom = headroom_pct(mst.low, reading.throughput_rows_per_s)
        detail = _headroom(reading, mst, headroom, self.options.headroom_threshold_pct)
        if headroom >= self.options.headroom_threshold_pct:
            return concluded(verdict=Verdict.FEWER, reason=Reason.UNDERUSED, detail=detail, headroom_pct=headroom)
        return concluded(reason=Reason.WITHIN_TARGET, detail=detail, headroom_pct=headroom)

    # Plan

    def plan_more(self, context: PlanningContext) -> Plan:
        """Add one replica on the nearest node, unless its delay is known to cancel the gain (Algorithm 3, IV-E)."""
        analysis, cluster, present = context.analysis, context.cluster, context.placement
        ranked = self.candidates(context)
        now = self._sized(context, present)
        grown = _Grown.by_one(context, ranked.nodes, self._planned_with(context))
        helps = grown.beat(now)
        helpful = [ranked.nodes[index] for index in np.flatnonzero(helps).tolist()]
        useless = [ranked.nodes[index] for index in np.flatnonzero(~helps).tolist()]
        rank = dict(zip(ranked.nodes, range(len(ranked.nodes)), strict=True))
        present_text = str(now)

        def comparison(node: str) -> str:
            return _comparison(grown.sized(rank[node]), present_text)

        lost = (
            *rejections_for(helpful[1:], self.rejection_reason, comparison),
            *rejections_for(useless, Reason.DELAY_EATS_GAIN, comparison),
        )
        rejections = (*ranked.rejections, *sorted(lost, key=lambda each: rank[each.node]))
        if not helpful:
            reason = Reason.DELAY_EATS_GAIN if useless else Reason.NO_CANDIDATE_NODE
            detail = _TOO_FAR if useless else NO_OTHER_NODE
            return replace(keep_placement(analysis, cluster, reason, detail), rejections=rejections)
        node, after = helpful[0], self._sized(context, (*present, helpful[0]))
        choice = _chosen_node(node, after, latency_aware=self.latency_aware)
        plan = self.changed_plan(context, after.placement, rejections, f"; {choice}")
        return replace(plan, mst=after.mst)

    def plan_fewer(self, context: PlanningContext) -> Plan:
        """Remove all farthest replicas that the model does not need (Algorithm 4, IV-E)."""
        analysis, operator, present = context.analysis, context.operator, context.placement
        needed = max(context.reading.input_rows_per_s or 0.0, context.reading.throughput_rows_per_s)
        model = self._planned_with(context)
        calibrated = model is not None and model.calibrated
        most = len(present) - operator.min_replicas if calibrated else 1
        sized = [self._sized(context, after) for after in self.shrunk_placements(context)[:most]]
        enough = list(takewhile(lambda after: after.sustains(needed), sized))
        too_few = sized[len(enough)] if len(enough) < len(sized) else None
        remaining = enough[-1].placement if enough else present
        rejections = tuple(
            Rejection(node=node, reason=Reason.FEWER_WOULD_NOT_SUSTAIN, detail=_without_node(too_few, needed))
            for node in remaining
            if too_few is not None and node not in too_few.placement
        )
        if not enough:
            detail = _one_fewer(too_few, needed)
            unchanged = keep_placement(analysis, context.cluster, Reason.FEWER_WOULD_NOT_SUSTAIN, detail)
            return replace(unchanged, rejections=rejections)
        detail = _fewer(needed, enough[-1])
        plan = self.changed_plan(context, enough[-1].placement, rejections)
        return replace(plan, detail=detail, mst=enough[-1].mst)

    def _sized(self, context: PlanningContext, placement: tuple[str, ...]) -> SizedPlacement:
        operator = context.operator
        nodes = tuple(sorted(placement))
        nd = nd_max_ms(context.latencies.map, nodes, operator.driver_node)
        weight = weight_of(nodes, context.cluster.weights)
        return SizedPlacement(nodes, nd, predict(self._planned_with(context), nodes, nd, operator, weight))


# Texts of the decisions of this policy.
_TOO_FAR = "every free node is too far away"


def _upstream_lag(operators: Sequence[str]) -> str:
    return f"upstream operators lag: {', '.join(operators)}"


def _back_pressure(consumers: Sequence[str]) -> str:
    return f"saturated by back pressure of {', '.join(consumers)}"


def _draining(reading: OperatorReading) -> str:
    return f"draining a backlog of {reading.backlog_rows or 0:.0f} rows"


def _drains_within(reading: OperatorReading, drain_s: float) -> str:
    return f"a backlog of {reading.backlog_rows or 0:.0f} rows drains within {drain_s:.0f} s"


def _saturated(reading: OperatorReading) -> str:
    offered = "" if reading.input_rows_per_s is None else f", offered {reading.input_rows_per_s:.0f}"
    return f"saturated at {reading.warm_rows_per_s or reading.throughput_rows_per_s:.0f} rows/s{offered}"


def _uncalibrated(stale: str) -> str:
    return "MST unknown: no saturated reading yet" + (f"; not learning: {stale}" if stale else "")


def _headroom(reading: OperatorReading, mst: Estimate, headroom_pct: float, threshold_pct: float) -> str:
    return (
        f"throughput {reading.throughput_rows_per_s:.0f} rows/s, MST at least {mst.low:.0f}, "
        f"headroom {headroom_pct:.0f} %, threshold {threshold_pct:.0f} %"
    )


def _comparison(grown: SizedPlacement, present: str) -> str:
    return f"{grown}; now {present}"


def _chosen_node(node: str, after: SizedPlacement, *, latency_aware: bool) -> str:
    return f"{'nearest node with a gain' if latency_aware else 'random node'} {node}: {after}"


def _without_node(too_few: SizedPlacement, needed_rows_per_s: float) -> str:
    return f"without it: {too_few}; {needed_rows_per_s:.0f} rows/s needed"


def _one_fewer(too_few: SizedPlacement | None, needed_rows_per_s: float) -> str:
    return f"one replica fewer: {too_few}; {needed_rows_per_s:.0f} rows/s needed"


def _fewer(needed_rows_per_s: float, enough: SizedPlacement) -> str:
    return f"{needed_rows_per_s:.0f} rows/s needed; {format_replicas(len(enough.placement))}: {enough}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grown:
    """The present placement with one more replica on each of m nodes, and its predicted MSTs."""

    present: tuple[str, ...]
    nodes: tuple[str, ...]
    #: Shape ``(m,)``; NaN if unknown.
    nd_max_ms: NDArray[np.float64]
    #: Shape ``(m,)``; None without a model.
    msts: Estimates | None

    @classmethod
    def by_one(cls, context: PlanningContext, nodes: tuple[str, ...], model: Model | None) -> "_Grown":
        operator, present, weights = context.operator, context.placement, context.cluster.weights
        nd_ms = nd_max_with_each_ms(context.latencies.map, present, operator.driver_node, nodes)
        own = np.fromiter(map(weights.get, nodes, repeat(1.0)), dtype=float, count=len(nodes))
        weight = weight_of(present, weights) + own
        msts = predict_all(model, len(present) + 1, nd_ms, operator, weight)
        return cls(present=present, nodes=nodes, nd_max_ms=nd_ms, msts=msts)

    def beat(self, now: SizedPlacement) -> NDArray[np.bool_]:
        """Return, for each node, True if a placement with it may have a higher MST than the present one.

        An uncertain gain is enough under overload: the delay is known to cancel the gain only if even the high end is
        too low. Three readings along one path of growth hardly separate the effects of replicas and delay.
        """
        if self.msts is None or now.mst is None:
            return np.ones(len(self.nodes), dtype=bool)
        worse: NDArray[np.bool_] = self.msts.high <= now.mst.mid
        return ~worse

    def sized(self, index: int) -> SizedPlacement:
        """Return the placement with one of the nodes."""
        nd_ms = float(self.nd_max_ms[index])
        known = not math.isnan(nd_ms)
        return SizedPlacement(
            tuple(sorted((*self.present, self.nodes[index]))),
            nd_ms if known else None,
            self.msts.at(index) if known and self.msts is not None else None,
        )


_ACCEPTS = (
    "back_pressure_threshold",
    "headroom_threshold_pct",
    "recovery_target_s",
    "stabilization_window_s",
    "reading_max_age_s",
    "reading_half_life_s",
)

POLICY = PolicyInfo(
    name="gesscale-2021",
    summary="the performance model of Eq. 1-3 and the latency map",
    source="Arkian, Pierre, Tordsson, Elmroth, Gesscale, ICCCN 2021",
    build=Gesscale2021Policy,
    accepts=("law", *_ACCEPTS),
    guide="reference/policies/gesscale-2021.md",
)
UNAWARE_POLICY = PolicyInfo(
    name="mdl-nlunaware",
    summary="Eq. 2 alone, which ignores delays; random nodes",
    source=f"{POLICY.source}, section V",
    build=partial(Gesscale2021Policy, latency_aware=False),
    accepts=(*_ACCEPTS, "seed"),
    guide="reference/policies/gesscale-2021.md",
)
