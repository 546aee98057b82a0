"""Orders that have not settled yet, what they cost, and replicas that were lost since."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from gesscale.model.decision import Analysis, Plan, Reason
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order
from gesscale.plan.placement import additions, usable
from gesscale.ports import ClusterState, Knowledge


def longest_gap_s(reading: OperatorReading, since_s: float) -> float:
    """Return the longest time without a finished batch.

    Parameters
    ----------
    reading
        Its batches, which reach back before ``since_s``.
    since_s
        The instant of interest, seconds since the epoch; the gap that contains it counts whole.

    Returns
    -------
    float
        Seconds; 0 where fewer than two batches are known.
    """
    ends = [batch.ended_at_s for batch in reading.batches]
    gaps = [later - earlier for earlier, later in pairwise(ends) if later > since_s]
    return max(gaps, default=0.0)


def settled(pending: Order, reading: OperatorReading, rescale_timeout_s: float) -> Order | None:
    """Say whether an order has settled or is given up, and what it cost.

    Parameters
    ----------
    pending
        An order that has not settled.
    reading
        The operator now.
    rescale_timeout_s
        After this long the order is given up where replicas are missing.

    Returns
    -------
    Order or None
        With its end, once a warm batch ran on the ordered placement or the time is out; else None.
    """
    arrived = reading.placement == pending.placement
    warm = bool(_began_on(pending, reading.warm_batches))
    late = reading.at_s - pending.at_s >= rescale_timeout_s
    if (arrived and warm) or late:
        first_tasks_s = min(_began_on(pending, reading.batches), default=None)
        return pending.ended(
            reading.at_s,
            longest_gap_s(reading, pending.at_s),
            arrived=arrived,
            first_tasks_s=first_tasks_s,
        )
    return None


def _began_on(order: Order, batches: Iterable[Batch]) -> list[float]:
    """Return how long after an order its batches on just the ordered nodes began, seconds."""
    ordered = set(order.placement)
    after = ((batch.ended_at_s - batch.seconds - order.at_s, batch) for batch in batches)
    return [began_s for began_s, batch in after if began_s >= 0 and set(batch.nodes) == ordered]


def restore_lost(
    plans: Mapping[str, Plan],
    analyses: Mapping[str, Analysis],
    cluster: ClusterState,
    knowledge: Knowledge,
) -> Mapping[str, Plan]:
    """Bring back replicas that died since they were ordered; this takes precedence over what a policy concludes.

    A plan of reason Overridden stands as it is: somebody ordered it after that, so what it does not name stays away.

    Parameters
    ----------
    plans
        What the policy wants, by operator.
    analyses
        The newest reading tells where the replicas were of an operator without an order.
    cluster
        The live replicas and the usable nodes.
    knowledge
        Holds the orders and the latency map.

    Returns
    -------
    mapping of str to Plan
        The same, with a plan of reason ReplicaLost where a usable node has lost its replica. Where no replica is left
        and none of their nodes can be used, as many are placed on the usable nodes nearest to these.
    """
    return {
        name: _restored(plan, analyses[name], cluster.seen_by(name), knowledge)
        for name, plan in plans.items()
    }


def _restored(plan: Plan, analysis: Analysis, cluster: ClusterState, knowledge: Knowledge) -> Plan:
    name = plan.operator
    if cluster.problem or name not in cluster.placements or name in cluster.unplaced:
        return plan
    if plan.reason is Reason.OVERRIDDEN and plan.change is not None:
        return plan
    live = set(cluster.placements[name])
    there = live | set(cluster.coming.get(name, ()))
    ordered = None if name in knowledge.order_unknown else knowledge.latest(name)
    were: tuple[str, ...] = ()
    if ordered is not None:
        were = ordered.placement
    elif not there and analysis.reading is not None:
        were = analysis.reading.placement
    if there and there.issuperset(were):
        return plan
    free = usable(cluster, sorted(live)).nodes
    back = [node for node in were if node not in there and node in free]
    detail = f"the replica on {', '.join(back)} is gone; it is started again"
    if not there and not back:
        back = _nearest(were, free, cluster, knowledge)
        detail = f"no replica is left, and {', '.join(were)} cannot take one; it goes to the nearest nodes"
    if not back:
        return plan
    return Plan(
        operator=name,
        reason=Reason.REPLICA_LOST,
        detail=detail,
        before=tuple(sorted(live)),
        placement=tuple(sorted({*live, *back})),
        rejections=plan.rejections,
    )


def _nearest(
    were: Sequence[str], free: Sequence[str], cluster: ClusterState, knowledge: Knowledge
) -> list[str]:
    """Return as many free nodes as there were others, the nearest to these first; any where delays are not known."""
    near = additions(knowledge.latencies.map, cluster, were, were[0]).nodes if were else ()
    return [*near, *(node for node in free if node not in near)][: len(were)]
