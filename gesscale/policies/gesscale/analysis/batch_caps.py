"""The cap on the rows of a batch: what the batches show rules over the settings.

A driver reports the cap of each batch. Without one, equal batches that each leave a whole batch waiting, though they
end before the next one is due, show it. A cap that a batch exceeds is none.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gesscale.common.errors import Problem
from gesscale.model.observation import Batch
from gesscale.model.workflow import BatchCap

#: Batches whose equal rows are a cap, and the difference up to which figures are equal: Kafka's connector divides a
#: cap among the partitions and rounds.
_EQUAL_BATCHES, _EQUAL_SHARE = 3, 0.01


class CapFinding(NamedTuple):
    """The cap that holds, and what contradicts it."""

    #: None if no batch is capped.
    cap: BatchCap | None
    #: Rows of the equal batches that show a cap below the stated one; None if there are none.
    seen_rows: int | None = None
    warnings: tuple[Problem, ...] = ()


def find_cap(stated: BatchCap | None, batches: Sequence[Batch], seen_rows: int | None = None) -> CapFinding:
    """Return the cap of the next batch.

    Parameters
    ----------
    stated
        That of the settings.
    seen_rows
        Result of the step before.
    """
    if not batches:
        return CapFinding(stated, seen_rows)
    newest, warnings = batches[-1], []
    replicas = max(1, len(newest.nodes))
    cap = stated if newest.cap_rows is None else _reported(stated, batches)
    if cap is not None and stated is not None and not _equal((cap.at(replicas), stated.at(replicas))):
        figures = {"settings_rows": stated.at(replicas), "batch_rows": cap.at(replicas)}
        warnings.append(Problem("batch-cap-differs", figures))
    largest = max(each.rows for each in batches[-_EQUAL_BATCHES:] if set(each.nodes) == set(newest.nodes))
    if cap is not None and largest > (1 + _EQUAL_SHARE) * cap.at(replicas):
        warnings.append(Problem("batch-cap-exceeded", {"cap_rows": cap.at(replicas), "rows": largest}))
        cap = None
    if seen_rows is not None and largest > (1 + _EQUAL_SHARE) * seen_rows:
        seen_rows = None
    # More replicas showed that the cap does not grow with them: it is forgotten with a larger batch, not with fewer.
    is_kept = seen_rows is not None and cap is not None and cap.rows_per_replica > 0
    seen_rows = _rows_of_capped(batches) or seen_rows
    if seen_rows is None or (cap is not None and not is_kept and seen_rows >= (1 - _EQUAL_SHARE) * cap.at(replicas)):
        return CapFinding(cap, None, tuple(warnings))
    stated_rows = None if cap is None else cap.at(replicas)
    warnings.append(Problem("batch-cap-seen", {"rows": seen_rows, "cap_rows": stated_rows}))
    return CapFinding(BatchCap(rows=seen_rows), seen_rows, tuple(warnings))


def _reported(stated: BatchCap | None, batches: Sequence[Batch]) -> BatchCap:
    """Return the cap that the newest batch reports; by replica if the driver, the settings or two sizes show this."""
    newest = batches[-1]
    assert newest.cap_rows is not None  # noqa: S101 - the caller checked
    if newest.cap_rows_per_replica or (stated is not None and stated.rows_per_replica) or _grows(batches):
        return BatchCap(
            rows_per_replica=newest.cap_rows_per_replica or max(1, newest.cap_rows // max(1, len(newest.nodes)))
        )
    return BatchCap(rows=newest.cap_rows)


def _grows(batches: Sequence[Batch]) -> bool:
    """Return whether batches on different numbers of replicas show that the cap grows with them."""
    caps = {len(each.nodes): each.cap_rows / len(each.nodes) for each in batches if each.cap_rows and each.nodes}
    return len(caps) > 1 and _equal(caps.values())


def _rows_of_capped(batches: Sequence[Batch]) -> int | None:
    """Return the rows of the newest batches, on the same nodes, if these are equal though there was time for more."""
    newest = batches[-_EQUAL_BATCHES:]
    rows = [each.rows for each in newest]
    are_alike = len(newest) == _EQUAL_BATCHES and len({each.nodes for each in newest}) == 1 and _equal(rows)
    return max(rows) if are_alike and all(map(_left_rows, newest)) else None


def _left_rows(batch: Batch) -> bool:
    """Return whether a batch left at least as many rows as it took, and ended before the next one was due."""
    has_time = batch.trigger_s is not None and batch.seconds < batch.trigger_s
    return has_time and batch.backlog_rows is not None and batch.backlog_rows >= max(1, batch.rows)


def _equal(figures: Iterable[float]) -> bool:
    least, *_, most = sorted(figures)
    return most - least <= _EQUAL_SHARE * most
