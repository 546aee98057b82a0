"""Nodes that cannot take a replica of every operator that wants one go where the bill falls most."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from gesscale.model.decision import Plan, Reason
from gesscale.ports import ClusterState


def resolve_node_contention(
    cluster: ClusterState, plan_all: Callable[[ClusterState], Mapping[str, Plan]]
) -> Mapping[str, Plan]:
    """Plan the operators of a workflow so that no node is asked for more replicas than it has room for.

    Where too many operators want a node, the workflow is planned once without each of them there, and the plans with
    the least bill go on. So operators lose one node after the other, until all that is asked for fits.
    """
    plans = plan_all(cluster)
    while (contest := _contended_node(plans, cluster.room)) is not None:
        node, wanting = contest
        without = [_without_node(cluster, node, name) for name in wanting]
        tried = [(each, plan_all(each)) for each in without]
        cluster, plans = min(tried, key=lambda one: _bill(one[1]))
    return plans


def _contended_node(plans: Mapping[str, Plan], room: Mapping[str, int]) -> tuple[str, list[str]] | None:
    """Return the first node by name that too many operators want, and these; None where all fits."""
    wanting: dict[str, list[str]] = defaultdict(list)
    for name, plan in plans.items():
        for node in room.keys() & set(plan.placement) - set(plan.before):
            wanting[node].append(name)
    return next(((node, names) for node, names in sorted(wanting.items()) if len(names) > room[node]), None)


def _without_node(cluster: ClusterState, node: str, operator: str) -> ClusterState:
    problem = "another operator takes its last room, where the bill falls more"
    closed = replace(cluster.nodes[node], problem=problem, reason=Reason.NO_ROOM)
    ineligible = {**cluster.ineligible.get(operator, {}), node: closed}
    return replace(cluster, ineligible={**cluster.ineligible, operator: ineligible})


def _bill(plans: Mapping[str, Plan]) -> float:
    return sum(min((bill.total for bill in plan.costs), default=0.0) for plan in plans.values())
