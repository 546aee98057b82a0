"""Cycles of a query, from the start of a batch to that of the next: long ones extend the periods in seconds."""

from collections.abc import Sequence

from gesscale.model.observation import Batch

#: A window contains at least this number of cycles, so that a whole batch is in it.
WINDOW_CYCLES = 2.0
#: Figures are not stale, and an order is not given up, before this number of cycles: each batch of an overloaded query
#: without a cap is longer than the one before it.
PATIENT_CYCLES = 3.0
#: Newest batches that are read however old they are.
KEPT_BATCHES = 10
_NEWEST = 3
_RECENT_S = 60.0


def cycle_s(batches: Sequence[Batch]) -> float:
    """Return the longest of the newest cycles, at least the trigger interval; 0 without batches."""
    return max((max(each.seconds, each.trigger_s or 0.0) for each in batches[-_NEWEST:]), default=0.0)


def recent_batches(batches: Sequence[Batch], since_s: float) -> list[Batch]:
    """Return the batches that ended since an instant, and the newest ones however old they are."""
    oldest = len(batches) - KEPT_BATCHES
    return [batch for index, batch in enumerate(batches) if index >= oldest or not batch.ended_at_s < since_s]


def working_nodes(batches: Sequence[Batch], at_s: float) -> frozenset[str] | None:
    """Return the nodes that ran a task in the newest batches with rows; None without a recent one."""
    oldest_s = at_s - max(_RECENT_S, PATIENT_CYCLES * cycle_s(batches))
    recent = [batch for batch in batches if batch.rows > 0 and batch.ended_at_s >= oldest_s][-_NEWEST:]
    # A driver that does not report the work reports the executors.
    nodes = (batch.nodes if batch.workers is None else batch.workers for batch in recent)
    return frozenset().union(*nodes) if recent else None
