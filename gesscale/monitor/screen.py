"""Which batch records can be believed: one pass over them, and what was wrong with the others."""

import math
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from gesscale.batch_record import BatchFigures, figures_of
from gesscale.model.observation import Batch

#: A batch may end this long after "now": the answer that names it arrives after the step has begun.
CLOCK_TOLERANCE_S = 5.0

_LEAST_S = 0.001
_FIGURES = tuple(each.name for each in fields(BatchFigures) if each.default is MISSING)
_told = attrgetter(*_FIGURES)
_OPTIONAL = {name: figure for name, figure in figures_of(BatchFigures).items() if name not in _FIGURES}
_told_with_zero = attrgetter(*[name for name, figure in _OPTIONAL.items() if figure.zero_tells])
_told_above_zero = attrgetter(*[name for name, figure in _OPTIONAL.items() if not figure.zero_tells])


class Screened(NamedTuple):
    """What is left of a record."""

    #: Those that can be believed, in the order in which they ended.
    batches: tuple[Batch, ...]
    #: One for each figure or batch that is not kept, and for each gap in the numbers.
    faults: tuple[str, ...] = ()
    #: Why the newest batch that came was dropped; empty where it was not.
    doubt: str = ""


class Screen:
    """Screens the record of an operator step after step; where nothing was wrong, only new batches are checked."""

    def __init__(self) -> None:
        self._faultless: tuple[Batch, ...] = ()  # the newest record in which nothing was wrong

    def __call__(self, batches: Iterable[Batch], now_s: float) -> Screened:
        """Keep the batches that can be believed; see `screen`."""
        faults: list[str] = []
        listed = tuple(batches)
        known = self._known(listed, now_s)
        kept = list(listed[:known])
        before = kept[-1] if kept else None
        doubt = ""
        for batch in listed[known:]:
            doubt = _fault(batch) or _misplaced(batch, before, now_s)
            if doubt:
                faults.append(f"batch {batch.batch_id} is dropped: {doubt}")
                continue
            believed = batch if _can_be_believed(batch) else _repaired(batch, faults)
            if before is not None and (missing := batch.batch_id - before.batch_id - 1) > 0:
                faults.append(f"{missing} batches before batch {batch.batch_id} were not seen")
            before = believed
            kept.append(believed)
        if faults:
            self._faultless = ()
            return Screened(tuple(kept), tuple(faults), faults[-1] if doubt else "")
        self._faultless = listed
        return Screened(listed)

    def _known(self, listed: tuple[Batch, ...], now_s: float) -> int:
        """Return how many batches at the beginning of a record ended the faultless one before it."""
        former = self._faultless
        if not listed or not former or former[-1].ended_at_s > now_s + CLOCK_TOLERANCE_S:
            return 0
        first = next((index for index, batch in enumerate(former) if batch is listed[0]), len(former))
        count = len(former) - first
        return count if former[first:] == listed[:count] else 0


def screen(batches: Iterable[Batch], now_s: float) -> Screened:
    """Keep the batches that can be believed, in the order in which they ended.

    A batch is dropped when a figure of it is NaN, infinite or negative, or when it took no time. It is dropped, too,
    when it ends in the future, does not end after the batch before it, or has the number of that one. A *lower*
    number that ends later is kept: the query began again. An optional figure that cannot be believed becomes unknown
    (None).
    """
    return Screen()(batches, now_s)


def _fault(batch: Batch) -> str:
    for index, value in enumerate(_told(batch)):
        if not 0 <= value < math.inf:
            return f"{_FIGURES[index]} is {value}, expected a finite number >= 0"
    if not _LEAST_S <= batch.seconds <= batch.ended_at_s:
        return (
            f"it took {batch.seconds:g} s, expected at least the millisecond that Spark counts in and "
            "less than there has been time"
        )
    return ""


def _misplaced(batch: Batch, before: Batch | None, now_s: float) -> str:
    if batch.ended_at_s > now_s + CLOCK_TOLERANCE_S:
        return f"it ends {batch.ended_at_s - now_s:.1f} s in the future; compare the clocks of driver and scaler"
    if before is not None and batch.batch_id == before.batch_id:
        return "its number came twice"
    if before is not None and batch.ended_at_s <= before.ended_at_s:
        return f"it does not end after batch {before.batch_id}, which came before it"
    return ""


def _can_be_believed(batch: Batch) -> bool:
    """Say whether every optional figure can be: what follows here is for the few batches of which one cannot."""
    for value in _told_with_zero(batch):
        if value is not None and not 0 <= value < math.inf:
            return False
    for value in _told_above_zero(batch):  # noqa: SIM110 - all() makes a generator for each batch
        if value is not None and not 0 < value < math.inf:
            return False
    return True


def _repaired(batch: Batch, faults: list[str]) -> Batch:
    """Return a batch without the figures that cannot be believed, and add these to the faults."""
    doubted = [
        name
        for name, figure in _OPTIONAL.items()
        if (value := getattr(batch, name)) is not None
        and not (0 < value < math.inf or (figure.zero_tells and value == 0))
    ]
    faults += [f"batch {batch.batch_id}: {name} is {getattr(batch, name)} and counts as unknown" for name in doubted]
    unknown: dict[str, Any] = dict.fromkeys(doubted)
    return replace(batch, **unknown)
