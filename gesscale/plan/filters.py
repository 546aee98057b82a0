"""Safeguards of the plans of every policy: limits, stale metrics, first placements."""

from collections.abc import Mapping
from dataclasses import replace

from gesscale.model.decision import Analysis, Plan, Reason
from gesscale.model.workflow import Operator
from gesscale.plan.directives import Directive
from gesscale.plan.node_ranking import nd_max_ms, resized, unchanged_plan, usable_nodes
from gesscale.ports import ClusterState, Knowledge
from latency_map import LatencyMap, NoChoiceError, min_nd_max_subset


def within_limits(
    plans: Mapping[str, Plan], operators: Mapping[str, Operator], cluster: ClusterState, knowledge: Knowledge
) -> Mapping[str, Plan]:
    """Bring operators back within their replica limits, at once and without metrics: the limits may have changed."""
    return {
        name: _limited(plan, operators[name], cluster.for_operator(name), knowledge) if name in operators else plan
        for name, plan in plans.items()
    }


def _limited(plan: Plan, operator: Operator, cluster: ClusterState, knowledge: Knowledge) -> Plan:
    live = tuple(sorted(cluster.placements.get(operator.name, ())))
    if not live or cluster.problem or operator.name in cluster.unplaced:
        return plan
    pending = knowledge.pending(operator.name)
    present = {*live, *cluster.starting.get(operator.name, ())} if pending is None else {*pending.placement}
    wanted = {*plan.placement} if plan.change else present
    least, most = operator.min_replicas, operator.max_replicas
    if least <= len(present) <= most and least <= len(wanted) <= most:
        return plan
    target = plan.placement
    if not least <= len(wanted) <= most:
        kept = wanted.intersection(live)  # a replica that has not started is given up first
        kept = kept if len(kept) >= most else wanted
        count = max(least, min(len(wanted), most))
        target = resized(count, tuple(sorted(kept)), operator.driver_node, cluster, knowledge.latencies.map)
    if target == live:
        return plan
    more = min(len(present), len(wanted)) < least
    return replace(
        plan,
        reason=Reason.AT_MIN_REPLICAS if more else Reason.AT_MAX_REPLICAS,
        detail=f"min_replicas is {least}" if more else f"max_replicas is {most}",
        before=live,
        placement=target,
        mst=plan.mst if target == plan.placement else None,
        nd_max_ms=nd_max_ms(knowledge.latencies.map, target, operator.driver_node),
    )


def block_removal_on_stale_metrics(plans: Mapping[str, Plan], analyses: Mapping[str, Analysis]) -> Mapping[str, Plan]:
    """Remove no replica while the newest metrics of its operator are unusable; adding is allowed."""
    return {name: _without_removal(plan, analyses[name]) for name, plan in plans.items()}


def _without_removal(plan: Plan, analysis: Analysis) -> Plan:
    problem = analysis.reading.problem if analysis.reading is not None else ""
    if not problem or plan.change is None or not plan.change.remove:
        return plan
    return unchanged_plan(plan, Reason.METRICS_STALE, f"{plan.detail}; no replica is removed: {problem}")


def place_first(
    plans: Mapping[str, Plan], directives: Mapping[str, Directive], cluster: ClusterState, knowledge: Knowledge
) -> Mapping[str, Plan]:
    """Choose the first nodes of operators that have no replicas yet."""
    return {
        name: _first(plan, directives[name], cluster.for_operator(name), knowledge.latencies.map)
        if name in cluster.unplaced and name in directives
        else plan
        for name, plan in plans.items()
    }


def _first(plan: Plan, directive: Directive, cluster: ClusterState, delays: LatencyMap | None) -> Plan:
    operator = directive.operator
    free = usable_nodes(cluster, ())
    chosen = _least_apart(delays, free.nodes, operator.driver_node, operator.min_replicas)
    if not chosen:
        return plan
    apart = nd_max_ms(delays, chosen, operator.driver_node)
    return Plan(
        operator=plan.operator,
        reason=Reason.FIRST_PLACEMENT,
        detail=f"lowest NDmax with {operator.driver_node}, the driver's node",
        before=(),
        placement=chosen,
        nd_max_ms=apart,
        rejections=free.rejections,
    )


def _least_apart(delays: LatencyMap | None, nodes: tuple[str, ...], driver_node: str, replicas: int) -> tuple[str, ...]:
    """Return the nodes of lowest NDmax with the driver's node; empty if the map lacks delays."""
    if delays is None or driver_node not in delays:
        return ()
    known = [node for node in nodes if node in delays]
    driver_serves = driver_node in known
    try:
        choice = min_nd_max_subset(delays, replicas + (not driver_serves), keep={driver_node}, candidates=known)
    except NoChoiceError:
        return ()
    return tuple(sorted(node for node in choice.nodes if driver_serves or node != driver_node))
