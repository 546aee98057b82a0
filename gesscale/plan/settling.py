"""Detects when an order has settled, and its downtime."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from gesscale.model.cycles import PATIENT_CYCLES, cycle_s
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order

#: Rows left by a batch, as a share of its rows: offsets without a row, such as those of transactions, are fewer.
_LEFT_SHARE = 0.05


def longest_stop_s(batches: Sequence[Batch], since_s: float, *, ran: bool = False) -> float:
    """Return the longest time since an instant in which rows waited, not only for the trigger, and no batch ran.

    Parameters
    ----------
    ran
        Whether the query ran at that instant: then it was restarted if the first batch of a run began later.
    """
    stops_s = (
        later.began_s - max(since_s, before.ended_at_s, before.began_s + (before.trigger_s or 0.0))
        for before, later in pairwise(batches)
        if _stopped(before, later)
    )
    restart_s = batches[0].began_s - since_s if ran and batches and batches[0].is_first_of_run else 0.0
    return max(0.0, restart_s, max(stops_s, default=0.0))


def _stopped(before: Batch, later: Batch) -> bool:
    """Return whether rows waited between two batches, and no batch ran there that was not seen.

    Rows waited if the first one left some, or if the query did not go on from it. Otherwise it had nothing to do.
    """
    if later.follows(before):
        return (before.backlog_rows or 0.0) > _LEFT_SHARE * before.rows
    done, done_before = later.processed_rows_total, before.processed_rows_total
    unseen_rows = 0.0 if done is None or done_before is None else done - done_before - later.rows
    return unseen_rows < later.rows / 2


def settle_order(pending: Order, reading: OperatorReading, rescale_timeout_s: float) -> Order | None:
    """Return a pending order with its end if it has settled or timed out; None otherwise."""
    arrived = reading.placement == pending.placement
    warm = bool(_began_on(pending, reading.warm_batches))
    patience_s = max(rescale_timeout_s, PATIENT_CYCLES * cycle_s(reading.batches))
    if (arrived and warm) or reading.at_s - pending.at_s >= patience_s:
        first_tasks_s = min(_began_on(pending, reading.batches), default=None)
        stop_s = longest_stop_s(reading.batches, pending.at_s, ran=bool(pending.before))
        return pending.ended(reading.at_s, stop_s, arrived=arrived, first_tasks_s=first_tasks_s)
    return None


def _began_on(order: Order, batches: Iterable[Batch]) -> list[float]:
    """Return the starts of batches on exactly the ordered nodes, in seconds after the order."""
    ordered = set(order.placement)
    after = ((batch.began_s - order.at_s, batch) for batch in batches)
    return [began_s for began_s, batch in after if began_s >= 0 and set(batch.nodes) == ordered]
