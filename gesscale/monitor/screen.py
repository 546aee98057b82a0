"""Which batch records can be believed: one pass over them, and what was wrong with the others."""

import math
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from typing import Any

from gesscale.batch_record import BatchFigures, figures_of
from gesscale.observation import Batch

CLOCK_TOLERANCE_S = 5.0
"""A batch may end this long after "now": the answer that names it arrives after the step has begun."""

_LEAST_S = 0.001
_FIGURES = tuple(each.name for each in fields(BatchFigures) if each.default is MISSING)
_OPTIONAL = {name: figure for name, figure in figures_of(BatchFigures).items() if name not in _FIGURES}


def screen(batches: Iterable[Batch], now_s: float) -> tuple[tuple[Batch, ...], tuple[str, ...]]:
    """Keep the batches that can be believed, in the order in which they ended.

    A batch is dropped when a figure of it is NaN, infinite or negative, or when it took no time. It is dropped, too,
    when it ends in the future, does not end after the batch before it, or has the number of that one. A *lower*
    number that ends later is kept: the query began again. An optional figure that cannot be believed becomes unknown
    (None).

    Parameters
    ----------
    batches
        As they came, oldest first.
    now_s
        Seconds since the epoch.

    Returns
    -------
    tuple of (tuple of Batch, tuple of str)
        What is kept. One complaint for each figure or batch that is not kept, and for each gap in the numbers.
    """
    kept: list[Batch] = []
    faults: list[str] = []
    for batch in batches:
        if fault := _fault(batch, kept[-1] if kept else None, now_s):
            faults.append(f"batch {batch.batch_id} is dropped: {fault}")
            continue
        repaired, notes = _sanitized(batch)
        faults += notes
        if kept and (missing := batch.batch_id - kept[-1].batch_id - 1) > 0:
            faults.append(f"{missing} batches before batch {batch.batch_id} were not seen")
        kept.append(repaired)
    return tuple(kept), tuple(faults)


def _fault(batch: Batch, before: Batch | None, now_s: float) -> str:
    for name in _FIGURES:
        if not 0 <= (value := getattr(batch, name)) < math.inf:
            return f"{name} is {value}, expected a finite number >= 0"
    if not _LEAST_S <= batch.seconds <= batch.ended_at_s:
        return (
            f"it took {batch.seconds:g} s, expected at least the millisecond that Spark counts in and "
            "less than there has been time"
        )
    if batch.ended_at_s > now_s + CLOCK_TOLERANCE_S:
        return (
            f"it ends {batch.ended_at_s - now_s:.1f} s in the future; compare the clocks of driver and scaler"
        )
    if before is not None and batch.batch_id == before.batch_id:
        return "its number came twice"
    if before is not None and batch.ended_at_s <= before.ended_at_s:
        return f"it does not end after batch {before.batch_id}, which came before it"
    return ""


def _sanitized(batch: Batch) -> tuple[Batch, list[str]]:
    doubted = [
        name
        for name, figure in _OPTIONAL.items()
        if (value := getattr(batch, name)) is not None
        and not (0 < value < math.inf or (figure.zero_tells and value == 0))
    ]
    if not doubted:
        return batch, doubted
    unknown: dict[str, Any] = dict.fromkeys(doubted)
    return replace(batch, **unknown), [
        f"batch {batch.batch_id}: {name} is {getattr(batch, name)} and counts as unknown" for name in doubted
    ]
