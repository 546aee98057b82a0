"""Tables of the page as values; the template only lays them out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from testbed.arena.judging.statistics import Interval
from testbed.arena.report.measures import Measure
from testbed.arena.report.numbers import figure, span


class CellVerdict(StrEnum):
    """What a ratio's interval says, less being better."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The head of a column."""

    label: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A figure of a table.

    Attributes
    ----------
    text
        What is read first.
    span
        Its interval; empty where it has none.
    ratio, ratio_span
        Against the baseline; empty where ``text`` is the ratio, or there is none.
    verdict
        Of the ratio.
    detail
        A further note, small.
    best
        Whether it is the best of its column.
    sort
        What rows are sorted by; None sorts last.
    """

    text: str
    span: str = ""
    ratio: str = ""
    ratio_span: str = ""
    verdict: CellVerdict = CellVerdict.UNDECIDED
    detail: str = ""
    best: bool = False
    sort: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row.

    Attributes
    ----------
    name, note
        Its head, and a note below it.
    policy
        The policy it is about, for the choice of policies; empty where it is about none.
    """

    name: str
    cells: tuple[Cell, ...]
    note: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    Attributes
    ----------
    key
        Unique in the page.
    corner
        Head of the column of names.
    """

    key: str
    caption: str
    corner: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]


def heads(measures: Sequence[Measure]) -> tuple[Column, ...]:
    """Return the heads of these measures' columns."""
    return tuple(Column(label=measure.label, unit=measure.unit) for measure in measures)


def mean_cell(mean: Interval | None, ratio: Interval | None = None, *, best: bool = False) -> Cell:
    """Return the cell of a mean, with its ratio to the baseline where that is to be shown."""
    if mean is None:
        return Cell(text=figure(None))
    return Cell(
        text=figure(mean.mean),
        span=span(mean.low, mean.high),
        ratio=times(ratio),
        ratio_span=span(ratio.low, ratio.high) if ratio else "",
        verdict=verdict_of(ratio),
        best=best,
        sort=mean.mean,
    )


def ratio_cell(ratio: Interval | None, mean: Interval | None) -> Cell:
    """Return the cell of a ratio to the baseline, with the mean it is from."""
    return Cell(
        text=times(ratio) or figure(None),
        span=span(ratio.low, ratio.high) if ratio else "",
        detail=f"mean {figure(mean.mean)}" if mean else "",
        verdict=verdict_of(ratio),
        sort=ratio.mean if ratio else None,
    )


def times(ratio: Interval | None) -> str:
    """Write a ratio, ``×0.83``."""
    return f"×{figure(ratio.mean)}" if ratio else ""


def verdict_of(ratio: Interval | None) -> CellVerdict:
    """Return whether all of a ratio's interval is on one side of 1."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return CellVerdict.UNDECIDED
    if ratio.high < 1:
        return CellVerdict.BETTER
    return CellVerdict.WORSE if ratio.low > 1 else CellVerdict.UNDECIDED


def least(means: Sequence[Interval | None]) -> float:
    """Return the least of the means, NaN where there is none or all are the same: then none is the best."""
    known = [mean.mean for mean in means if mean is not None]
    return min(known) if len(known) > 1 and min(known) < max(known) else math.nan
