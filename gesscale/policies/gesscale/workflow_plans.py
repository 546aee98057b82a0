"""Plans of the operators of a workflow: rates between operators, and contention for nodes.

A node without room for all operators goes to those whose rows would be late without it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gesscale.model.decision import Plan, Reason
from gesscale.policies.gesscale.details import CONTENDED_NODE
from gesscale.ports import ClusterState


class Flow(NamedTuple):
    """Present output rate of an operator and the rate after its plan, rows/s."""

    now: float
    planned: float


def growth_factor(feeding: Sequence[Flow]) -> float:
    """Return the factor by which the output of the upstream operators grows, at least 1."""
    now = sum(flow.now for flow in feeding)
    return max(1.0, sum(flow.planned for flow in feeding) / now) if now > 0 else 1.0


def resolve_node_contention(
    cluster: ClusterState, plan_all: Callable[[ClusterState], Mapping[str, Plan]]
) -> Mapping[str, Plan]:
    """Plan the operators of a workflow so that no node gets more replicas than it has room for.

    If too many operators choose a node, the workflow is planned again without each of them on this node, and the plans
    whose rows are least late, and then those with the fewest replicas, are kept. This repeats until all choices fit.
    """
    plans = plan_all(cluster)
    while (contention := _contended_node(plans, cluster.room)) is not None:
        node, operators = contention
        clusters = [_without_node(cluster, node, name) for name in operators]
        tried = [(each, plan_all(each)) for each in clusters]
        cluster, plans = min(tried, key=lambda one: _lateness_and_replicas(one[1]))
    return plans


def _contended_node(plans: Mapping[str, Plan], room: Mapping[str, int]) -> tuple[str, list[str]] | None:
    """Return the first node by name that too many operators choose, and these operators; None if all fit."""
    operators: dict[str, list[str]] = defaultdict(list)
    for name, plan in plans.items():
        for node in room.keys() & set(plan.placement) - set(plan.before):
            operators[node].append(name)
    return next(((node, names) for node, names in sorted(operators.items()) if len(names) > room[node]), None)


def _without_node(cluster: ClusterState, node: str, operator: str) -> ClusterState:
    closed = replace(cluster.nodes[node], problem=CONTENDED_NODE, reason=Reason.NO_ROOM)
    ineligible = {**cluster.ineligible.get(operator, {}), node: closed}
    return replace(cluster, ineligible={**cluster.ineligible, operator: ineligible})


def _lateness_and_replicas(plans: Mapping[str, Plan]) -> tuple[float, int]:
    chosen = [plan.candidate_of(plan.placement) for plan in plans.values()]
    late_s = sum(each.late_s for each in chosen if each is not None)
    return late_s, sum(len(plan.placement) for plan in plans.values())
