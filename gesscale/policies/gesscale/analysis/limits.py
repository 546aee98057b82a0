"""Limits of changes: reasons that block or bound them, and the reason of a change."""

from collections.abc import Sequence
from typing import NamedTuple

from gesscale.model.decision import Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading
from gesscale.model.order import Order
from gesscale.model.workflow import Operator
from gesscale.plan.node_ranking import rejections_for, removal_steps, unknown_delays
from gesscale.policies.details import NO_OTHER_NODE, at_maximum, at_useful, reconfiguring
from gesscale.policies.gesscale import details
from gesscale.policies.gesscale.analysis.demand import LoadHistory
from gesscale.policies.gesscale.analysis.growth import GrowthEnd
from gesscale.policies.gesscale.analysis.idleness import IdleMemory, idle_replicas
from gesscale.policies.gesscale.analysis.sizing import Size, TooFew
from gesscale.ports import ClusterState, Knowledge

#: Time during which no replica is added beyond those that get work.
_LIMIT_KEPT_S = 3600.0
#: Time during which a number of replicas that was too few is not tried again for such a load.
_TOO_FEW_KEPT_S = 3600.0

#: Batches whose speeds are compared.
_COMPARED_BATCHES = 3
#: Time in which a trial of one more replica is measured.
_TRIAL_S = 600.0
#: A limit ends early if the load, or the speed of the batches, has grown by this share since.
_CHANGED_SHARE = 0.25
#: Reasons of orders that limit the replicas.
_LIMITING = frozenset({Reason.IDLE_REPLICA, Reason.SINK_LIMIT, Reason.HOT_PARTITION})

_Nodes = tuple[str, ...]


class WorkLimit(NamedTuple):
    """The number of replicas beyond which a replica gets no work or brings nothing, and why."""

    replicas: int
    reason: Reason
    detail: str


def limiting_order(orders: Sequence[Order], at_s: float) -> Order | None:
    """Return the newest order that gave replicas back, if none has exceeded it since but a trial of one more."""
    most = 0
    for order in orders:
        if order.reason in _LIMITING:
            trial = at_s - orders[0].at_s < _TRIAL_S
            return order if most <= len(order.placement) + trial else None
        most = max(most, len(order.placement))
    return None


def work_limit(
    operator: Operator,
    reading: OperatorReading,
    orders: Sequence[Order],
    load: LoadHistory,
    bucket_s: float,
    idle: IdleMemory | None = None,
) -> WorkLimit | None:
    """Return the limit by partitions and tasks, or by what was given back; None if unknown.

    After an hour one replica is tried again. If the load, the partitions or the speed of the batches have changed, the
    limit ends; that of replicas without work also with another placement or other usable nodes.
    """
    found = []
    if reading.useful_replicas is not None:
        found.append(WorkLimit(reading.useful_replicas, Reason.PARTITION_LIMIT, at_useful(reading)))
    order = limiting_order(orders, reading.at_s)
    if order is not None and not _is_over(order, orders, idle) and not _has_changed(order, reading, load, bucket_s):
        replicas = len(order.placement) + (not 0 <= reading.at_s - order.at_s < _LIMIT_KEPT_S)
        if order.reason == Reason.IDLE_REPLICA:
            text = details.limited_by_idleness(replicas, order.at_s + _LIMIT_KEPT_S)
            found.append(WorkLimit(replicas, Reason.IDLE_LIMIT, text))
        else:
            found.append(WorkLimit(replicas, Reason(order.reason), details.limited_by_work(replicas)))
    if not found:
        return None
    least = min(found, key=lambda each: each.replicas)  # the partitions, if what was given back gives the same limit
    return least._replace(replicas=max(least.replicas, operator.min_replicas))


def _is_over(order: Order, orders: Sequence[Order], idle: IdleMemory | None) -> bool:
    """Return whether idleness was seen in another placement, or with other nodes; a trial of one more is the same."""
    if order.reason != Reason.IDLE_REPLICA:
        return False
    newest = orders[0]
    moved = newest is not order and not set(newest.placement) > set(order.placement)
    return moved or (idle is not None and idle.order_at_s == order.at_s and idle.ended)


def _has_changed(order: Order, reading: OperatorReading, load: LoadHistory, bucket_s: float) -> bool:
    then = load.rate_before(order.at_s, bucket_s)
    if then is not None and load.rates(bucket_s)[-1] > (1 + _CHANGED_SHARE) * then:
        return True
    since = [each for each in reading.batches if each.began_s >= order.at_s]
    if len({each.source_partitions for each in since if each.source_partitions is not None}) > 1:
        return True
    late = [each for each in since if set(each.nodes) == set(reading.placement) and each.is_late]
    speeds = [each.rows / each.seconds for each in late]
    few = _COMPARED_BATCHES
    return len(speeds) > 2 * few and sum(speeds[-few:]) > (1 + _CHANGED_SHARE) * sum(speeds[1 : few + 1])


