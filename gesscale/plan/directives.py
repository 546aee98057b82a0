"""Directives that override the policy: advice only, pause, a fixed number or placement, schedules that recur."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gesscale.errors import InputError
from gesscale.formatting import format_duration
from gesscale.model.decision import Plan, Reason
from gesscale.model.schedule import active_schedules
from gesscale.model.workflow import Operator
from gesscale.plan.node_ranking import resized, unchanged_plan, usable_nodes
from gesscale.ports import ClusterState, Knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """No change until an instant."""

    #: Seconds since the epoch; None for no end.
    until_s: float | None = None
    #: Reason, may be empty.
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Manual number of replicas or nodes, until an instant.

    Raises
    ------
    InputError
        If neither or both are given, a node is repeated, or there are no replicas.
    """

    #: Seconds since the epoch; None for no end.
    until_s: float | None
    #: Number of replicas, on nodes that the latency map selects; None if nodes are given.
    replicas: int | None = None
    #: Nodes; empty if a number is given.
    nodes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        counted = self.replicas is not None
        if counted == bool(self.nodes) or len(set(self.nodes)) != len(self.nodes) or self.replicas == 0:
            raise InputError("override-invalid", replicas=self.replicas, nodes=self.nodes)

    def holds_at(self, now_s: float) -> bool:
        """Return whether it has not ended."""
        return self.until_s is None or now_s < self.until_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """Directive for one operator; it takes precedence over the policy.

    In order of precedence: a pause, a freeze by a schedule, an override, a number of replicas, limits by a schedule.
    """

    operator: Operator
    #: False for advice only.
    acts: bool = True
    pause: Pause | None = None
    override: Override | None = None
    #: Number of replicas that another scaler sets; None if the policy decides.
    replicas: int | None = None


def apply_directives(
    plans: Mapping[str, Plan],
    directives: Mapping[str, Directive],
    cluster: ClusterState,
    knowledge: Knowledge,
    now_s: float,
) -> Mapping[str, Plan]:
    """Apply directives to plans."""
    return {
        name: _directed(plan, directives[name], cluster.for_operator(name), knowledge, now_s)
        if name in directives
        else plan
        for name, plan in plans.items()
    }


def _directed(plan: Plan, directive: Directive, cluster: ClusterState, knowledge: Knowledge, now_s: float) -> Plan:
    pause, override, operator = directive.pause, directive.override, directive.operator
    if pause is not None and (pause.until_s is None or now_s < pause.until_s):
        return _paused(plan, pause, cluster, now_s)
    active = active_schedules(
        operator.schedules, now_s, min_replicas=operator.min_replicas, max_replicas=operator.max_replicas
    )
    if active.frozen_until_s is not None:
        return _paused(plan, Pause(until_s=active.frozen_until_s, why="schedule"), cluster, now_s)
    if override is not None and override.holds_at(now_s):
        return _overridden(plan, operator, override, cluster, knowledge, now_s)
    limited = replace(operator, min_replicas=active.min_replicas, max_replicas=active.max_replicas)
    if directive.replicas is not None:
        number = Override(until_s=None, replicas=max(1, directive.replicas))
        return _overridden(plan, limited, number, cluster, knowledge, now_s)
    return _within_schedules(plan, limited, cluster, knowledge)


def _within_schedules(plan: Plan, limited: Operator, cluster: ClusterState, knowledge: Knowledge) -> Plan:
    """Bring the planned number of replicas into the limits of the active schedules."""
    wanted = len(plan.placement)
    allowed = min(max(wanted, limited.min_replicas), limited.max_replicas)
    if wanted in {allowed, 0} or cluster.problem:
        return plan
    live = _live(plan, cluster)
    base = live if allowed <= len(live) else plan.placement
    target = resized(allowed, base, limited.driver_node, cluster, knowledge.latencies.map)
    detail = (
        f"a schedule allows {limited.min_replicas} to {limited.max_replicas} replicas; planned: {plan.reason.value}"
    )
    pending = knowledge.pending(limited.name)
    if target == live or (pending is not None and pending.placement == target):
        return unchanged_plan(plan, Reason.SCHEDULE_LIMIT, detail, live)
    return replace(
        plan, reason=Reason.SCHEDULE_LIMIT, detail=detail, before=live, placement=target, mst=None, nd_max_ms=None
    )


def _paused(plan: Plan, pause: Pause, cluster: ClusterState, now_s: float) -> Plan:
    until = "until it is resumed" if pause.until_s is None else f"for {format_duration(pause.until_s - now_s)} more"
    detail = f"paused {until}" + (f" ({pause.why})" if pause.why else "")
    if plan.change is not None:
        detail += f"; planned: {plan.reason.value}, {plan.detail}"
    return unchanged_plan(plan, Reason.PAUSED, detail, _live(plan, cluster))


def _overridden(
    plan: Plan, operator: Operator, override: Override, cluster: ClusterState, knowledge: Knowledge, now_s: float
) -> Plan:
    live = _live(plan, cluster)
    proposal = f"{', '.join(override.nodes)}" if override.nodes else f"{override.replicas} replicas"
    lasts = "" if override.until_s is None else f", for {format_duration(override.until_s - now_s)} more"
    detail = f"{proposal} by {'spec.replicas' if override.until_s is None else 'hand'}{lasts}"
    if cluster.problem:
        return unchanged_plan(plan, Reason.CLUSTER_UNAVAILABLE, cluster.problem, live)
    target, refusals = _named(override.nodes, live, cluster) if override.nodes else (live, [])
    wanted = len(target) if override.nodes else override.replicas or 1
    allowed = min(max(wanted, operator.min_replicas), operator.max_replicas)
    if allowed != wanted:
        refusals.append(f"{operator.min_replicas} to {operator.max_replicas} replicas are allowed")
    if len(target) != allowed:
        target = resized(allowed, target, operator.driver_node, cluster, knowledge.latencies.map)
    if len(target) < allowed:
        refusals.append(f"no usable node for {allowed - len(target)} of them")
    reason = Reason.OVERRIDE_UNMET if refusals else Reason.OVERRIDDEN
    detail = "; ".join((detail, *refusals))
    pending = knowledge.pending(operator.name)
    if target == live or (pending is not None and pending.placement == target):
        return unchanged_plan(plan, reason, detail, live)
    return Plan(
        operator=plan.operator, reason=reason, detail=detail, before=live, placement=target, rejections=plan.rejections
    )


def _named(nodes: tuple[str, ...], live: tuple[str, ...], cluster: ClusterState) -> tuple[tuple[str, ...], list[str]]:
    """Return the feasible placement and why the rest is refused; without a feasible node, the present placement."""
    free = usable_nodes(cluster, live).nodes
    target = tuple(sorted(node for node in nodes if node in live or node in free))
    return target or live, [_refusal(node, cluster) for node in nodes if node not in target]


def _refusal(node: str, cluster: ClusterState) -> str:
    known = cluster.nodes.get(node)
    return f"{node}: {known.problem}" if known is not None else f"{node}: the cluster has no such node"


def _live(plan: Plan, cluster: ClusterState) -> tuple[str, ...]:
    """Return the present placement of the cluster, or else of the plan."""
    return tuple(sorted(cluster.placements.get(plan.operator, plan.before)))
