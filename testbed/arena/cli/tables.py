"""Tables of results for a terminal: figures with their intervals, as many columns next to each other as fit."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table

from gesscale.cli.output import room, stderr_console, table
from testbed.arena.case import CaseResult
from testbed.arena.judging.comparing import Compared
from testbed.arena.judging.standings import Standing
from testbed.arena.judging.statistics import Comparison, Interval
from testbed.arena.report.formatting import figure, short_name, span

_FRAME = 3
"""Blanks and line that each column adds."""

_REASONS_SHOWN = 5


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


def _ends(interval: Interval) -> str:
    if interval.low is not None and interval.high == math.inf:
        return f"[{figure(interval.low)}, ∞]"
    return span(interval.low, interval.high)


def first_of_each(names: Iterable[str]) -> list[str]:
    """Blank every name that repeats the one above."""
    shown: list[str] = []
    last = None
    for name in names:
        shown.append("" if name == last else name)
        last = name
    return shown


def note_lost(results: Sequence[CaseResult]) -> None:
    """Say on stderr which runs were lost, and why."""
    reasons = Counter((result.case.policy, result.lost) for result in results if result.lost)
    for (policy, reason), times in reasons.most_common(_REASONS_SHOWN):
        runs = "run" if times == 1 else "runs"
        stderr_console.print(f"{short_name(policy)} lost {times} {runs}: {reason}")
    if len(reasons) > _REASONS_SHOWN:
        stderr_console.print(f"and {len(reasons) - _REASONS_SHOWN} other reasons; see lost in --output json")


def comparison_tables(baseline: str, compared: Sequence[Compared]) -> list[Table]:
    """Return for each workload and variant every policy against the baseline."""
    tables: list[Table] = []
    for workload, variant in dict.fromkeys((entry.workload, entry.variant) for entry in compared):
        inside = [entry for entry in compared if (entry.workload, entry.variant) == (workload, variant)]
        tables += _comparison(workload, baseline, inside)
    return tables


def _comparison(workload: str, baseline: str, entries: Sequence[Compared]) -> list[Table]:
    """Return a block of rows for each metric, its policies indented."""
    rows: list[Compared | str] = []
    for metric in dict.fromkeys(entry.metric for entry in entries):
        rows += [metric, *(entry for entry in entries if entry.metric == metric)]

    def column(heading: str, cell: Callable[[Compared], str]) -> TextColumn:
        return TextColumn(heading=heading, cells=["" if isinstance(row, str) else cell(row) for row in rows])

    names = [row if isinstance(row, str) else f"  {_policy(row)}" for row in rows]
    figures = [
        column("mean", lambda entry: on_one_line(entry.ours)),
        column("to the baseline", lambda entry: relation(entry.against)),
        column("better", _wins),
    ]
    if any(entry.reference_ratio is not None for entry in entries):
        figures.append(column("reference", _reference))
    variant = f", variant {entries[0].variant}" if entries[0].variant else ""
    title = f"{short_name(workload)}{variant}: against {short_name(baseline)}, [95 % interval]"
    return fitted(title, [TextColumn(heading="", cells=names)], figures)


def _reference(entry: Compared) -> str:
    return "" if entry.reference_ratio is None else figure(entry.reference_ratio)


def _policy(entry: Compared) -> str:
    name = short_name(entry.policy)
    return f"{name} ({entry.lost} of {entry.runs} lost)" if entry.lost else name


def _wins(entry: Compared) -> str:
    if entry.against is None or entry.against.wins is None:
        return ""
    return f"{100 * entry.against.wins:.0f} %"


def standing_tables(
    found: Sequence[Standing],
    prices: Sequence[float],
    workloads: Sequence[str],
    *,
    ratios: str,
    lateness: str,
) -> list[Table]:
    """Return a table for each variant, and who has the least bill on each load.

    ``ratios`` and ``lateness`` say in the headings what the figures are ratios to, and what counts as late.
    """
    tables: list[Table] = []
    middle = prices[len(prices) // 2]
    for variant in dict.fromkeys(standing.variant for standing in found):
        own = [standing for standing in found if standing.variant == variant]
        keys = [TextColumn(heading="policy", cells=[_standing_name(standing) for standing in own])]
        figures = [
            TextColumn(heading="replicas", cells=[on_one_line(standing.replicas) for standing in own]),
            TextColumn(heading=lateness, cells=[on_one_line(standing.late_min) for standing in own]),
            TextColumn(heading="actions", cells=[on_one_line(standing.actions) for standing in own]),
        ]
        for index, price in enumerate(prices):
            bills = [on_one_line(standing.bills[index]) for standing in own]
            won = [str(len(standing.won[index])) if standing.competes else "" for standing in own]
            figures += [
                TextColumn(heading=f"bill at {price:g}\na late minute", cells=bills),
                TextColumn(heading=f"won\nat {price:g}", cells=won),
            ]
        if any(standing.above_foresight_pct is not None for standing in own):
            above = [on_one_line(standing.above_foresight_pct) for standing in own]
            figures.append(TextColumn(heading=f"above foresight\nat {middle:g}, %", cells=above))
        named = f", variant {variant}" if variant else ""
        title = f"Over all loads{named}: {ratios}, [95 % interval]"
        tables += fitted(title, keys, figures)
    return [*tables, *_winners(found, prices, workloads)]


def _winners(found: Sequence[Standing], prices: Sequence[float], workloads: Sequence[str]) -> list[Table]:
    """Return who has the least bill on each load, for each variant and price."""
    variants = list(dict.fromkeys(standing.variant for standing in found))
    rows = [(load, price) for load in workloads for price in range(len(prices))]
    keys = [
        TextColumn(heading="load", cells=first_of_each(short_name(load) for load, _ in rows)),
        TextColumn(heading="late minute", cells=[f"{prices[price]:g}" for _, price in rows]),
    ]
    columns = []
    for variant in variants:
        winner = {
            (load, price): short_name(standing.policy)
            for standing in found
            if standing.variant == variant
            for price, loads in enumerate(standing.won)
            for load in loads
        }
        columns.append(TextColumn(heading=variant or "winner", cells=[winner.get(row, "–") for row in rows]))
    return fitted("The least bill on each load", keys, columns)


def _standing_name(standing: Standing) -> str:
    name = short_name(standing.policy)
    if standing.lost:
        name += f" ({standing.lost} of {standing.runs} lost)"
    return name if standing.competes else f"{name} (knows the load)"