def without_workless(
    present: _Nodes, operator: Operator, reading: OperatorReading, knowledge: Knowledge
) -> tuple[_Nodes, str] | None:
    """Return the placement without the replicas that get no work, and why; None if there are none, or it is unknown."""
    idle = idle_replicas(present, reading)
    removed = idle[: max(0, len(present) - operator.min_replicas)]
    if removed:
        return tuple(node for node in present if node not in removed), details.idle(idle)
    if reading.useful_replicas is None:
        return None
    limit = max(reading.useful_replicas, operator.min_replicas)
    surplus = details.surplus(reading.replicas, at_useful(reading))
    placement = shrunk(present, limit, operator, knowledge)
    return None if placement is None else (placement, surplus)


def shrunk(present: _Nodes, replicas: int, operator: Operator, knowledge: Knowledge) -> _Nodes | None:
    """Return the placement without the farthest replicas; None if it has no more, or the map does not tell."""
    if knowledge.latencies.map_status.stale:
        return None
    steps = removal_steps(knowledge.latencies.map, present, operator.driver_node)
    return next((placement for placement in steps if len(placement) == replicas), None)


def too_few_recently(orders: Sequence[Order], load: LoadHistory, at_s: float, bucket_s: float) -> tuple[TooFew, ...]:
    """Return the numbers of replicas to which others were added within the last hour, each with the load then."""
    found = []
    for order in orders:
        if order.reason != Reason.OVERLOADED or order.added <= 0 or not 0 <= at_s - order.at_s < _TOO_FEW_KEPT_S:
            continue
        rate = load.rate_before(order.at_s, bucket_s)
        if rate is not None and order.before is not None:
            found.append(TooFew(order.before, rate))
    return tuple(found)


def limit_reason(
    operator: Operator, replicas: int, limit: WorkLimit | None, end: GrowthEnd | None
) -> tuple[Reason, str]:
    """Return the reason why no replica is added though more are needed."""
    if limit is not None and replicas >= limit.replicas:
        return limit.reason, limit.detail
    if replicas >= operator.max_replicas:
        return Reason.AT_MAX_REPLICAS, at_maximum(operator.max_replicas)
    if end is not None:
        one = end.nearest
        text = details.one_more(one.node, one.delay_ms, end.replicas + 1, one.rows_per_s)
        return Reason.DELAY_EATS_GAIN if end.by_delay else Reason.NO_CANDIDATE_NODE, text
    return Reason.NO_CANDIDATE_NODE, NO_OTHER_NODE


def too_far(end: GrowthEnd) -> tuple[Rejection, ...]:
    """Return the nodes whose delay costs more than another replica there gains."""
    figures = {
        each.node: details.too_far(each.delay_ms, each.rows_per_s, end.rows_per_s)
        for each in end.additions
        if end.is_too_far(each)
    }
    return rejections_for(tuple(figures), Reason.DELAY_EATS_GAIN, figures.__getitem__)


def change_reason(before: Size, after: Size, verdict: Verdict) -> Reason:
    """Return the reason of a change of the replicas; more that cost less, or fewer that cost more, are better nodes."""
    if before.replicas == after.replicas or (after.replicas > before.replicas) != (after.price > before.price):
        return Reason.BETTER_NODES
    if after.replicas > before.replicas:
        return Reason.OVERLOADED
    return Reason.DELAY_EATS_GAIN if verdict is Verdict.MORE else Reason.UNDERUSED


def blocking_reason(
    reading: OperatorReading, present: _Nodes, operator: Operator, cluster: ClusterState, knowledge: Knowledge
) -> tuple[Reason, str] | None:
    """Return the reason that blocks any change, whatever its cost; None if there is none."""
    if cluster.problem:
        return Reason.CLUSTER_UNAVAILABLE, cluster.problem
    if set(present) != set(reading.placement) and reading.throughput_rows_per_s:
        return Reason.RECONFIGURING, reconfiguring(present, reading.placement)
    if not present or not reading.offered_points or reading.backlog_rows is None:
        return Reason.METRICS_MISSING, details.METRICS_MISSING
    return unknown_delays(knowledge.latencies, present, operator.driver_node)
