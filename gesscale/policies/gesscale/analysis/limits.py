"""Limits of changes: reasons that block or bound them, and the reason of a change."""

from collections.abc import Sequence

from gesscale.model.decision import Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading
from gesscale.model.order import Order
from gesscale.model.workflow import Operator
from gesscale.plan.node_ranking import rejections_for, removal_steps, unknown_delays
from gesscale.policies.details import NO_OTHER_NODE, at_maximum, at_useful, reconfiguring
from gesscale.policies.gesscale import details
from gesscale.policies.gesscale.analysis.demand import LoadHistory
from gesscale.policies.gesscale.analysis.growth import GrowthEnd
from gesscale.policies.gesscale.analysis.sizing import TooFew
from gesscale.ports import ClusterState, Knowledge

#: Time during which no replica is added beyond those that get work.
_LIMIT_KEPT_S = 3600.0
#: Time during which a number of replicas that was too few is not tried again for such a load.
_TOO_FEW_KEPT_S = 3600.0

_Nodes = tuple[str, ...]


def idle_replicas(present: _Nodes, reading: OperatorReading, order: Order | None) -> _Nodes:
    """Return the replicas that have not worked since the last order, if the order was given up."""
    if order is None or not order.given_up or set(order.placement) != set(present):
        return ()
    return tuple(node for node in present if node not in reading.placement)


def work_limit(operator: Operator, reading: OperatorReading, knowledge: Knowledge) -> int | None:
    """Return the number of replicas that get work, at least the minimum; None if it is unknown.

    If idle replicas were removed, those that were left are the limit for an hour, unless the reading has another one.
    """
    limit = reading.useful_replicas
    if limit is None:
        orders = knowledge.orders.get(reading.operator, ())
        recent = (each for each in orders if 0 <= reading.at_s - each.at_s < _LIMIT_KEPT_S)
        limit = next((len(each.placement) for each in recent if each.reason == Reason.IDLE_REPLICA), None)
    return None if limit is None else max(limit, operator.min_replicas)


def without_workless(
    present: _Nodes, operator: Operator, reading: OperatorReading, knowledge: Knowledge
) -> tuple[_Nodes, str] | None:
    """Return the placement without the replicas that get no work, and why; None if there are none, or it is unknown."""
    idle = idle_replicas(present, reading, knowledge.latest(operator.name))
    if idle and reading.saturated_share and reading.replicas >= operator.min_replicas:
        return reading.placement, details.idle(idle)
    if reading.useful_replicas is None or knowledge.latencies.map_status.stale:
        return None
    limit = max(reading.useful_replicas, operator.min_replicas)
    steps = removal_steps(knowledge.latencies.map, present, operator.driver_node)
    surplus = details.surplus(reading.replicas, at_useful(reading))
    return next(((placement, surplus) for placement in steps if len(placement) == limit), None)


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
    operator: Operator, reading: OperatorReading, replicas: int, limit: int | None, end: GrowthEnd | None
) -> tuple[Reason, str]:
    """Return the reason why no replica is added though more are needed."""
    if limit is not None and replicas >= limit:
        known = reading.useful_replicas is not None
        return Reason.AT_MAX_REPLICAS, at_useful(reading) if known else details.limited_by_work(limit)
    if replicas >= operator.max_replicas:
        return Reason.AT_MAX_REPLICAS, at_maximum(operator.max_replicas)
    if end is not None:
        one = end.nearest
        text = details.one_more(one.node, one.delay_ms, end.replicas + 1, one.rows_per_s)
        return Reason.DELAY_EATS_GAIN if end.by_delay else Reason.AT_MAX_REPLICAS, text
    return Reason.NO_CANDIDATE_NODE, NO_OTHER_NODE


def too_far(end: GrowthEnd) -> tuple[Rejection, ...]:
    """Return the nodes whose delay costs more than another replica there gains."""
    figures = {
        each.node: details.too_far(each.delay_ms, each.rows_per_s, end.rows_per_s)
        for each in end.additions
        if end.is_too_far(each)
    }
    return rejections_for(tuple(figures), Reason.DELAY_EATS_GAIN, figures.__getitem__)


def change_reason(before: int, after: int, verdict: Verdict) -> Reason:
    """Return the reason of a change from one number of replicas to another."""
    if before == after:
        return Reason.BETTER_NODES
    if after > before:
        return Reason.OVERLOADED
    return Reason.DELAY_EATS_GAIN if verdict is Verdict.MORE else Reason.UNDERUSED


def blocking_reason(
    reading: OperatorReading, present: _Nodes, operator: Operator, cluster: ClusterState, knowledge: Knowledge
) -> tuple[Reason, str] | None:
    """Return the reason that blocks any change, whatever its cost; None if there is none."""
    if cluster.problem:
        return Reason.CLUSTER_UNAVAILABLE, cluster.problem
    idle = idle_replicas(present, reading, knowledge.latest(operator.name))
    if set(present) != set(reading.placement) and reading.throughput_rows_per_s and not idle:
        return Reason.RECONFIGURING, reconfiguring(present, reading.placement)
    if not present or not reading.offered_points or reading.backlog_rows is None:
        return Reason.METRICS_MISSING, details.METRICS_MISSING
    return unknown_delays(knowledge.latencies, present, operator.driver_node)
