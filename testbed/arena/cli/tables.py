"""Tables of results for people: numbers with their intervals, as many columns next to each other as fit."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from gesscale.cli.output import room, table
from testbed.arena.judging.statistics import Comparison, Interval
from testbed.arena.report.formatting import figure, span

_FRAME = 3
"""Blanks and line that each column adds."""

_LONG_NAME, _SHORT_NAME = 12, 4
"""A heading with more characters is folded; its second line has at least the smaller number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A column of a table.

    Attributes
    ----------
    heading
        Of one line or more; figures stand flush right below it.
    cells
        One for each row, of one line or more.
    """

    heading: str
    cells: Sequence[str]

    @property
    def width(self) -> int:
        """Characters that it takes, its frame too."""
        lines = (line for cell in (self.heading, *self.cells) for line in cell.splitlines())
        return max((len(line) for line in lines), default=0) + _FRAME


def fitted(title: str, keys: Sequence[TextColumn], figures: Sequence[TextColumn]) -> list[Table]:
    """Return a table, or several below each other where one is too wide; each repeats the keys."""
    beside_keys = room() - 1 - sum(column.width for column in keys)
    pages: list[list[TextColumn]] = []
    left = 0
    for column in figures:
        if not pages or column.width > left:
            pages.append([])
            left = beside_keys
        pages[-1].append(column)
        left -= column.width
    tables = []
    for number, page in enumerate(pages):
        columns = [*keys, *page]
        rows = zip(*(column.cells for column in columns), strict=True)
        made = table(
            title if number == 0 else f"{title}, continued", [column.heading for column in columns], rows
        )
        for shown in made.columns[len(keys) :]:
            shown.justify = "right"
        tables.append(made)
    return tables


def folded(metric: str) -> str:
    """Write a metric's long name on two lines, such as ``lag_above_`` and ``slo_s``."""
    first, joint, rest = metric.rpartition("_")
    if len(metric) <= _LONG_NAME or not first:
        return metric
    while len(rest) < _SHORT_NAME and "_" in first:
        first, _, more = first.rpartition("_")
        rest = f"{more}_{rest}"
    return f"{first}{joint}\n{rest}"


def below(interval: Interval | None) -> str:
    """Write a figure, and its interval on a line below."""
    return "–\n" if interval is None else f"{figure(interval.mean)}\n{_ends(interval)}"


def on_one_line(interval: Interval | None) -> str:
    """Write a figure, and its interval after it."""
    return "–" if interval is None else f"{figure(interval.mean)} {_ends(interval)}".strip()


def relation(comparison: Comparison | None) -> str:
    """Write how a policy stands to the baseline: the ratio, or the difference where there is no ratio."""
    if comparison is None:
        return ""
    if comparison.ratio is not None:
        return f"× {on_one_line(comparison.ratio)}"
    sign = "+" if comparison.difference is not None and comparison.difference.mean > 0 else ""
    return f"{sign}{on_one_line(comparison.difference)}"


def bare_ratio(comparison: Comparison | None) -> str:
    """Write a ratio without its interval, in brackets where that holds 1 or is unknown."""
    if comparison is None or comparison.ratio is None:
        return "–"
    ratio = comparison.ratio
    sure = ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high
    return figure(ratio.mean) if sure else f"({figure(ratio.mean)})"


def _ends(interval: Interval) -> str:
    if interval.low is not None and interval.high == math.inf:
        return f"[{figure(interval.low)}, ∞]"
    return span(interval.low, interval.high)


def short_name(name: str) -> str:
    """Return a policy or workload without the folders of its file."""
    place, colon, rest = name.partition(":")
    return f"{Path(place).name}{colon}{rest}"


def first_of_each(names: Iterable[str]) -> list[str]:
    """Blank every name that repeats the one above."""
    shown: list[str] = []
    last = None
    for name in names:
        shown.append("" if name == last else name)
        last = name
    return shown
