"""The new status of a StreamAutoscaler after a step. Figures of any value are accepted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gesscale.kubernetes.api.events import EventDraft
from gesscale.kubernetes.resource.autoscaler import AUTOSCALER_LABEL
from gesscale.kubernetes.resource.conditions import NodePool, conditions_of, findings_of, findings_of_fault
from gesscale.kubernetes.resource.memory import MemoryStatus
from gesscale.kubernetes.resource.order import FOUND_LATER, OrderStatus, past_orders
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import (
    DecisionStatus,
    DriverStatus,
    EstimateStatus,
    LatencyMapStatus,
    LoadStatus,
    ModelStatus,
    NodePoolStatus,
    RecommendationStatus,
    RejectedStatus,
    RowAgeStatus,
    StreamAutoscalerStatus,
)
from gesscale.kubernetes.resource.translate import ResourceFault
from gesscale.model.decision import Decision, MapStatus, OutcomeStatus, Reason, Verdict
from gesscale.model.order import Order
from gesscale.plan.node_ranking import usable_nodes
from gesscale.plan.replica_kinds import ReplicaKinds
from gesscale.ports import ClusterState, Knowledge
from gesscale.service.metrics import desired_placement
from gesscale.wire import group_of
from perfmodel import Estimate

_OUTSIDE = {Reason.NOT_IN_POOL, Reason.WRONG_ARCHITECTURE, Reason.EXCLUDED}
_LASTING = ("order", "memory", "model", "lease")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedStep:
    """Result of one step for one operator."""

    #: The spec of the step, and its generation (spec, generation).
    spec: StreamAutoscalerSpec
    generation: int
    #: Decision of the step.
    decision: Decision
    #: Knowledge after the step.
    known: Knowledge
    #: Its replicas.
    replicas: ReplicaKinds = field(default_factory=ReplicaKinds)
    #: What happened to them since the step before.
    incidents: tuple[EventDraft, ...] = ()
    #: The driver; None if not found.
    driver: DriverStatus | None = None
    #: See `node_pool_of`; None if the cluster could not be read.
    node_pool: NodePoolStatus | None = None
    #: Reason why no node is in the pool; empty if one is.
    empty_pool: str = ""


def new_status(old: Mapping[str, Any], step: ObservedStep, now_s: float) -> dict[str, Any]:
    """Return the status after a step."""
    decision, known = step.decision, step.known
    analysis, name = decision.analysis, decision.operator
    desired, replicas = desired_placement(decision, known), step.replicas
    ordered, running, working = (
        None if nodes is None else len(nodes) for nodes in (replicas.ordered, replicas.running, replicas.working)
    )
    pool = NodePool(None if step.node_pool is None else step.node_pool.nodes, step.empty_pool)
    status = StreamAutoscalerStatus(
        observed_generation=step.generation,
        replicas=running,
        selector=f"{AUTOSCALER_LABEL}={name},spark-role=executor",
        ordered_replicas=ordered,
        working_replicas=working,
        desired_replicas=len(desired) or None,
        placement=tuple(sorted(replicas.running or ())),
        driver=step.driver,
        node_pool=step.node_pool,
        mst=_estimate(analysis.mst),
        load=None if analysis.reading is None else LoadStatus.model_validate(analysis.reading, from_attributes=True),
        row_age=None
        if decision.row_age is None
        else RowAgeStatus.model_validate(decision.row_age, from_attributes=True),
        nd_max_ms=analysis.nd_max_ms,
        model=None if analysis.model is None else ModelStatus.model_validate(analysis.model, from_attributes=True),
        latency_map=_latency_map(decision.latency_map),
        last_decision=_decision(decision),
        recommendation=_recommendation(decision, desired),
        history=tuple(_with_end(order, known.orders.get(name, ())) for order in past_orders(old)),
        memory=MemoryStatus.of(known, name),
        conditions=conditions_of(
            findings_of(decision, step.spec, now_s, pool, replicas.missing),
            old,
            generation=step.generation,
            now_s=now_s,
        ),
    ).document()
    if running is None:
        del status["placement"]
    kept = {
        "order": _order(old.get("order"), known.latest(name)),
        "model": status.get("model") or old.get("model"),
        "lease": old.get("lease"),
    }
    return status | {key: value for key, value in kept.items() if value is not None}


def _order(current: Any, known: Order | None) -> Any:
    """Return the current order with later observations."""
    if isinstance(known, OrderStatus) and isinstance(current, Mapping) and current.get("id") == known.id:
        return {**current, **known.found_later()}
    return current


def _with_end(past: OrderStatus, known: Sequence[Order]) -> OrderStatus:
    """Return a former order with its end, which may have been found in the step that replaced it."""
    same = next((each for each in known if isinstance(each, OrderStatus) and each.id == past.id), None)
    return past if same is None else past.model_copy(update={field: getattr(same, field) for field in FOUND_LATER})


def settled_order(old: Mapping[str, Any], known: Knowledge, operator: str) -> OrderStatus | None:
    """Return the order of the previous status if it has ended since."""
    latest, current = known.latest(operator), group_of(old, "order")
    if not isinstance(latest, OrderStatus) or latest.is_pending or current.get("id") != latest.id:
        return None
    return latest if "downtimeSeconds" not in current else None


def fault_status(old: Mapping[str, Any], fault: ResourceFault, generation: int, now_s: float) -> dict[str, Any]:
    """Return the status of an invalid resource, which keeps its lasting parts and drops the figures of a step."""
    decided = DecisionStatus(
        at_s=float(now_s),
        verdict=Verdict.UNKNOWN.value,
        reason=fault.reason.value,
        message=fault.message,
        outcome=OutcomeStatus.NOTHING_TO_DO.value,
    )
    conditions = conditions_of(findings_of_fault(fault), old, generation=generation, now_s=now_s)
    kept = {key: old[key] for key in _LASTING if key in old}
    return kept | {
        "history": [order.document() for order in past_orders(old)],
        "observedGeneration": generation,
        "lastDecision": decided.document(),
        "conditions": [condition.document() for condition in conditions],
    }


def node_pool_of(cluster: ClusterState, operator: str) -> NodePoolStatus | None:
    """Return how many nodes are eligible for one more replica of an operator, and why the others are not."""
    if cluster.problem:
        return None
    seen = cluster.for_operator(operator)
    ranked = usable_nodes(seen, cluster.placements.get(operator, ()))
    by_reason: dict[str, list[str]] = {}
    for rejection in ranked.rejections:
        by_reason.setdefault(rejection.reason.value, []).append(f"{rejection.node}: {rejection.detail}")
    rejected = tuple(
        RejectedStatus(reason=reason, count=len(details), message=details[0])
        for reason, details in sorted(by_reason.items())
    )
    outside = sum(len(names) for reason, names in seen.unusable.items() if reason in _OUTSIDE)
    return NodePoolStatus(nodes=len(seen.nodes) - outside, candidates=len(ranked.nodes), rejected=rejected)


def _estimate(estimate: Estimate | None) -> EstimateStatus | None:
    if estimate is None or not math.isfinite(estimate.high):
        return None
    return EstimateStatus.model_validate(estimate, from_attributes=True)


def _latency_map(map_status: MapStatus) -> LatencyMapStatus:
    return LatencyMapStatus(
        age_seconds=map_status.age_s,
        stale=bool(map_status.stale),
        message="; ".join(filter(None, (map_status.stale, map_status.problem))),
    )


def _decision(decision: Decision) -> DecisionStatus:
    detail = decision.outcome.detail if decision.outcome.status is OutcomeStatus.FAILED else ""
    return DecisionStatus(
        at_s=float(decision.at_s),
        verdict=decision.analysis.verdict.value,
        reason=decision.plan.reason.value,
        message="; ".join(filter(None, (decision.sentence, detail))),
        outcome=decision.outcome.status.value,
    )


def _recommendation(decision: Decision, desired: tuple[str, ...]) -> RecommendationStatus | None:
    if not desired:
        return None
    plan = decision.plan
    sized = plan.placement == desired
    return RecommendationStatus(
        replicas=len(desired),
        placement=desired,
        reason=plan.reason.value,
        mst=_estimate(plan.mst) if sized else None,
        nd_max_ms=plan.nd_max_ms if sized else None,
    )
