"""Restarts replicas that were lost since they were ordered, or replaces them on other nodes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gesscale.model.decision import Analysis, Plan, Reason
from gesscale.plan.directives import Directive
from gesscale.plan.node_ranking import ineligible_nodes, nd_max_ms, resized
from gesscale.ports import ClusterState, Knowledge

#: Reasons of changes that are newer than the order of a lost replica.
_NEWER = frozenset({Reason.OVERRIDDEN, Reason.OVERRIDE_UNMET, Reason.AT_MAX_REPLICAS, Reason.AT_MIN_REPLICAS})
#: Maximum number of nodes in a sentence.
_MAX_NAMED = 3


def restore_lost(
    plans: Mapping[str, Plan],
    analyses: Mapping[str, Analysis],
    directives: Mapping[str, Directive],
    cluster: ClusterState,
    knowledge: Knowledge,
) -> Mapping[str, Plan]:
    """Restore replicas that are ordered and neither run nor start; this takes precedence over the policy's plan.

    A change by hand or by a limit is newer than the lost replica, so it stays unchanged.
    """
    return {
        name: _restored(plan, analyses[name], directives.get(name), cluster.for_operator(name), knowledge)
        for name, plan in plans.items()
    }


def _restored(
    plan: Plan, analysis: Analysis, directive: Directive | None, cluster: ClusterState, knowledge: Knowledge
) -> Plan:
    name = plan.operator
    if cluster.problem or name not in cluster.placements or name in cluster.unplaced:
        return plan
    if plan.reason in _NEWER and plan.change is not None:
        return plan
    live = set(cluster.placements[name])
    present = live.union(cluster.starting.get(name, ())).difference(cluster.left.get(name, ()))
    expected = _expected(analysis, present, knowledge)
    lost = sorted(set(expected) - present, key=lambda node: (node not in cluster.usable, node))
    kept = sorted(present.intersection(expected) or live)
    most = len(expected) if directive is None else directive.operator.max_replicas
    lost = lost[: max(0, most - len(kept))]
    if not lost or _is_refused(lost, cluster):
        return plan
    restarted = [node for node in lost if node in cluster.usable]
    homeless = [node for node in lost if node not in restarted]
    driver_node = expected[0] if directive is None else directive.operator.driver_node
    held = (*kept, *restarted)
    usable = _without_far(cluster, plan)
    target = resized(len(held) + len(homeless), held, driver_node, usable, knowledge.latencies.map)
    replacing = [node for node in target if node not in held]
    waiting = homeless[len(replacing) :]
    if not restarted and not replacing:
        if plan.change is not None or analysis.reading is None:
            return plan
        detail, closed = _not_replaced(waiting, live, cluster, name), ineligible_nodes(cluster, live)
        return replace(plan, reason=Reason.NO_CANDIDATE_NODE, detail=detail, rejections=closed)
    parts = [f"the replica on {', '.join(restarted)} was lost and is restarted"] if restarted else []
    if replacing:
        gone = _with_causes(homeless[: len(replacing)], cluster, name)
        parts.append(f"the replica on {gone} was lost and is replaced on {', '.join(replacing)}")
    if waiting:
        parts.append(_not_replaced(waiting, live, cluster, name))
    placement = tuple(sorted({*target, *waiting}))  # one that no node can take starts when its node returns
    return Plan(
        operator=name,
        reason=Reason.REPLICA_LOST,
        detail="; ".join(parts),
        before=tuple(sorted(live)),
        placement=placement,
        nd_max_ms=nd_max_ms(knowledge.latencies.map, placement, driver_node),
        rejections=plan.rejections,
    )


def _expected(analysis: Analysis, present: Collection[str], knowledge: Knowledge) -> tuple[str, ...]:
    """Return the nodes that should hold replicas: the ordered ones, or the last known if there is no order."""
    ordered = None if analysis.operator in knowledge.order_unknown else knowledge.latest(analysis.operator)
    if ordered is not None:
        return ordered.placement
    return () if present or analysis.reading is None else analysis.reading.placement


def _is_refused(lost: Sequence[str], cluster: ClusterState) -> bool:
    """Return whether the API server refuses the executors; the nodes are not at fault."""
    return any(node in cluster.unusable.get(Reason.POD_REFUSED, ()) for node in lost)


def _without_far(cluster: ClusterState, plan: Plan) -> ClusterState:
    """Close the nodes that the policy has rejected because a replica there lowers the capacity."""
    far = {each.node for each in plan.rejections if each.reason is Reason.DELAY_EATS_GAIN}
    return cluster.excluding(far)


def _not_replaced(waiting: Sequence[str], live: Collection[str], cluster: ClusterState, operator: str) -> str:
    others = [name for name in cluster.nodes if name not in {*waiting, *live, *cluster.usable}]
    blocked = f" ({_with_causes(others, cluster, operator)})" if others else ""
    return f"the replica on {_with_causes(waiting, cluster, operator)} was lost; no other node can take it{blocked}"


def _with_causes(nodes: Sequence[str], cluster: ClusterState, operator: str) -> str:
    left = cluster.left.get(operator, {})
    listed = [
        f"{node} ({left.get(node) or (cluster.nodes[node].problem if node in cluster.nodes else 'the node is gone')})"
        for node in nodes[:_MAX_NAMED]
    ]
    return ", ".join(listed) + (f" and {len(nodes) - _MAX_NAMED} more" if len(nodes) > _MAX_NAMED else "")
