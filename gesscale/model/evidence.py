"""Which batches say what an operator can do: the saturated and the warm ones (specification section 3)."""

from collections.abc import Sequence
from itertools import pairwise

from gesscale.model.observation import Batch


def saturated(batches: Sequence[Batch]) -> list[bool]:
    """Say of each batch whether the operator worked at its limit.

    A batch is *pressed* when it is full or, where no cap is known, late. A batch is saturated when it belongs
    to a run of at least two consecutive pressed batches, and one of two things holds: it is late itself, or it left
    a larger backlog than the batch right before it. Full batches that are shorter than the trigger interval and
    shrink the backlog are not saturated: they drain it with room to spare. Full and late ones are, also while the
    backlog shrinks.

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
    Source: specification section 3; full alone is not enough, since a batch is full whenever rows wait.
    """
    pressed = [batch.is_late if batch.cap_rows is None else batch.is_full for batch in batches]
    if not any(pressed):
        return pressed
    joined = [
        pressed[index] and pressed[index + 1] and batch.follows(before)
        for index, (before, batch) in enumerate(pairwise(batches))
    ]
    in_run = [left or right for left, right in zip([False, *joined], [*joined, False], strict=True)]
    grew = [False, *(_backlog_grew(before, batch) for before, batch in pairwise(batches))]
    return [in_run[index] and (batch.is_late or grew[index]) for index, batch in enumerate(batches)]


def warm(batches: Sequence[Batch]) -> list[bool]:
    """Say of each batch whether its duration is evidence for the performance model.

    Cold are: the first known batches of a run of the query up to the first that has rows, any batch whose predecessor
    was not seen, a batch on other nodes than the batch before it, and the batch after that. A new replica joins in the
    middle of the one and is the straggler of the next. The removal of a replica counts like its start.

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
    Source: specification section 3, measured: a cold executor makes its first batch 2 to 2.7 times longer. A query
    begins with an empty batch where no rows have come yet; in a demo
    its first 24 rows then took 2.7 s, where the law that was learned later has 0.4 s.
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
