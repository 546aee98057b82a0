"""Where an operator's first replicas go: its driver runs, and no replica is placed yet."""

from collections.abc import Mapping

from gesscale.model.decision import Plan, Reason
from gesscale.plan.directives import Directive
from gesscale.plan.placement import nd_max_ms, usable
from gesscale.ports import ClusterState, Knowledge
from latency_map import LatencyMap, NoChoiceError, least_nd_max_subset


def place_first(
    plans: Mapping[str, Plan],
    directives: Mapping[str, Directive],
    cluster: ClusterState,
    knowledge: Knowledge,
) -> Mapping[str, Plan]:
    """Choose the first nodes of operators that have none.

    Parameters
    ----------
    plans
        What is wanted, by operator.
    directives
        By operator, with its limits and the node of its driver.
    cluster
        ``unplaced`` names the operators.
    knowledge
        With the latency map.

    Returns
    -------
    mapping of str to Plan
        The same, with a plan of reason FirstPlacement for each such operator: ``min_replicas`` nodes of least NDmax
        with the driver's node (paper IV-E chooses the next one; the first ones are chosen as well).
    """
    return {
        name: _first(plan, directives[name], cluster.seen_by(name), knowledge.latencies.map)
        if name in cluster.unplaced and name in directives
        else plan
        for name, plan in plans.items()
    }


def _first(plan: Plan, directive: Directive, cluster: ClusterState, delays: LatencyMap | None) -> Plan:
    operator = directive.operator
    free = usable(cluster, ())
    chosen = _least_apart(delays, free.nodes, operator.driver_node, operator.min_replicas)
    if not chosen:
        return plan
    apart = nd_max_ms(delays, chosen, operator.driver_node)
    return Plan(
        operator=plan.operator,
        reason=Reason.FIRST_PLACEMENT,
        detail=f"of least NDmax with {operator.driver_node}, the driver's node",
        before=(),
        placement=chosen,
        nd_max_ms=apart,
        rejections=free.rejections,
    )


def _least_apart(
    delays: LatencyMap | None, nodes: tuple[str, ...], driver_node: str, replicas: int
) -> tuple[str, ...]:
    """Return so many nodes of least NDmax with the driver's node; none where the map does not know."""
    if delays is None or driver_node not in delays:
        return ()
    known = [node for node in nodes if node in delays]
    driver_serves = driver_node in known
    try:
        choice = least_nd_max_subset(
            delays, replicas + (not driver_serves), keep={driver_node}, candidates=known
        )
    except NoChoiceError:
        return ()
    return tuple(sorted(node for node in choice.nodes if driver_serves or node != driver_node))
