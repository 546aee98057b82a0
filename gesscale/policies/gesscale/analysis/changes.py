"""Cost of a change, estimated from the last changes, and the length of the planning horizon."""

from collections.abc import Sequence
from statistics import median

from gesscale.model.order import Order
from gesscale.policies.gesscale.analysis.planning_horizon import ChangeCost

_CHANGES_COUNTED = 9
#: A change that delayed batches by more than this number of triggers stopped the job.
_STOP_CYCLES = 1.5
#: Start time of a new replica, and downtime of a restart of the query, until they are measured.
_START_S, _RESTART_S = 8.0, 120.0
#: Number of triggers after a change until its replicas have run a warm batch, and the next change may follow.
_SETTLE_CYCLES = 2.0

#: Buckets of the horizon after the first, additional buckets for each bucket of downtime, and the maximum.
_BUCKETS_AHEAD, _BUCKETS_A_STOP, _MAX_BUCKETS_AHEAD = 6, 3, 24


def change_cost(orders: Sequence[Order], trigger_s: float, *, restarts: bool, replica_minutes: float) -> ChangeCost:
    """Estimate the cost of a change from the last ones: whether it stops the query, and its duration."""
    changes = orders[:_CHANGES_COUNTED]
    delayed_s = [each.downtime_s - trigger_s for each in changes if each.downtime_s is not None]
    took_s = max(0.0, median(delayed_s)) if delayed_s else _RESTART_S if restarts else _START_S
    started_s = [each.first_tasks_s for each in changes if each.first_tasks_s is not None and _grows(each)]
    start_s = median(started_s) if started_s else _START_S
    settled_s = [each.settled_at_s - each.at_s for each in changes if each.settled_at_s is not None]
    return ChangeCost(
        stop_s=took_s if took_s > _STOP_CYCLES * trigger_s else 0.0,
        start_s=start_s,
        settle_s=median(settled_s) if settled_s else max(took_s, start_s) + _SETTLE_CYCLES * trigger_s,
        replica_minutes=replica_minutes,
    )


def buckets_ahead(change: ChangeCost, bucket_s: float) -> int:
    """Return the number of buckets after the first: a change that stops the job needs longer to pay off.

    Examples
    --------
    >>> change = ChangeCost(stop_s=120.0, start_s=8.0, settle_s=150.0, replica_minutes=2.0)
    >>> buckets_ahead(change, 60.0)
    12
    """
    return min(round(_BUCKETS_AHEAD + _BUCKETS_A_STOP * change.stop_s / bucket_s), _MAX_BUCKETS_AHEAD)


def _grows(order: Order) -> bool:
    return order.before is not None and len(order.placement) > order.before
