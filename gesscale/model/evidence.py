"""Classifies batches as evidence of an operator's capacity: saturated ones and warm ones."""

from collections.abc import Sequence
from itertools import pairwise

from gesscale.model.observation import Batch


def first_that_matters(batches: Sequence[Batch], first: int) -> int:
    """Return the first batch that decides whether the batches from an index on are saturated or warm.

    These depend on the two batches before them, and on the last one with rows.
    """
    last_with_rows = next((index for index in reversed(range(first)) if batches[index].rows > 0), 0)
    return max(0, min(first - 2, last_with_rows))


def mark_saturated(batches: Sequence[Batch]) -> list[bool]:
    """Return for each batch whether the operator was saturated.

    A batch is *at the limit* if it is full or, without a known cap, late. A batch is saturated if it belongs to a run
    of at least two consecutive batches at the limit, and either is late itself or left a larger backlog than the batch
    before it. Full batches that are shorter than the trigger interval and reduce the backlog are not saturated: they
    drain it with spare capacity. Full and late batches are, even while the backlog decreases.

    Parameters
    ----------
    batches
        Screened, oldest first.

    Returns
    -------
    list of bool
        One for each batch.

    Notes
    -----
    A full batch alone is not enough, because a batch is full whenever there is a backlog.
    """
    at_limit = [batch.is_late if batch.cap_rows is None else batch.is_full for batch in batches]
    if not any(at_limit):
        return at_limit
    joined = [
        at_limit[index] and at_limit[index + 1] and batch.follows(before)
        for index, (before, batch) in enumerate(pairwise(batches))
    ]
    in_run = [left or right for left, right in zip([False, *joined], [*joined, False], strict=True)]
    grew = [False, *(_backlog_grew(before, batch) for before, batch in pairwise(batches))]
    return [in_run[index] and (batch.is_late or grew[index]) for index, batch in enumerate(batches)]


def mark_warm(batches: Sequence[Batch]) -> list[bool]:
    """Return for each batch whether its duration is evidence for the performance model.

    These batches are cold: the first ones of a run of the query up to the first with rows, a batch whose predecessor
    was not seen, a batch on other nodes than the one before it, and the batch after that. A new replica joins during
    the former and is the straggler of the latter. Removing a replica counts like adding one.

    Parameters
    ----------
    batches
        Screened, oldest first.

    Returns
    -------
    list of bool
        One for each batch.

    Notes
    -----
    Measured: a cold executor makes its first batch 2 to 2.7 times longer. A query starts with an empty batch if there
    are no rows yet; in a demo, its first 24 rows then took 2.7 s, while the law fitted later predicts 0.4 s.
    """
    are_warm = [False] * len(batches)
    had_moved = has_worked = False
    for index, (before, batch) in enumerate(pairwise(batches), start=1):
        moved = _moved(before, batch)
        has_worked = batch.follows(before) and (has_worked or before.rows > 0)
        are_warm[index] = has_worked and not moved and not had_moved
        had_moved = moved
    return are_warm


def _moved(before: Batch, batch: Batch) -> bool:
    return before.nodes != batch.nodes and set(before.nodes) != set(batch.nodes)


def _backlog_grew(before: Batch, batch: Batch) -> bool:
    if before.backlog_rows is None or batch.backlog_rows is None:
        return False
    return batch.backlog_rows > before.backlog_rows and batch.follows(before)
