"""Screening of batch records: rejects invalid batches and reports why, in one pass."""

import math
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from gesscale.batch_record import BatchFigures, figures_of
from gesscale.common.errors import Problem
from gesscale.model.observation import Batch

#: A batch may end this long after "now", because its response arrives after the step has begun.
CLOCK_TOLERANCE_S = 5.0

_MIN_DURATION_S = 0.001
_FIGURES = tuple(each.name for each in fields(BatchFigures) if each.default is MISSING)
_required = attrgetter(*_FIGURES)
_OPTIONAL = {name: figure for name, figure in figures_of(BatchFigures).items() if name not in _FIGURES}
_optional_from_zero = attrgetter(*[name for name, figure in _OPTIONAL.items() if figure.zero_is_valid])
_optional_above_zero = attrgetter(*[name for name, figure in _OPTIONAL.items() if not figure.zero_is_valid])


class ScreenedBatches(NamedTuple):
    """A screened record."""

    #: The valid batches, in the order in which they ended.
    batches: tuple[Batch, ...]
    #: One for each rejected batch, each ignored figure and each gap in the batch numbers.
    problems: tuple[Problem, ...] = ()
    #: Problem of the newest batch if it was rejected; None if it was not.
    newest_problem: Problem | None = None


class BatchScreen:
    """Screens the record of one operator in each step; checks only new batches while nothing was invalid."""

    def __init__(self) -> None:
        self._faultless: tuple[Batch, ...] = ()  # the newest record without a problem

    def __call__(self, batches: Iterable[Batch], now_s: float) -> ScreenedBatches:
        """Keep the valid batches; see `screen_batches`."""
        problems: list[Problem] = []
        listed = tuple(batches)
        known = self._known(listed, now_s)
        kept = list(listed[:known])
        before = kept[-1] if kept else None
        problem = None
        for batch in listed[known:]:
            problem = _invalid_figure(batch) or _misplaced(batch, before, now_s)
            if problem is not None:
                problems.append(problem)
                continue
            valid = batch if _has_valid_optional_figures(batch) else _without_invalid_figures(batch, problems)
            if before is not None and (gap := batch.batch_id - before.batch_id - 1) > 0:
                problems.append(Problem("batches-not-seen", {"count": gap, "batch_id": batch.batch_id}))
            before = valid
            kept.append(valid)
        if problems:
            self._faultless = ()
            return ScreenedBatches(tuple(kept), tuple(problems), problem)
        self._faultless = listed
        return ScreenedBatches(listed)

    def _known(self, listed: tuple[Batch, ...], now_s: float) -> int:
        """Return how many of the first batches are the last ones of the previous faultless record."""
        former = self._faultless
        if not listed or not former or former[-1].ended_at_s > now_s + CLOCK_TOLERANCE_S:
            return 0
        first = next((index for index, batch in enumerate(former) if batch is listed[0]), len(former))
        count = len(former) - first
        return count if former[first:] == listed[:count] else 0


def screen_batches(batches: Iterable[Batch], now_s: float) -> ScreenedBatches:
    """Keep the valid batches, in the order in which they ended.

    A batch is rejected if a required figure is NaN, infinite or negative, or if its duration is zero. It is also
    rejected if it ends in the future, does not end after the batch before it, or repeats its number. A *lower* number
    that ends later is kept: the query was restarted. An invalid optional figure becomes None.
    """
    return BatchScreen()(batches, now_s)


def _invalid_figure(batch: Batch) -> Problem | None:
    for name, value in zip(_FIGURES, _required(batch), strict=True):
        if not 0 <= value < math.inf:
            return Problem("batch-figure-invalid", {"batch_id": batch.batch_id, "figure": name, "got": value})
    if not _MIN_DURATION_S <= batch.seconds <= batch.ended_at_s:
        return Problem("batch-duration-invalid", {"batch_id": batch.batch_id, "got": batch.seconds})
    return None


def _misplaced(batch: Batch, before: Batch | None, now_s: float) -> Problem | None:
    if batch.ended_at_s > now_s + CLOCK_TOLERANCE_S:
        return Problem("batch-in-future", {"batch_id": batch.batch_id, "ahead_s": batch.ended_at_s - now_s})
    if before is not None and batch.batch_id == before.batch_id:
        return Problem("batch-number-repeated", {"batch_id": batch.batch_id})
    if before is not None and batch.ended_at_s <= before.ended_at_s:
        return Problem("batch-misordered", {"batch_id": batch.batch_id, "before": before.batch_id})
    return None


def _has_valid_optional_figures(batch: Batch) -> bool:
    """Return whether every optional figure is valid; fast, because nearly all batches are."""
    for value in _optional_from_zero(batch):
        if value is not None and not 0 <= value < math.inf:
            return False
    for value in _optional_above_zero(batch):  # noqa: SIM110 - all() makes a generator for each batch
        if value is not None and not 0 < value < math.inf:
            return False
    return True


def _without_invalid_figures(batch: Batch, problems: list[Problem]) -> Batch:
    """Return a batch whose invalid optional figures are None, and append a problem for each of them."""
    invalid = [
        name
        for name, figure in _OPTIONAL.items()
        if (value := getattr(batch, name)) is not None
        and not (0 < value < math.inf or (figure.zero_is_valid and value == 0))
    ]
    problems += [
        Problem("batch-figure-ignored", {"batch_id": batch.batch_id, "figure": name, "got": getattr(batch, name)})
        for name in invalid
    ]
    unknown: dict[str, Any] = dict.fromkeys(invalid)
    return replace(batch, **unknown)
