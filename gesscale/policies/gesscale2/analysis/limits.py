"""Why an operator may not change, or not further, and what a change is called."""

from dataclasses import replace

from gesscale.model.decision import Plan, Reason
from gesscale.model.observation import OperatorReading
from gesscale.model.order import Order
from gesscale.model.workflow import Operator
from gesscale.plan.placement import unknown_delays
from gesscale.ports import ClusterState, Knowledge

#: For so long no replica is added beyond those that get work.
_LIMIT_KEPT_S = 3600.0

_Nodes = tuple[str, ...]


def idle_replicas(present: _Nodes, reading: OperatorReading, order: Order | None) -> _Nodes:
    """Return the replicas that have not worked since the last order, for so long that it was given up."""
    if order is None or not order.given_up or set(order.placement) != set(present):
        return ()
    return tuple(node for node in present if node not in reading.placement)


def without_idle(idle: _Nodes, plan: Plan, reading: OperatorReading) -> Plan:
    """Return the plan that gives idle replicas up."""
    detail = (
        f"rows wait, and {', '.join(idle)} had no part in any batch for as long as a change may take; "
        "has the source enough partitions?"
    )
    return replace(plan, reason=Reason.IDLE_REPLICA, detail=detail, placement=reading.placement)


def work_limit(knowledge: Knowledge, reading: OperatorReading) -> int | None:
    """Return how many replicas get work, where others were given up lately as they got none."""
    orders = knowledge.orders.get(reading.operator, ())
    recent = (each for each in orders if 0 <= reading.at_s - each.at_s < _LIMIT_KEPT_S)
    return next((len(each.placement) for each in recent if each.reason == Reason.IDLE_REPLICA), None)


def trigger_of_s(reading: OperatorReading) -> float:
    """Return the trigger interval, a second where it is not known."""
    return reading.trigger_s or 1.0


def moved(present: _Nodes, choice: _Nodes) -> int:
    """Return how many replicas a choice takes from their nodes."""
    return min(len(present), len(choice)) - len(set(present) & set(choice))


def why_no_more(operator: Operator, replicas: int, limit: int | None) -> tuple[Reason, str]:
    """Return why there are not more replicas, though more are needed."""
    if limit is not None and replicas >= limit:
        return Reason.AT_MAX_REPLICAS, f"of more than {limit} the others got no work"
    if replicas >= operator.max_replicas:
        return Reason.AT_MAX_REPLICAS, f"max_replicas is {operator.max_replicas}"
    return Reason.NO_CANDIDATE_NODE, "no other node can take a replica"


def reason_of_change(before: int, after: int) -> Reason:
    """Return why the replicas change from one number to another."""
    if before == after:
        return Reason.BETTER_NODES
    return Reason.OVERLOADED if after > before else Reason.UNDERUSED


def blocking_reason(
    reading: OperatorReading, present: tuple[str, ...], operator: Operator, cluster: ClusterState, knowledge: Knowledge
) -> tuple[Reason, str] | None:
    """Return why nothing may change, whatever it would cost."""
    if cluster.problem:
        return Reason.CLUSTER_UNAVAILABLE, cluster.problem
    idle = idle_replicas(present, reading, knowledge.latest(operator.name))
    if set(present) != set(reading.placement) and reading.throughput_rows_per_s and not idle:
        live, read = ", ".join(present) or "no node", ", ".join(reading.placement)
        return Reason.RECONFIGURING, f"replicas live on {live}, but the newest batch ran on {read}"
    if not present or not reading.batches or reading.backlog_rows is None:
        return Reason.METRICS_MISSING, "the replicas, the last batches or the backlog are not known"
    return unknown_delays(knowledge.latencies, present, operator.driver_node)
