"""Detects when an order has settled, and its downtime."""

from collections.abc import Iterable
from itertools import pairwise

from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order


def longest_gap_s(reading: OperatorReading, since_s: float) -> float:
    """Return the longest time without a finished batch.

    Parameters
    ----------
    since_s
        Only gaps that end later count, in full; seconds since the epoch.
    """
    ends = [batch.ended_at_s for batch in reading.batches]
    gaps = [later - earlier for earlier, later in pairwise(ends) if later > since_s]
    return max(gaps, default=0.0)


def settle_order(pending: Order, reading: OperatorReading, rescale_timeout_s: float) -> Order | None:
    """Return a pending order with its end if it has settled or timed out; None otherwise."""
    arrived = reading.placement == pending.placement
    warm = bool(_began_on(pending, reading.warm_batches))
    late = reading.at_s - pending.at_s >= rescale_timeout_s
    if (arrived and warm) or late:
        first_tasks_s = min(_began_on(pending, reading.batches), default=None)
        return pending.ended(
            reading.at_s, longest_gap_s(reading, pending.at_s), arrived=arrived, first_tasks_s=first_tasks_s
        )
    return None


def _began_on(order: Order, batches: Iterable[Batch]) -> list[float]:
    """Return the starts of batches on exactly the ordered nodes, in seconds after the order."""
    ordered = set(order.placement)
    after = ((batch.ended_at_s - batch.seconds - order.at_s, batch) for batch in batches)
    return [began_s for began_s, batch in after if began_s >= 0 and set(batch.nodes) == ordered]
