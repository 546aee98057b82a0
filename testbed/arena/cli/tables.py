"""Tables of results for a terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from gesscale.cli.output import stderr_console, table, warn
from gesscale.common.errors import Problem
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import Compared
from testbed.arena.evaluation.statistics import MetricComparison
from testbed.arena.report.formatting import figure, format_interval, short_name
from testbed.arena.report.tables import Table as ReportTable

_REASONS_SHOWN = 5


def relation(comparison: MetricComparison | None) -> str:
    """Return the ratio of a policy to the baseline, or the difference if there is no ratio."""
    if comparison is None:
        return ""
    if comparison.ratio is not None:
        return f"× {format_interval(comparison.ratio)}"
    sign = "+" if comparison.difference is not None and comparison.difference.mean > 0 else ""
    return f"{sign}{format_interval(comparison.difference)}"


def warn_of_lost(results: Sequence[CaseResult]) -> None:
    """Warn of lost runs with the reasons."""
    reasons = Counter((result.case.policy, result.lost) for result in results if result.lost)
    for (policy, reason), times in reasons.most_common(_REASONS_SHOWN):
        warn([Problem("runs-lost", {"policy": short_name(policy), "runs": times, "reason": reason})])
    if len(reasons) > _REASONS_SHOWN:
        stderr_console.print(f"and {len(reasons) - _REASONS_SHOWN} other reasons; --output json has all")


def comparison_tables(baseline: str, compared: Sequence[Compared]) -> list[Table]:
    """Return a comparison of the policies for each workload and variant."""
    tables: list[Table] = []
    for workload, variant in dict.fromkeys((entry.workload, entry.variant) for entry in compared):
        inside = [entry for entry in compared if (entry.workload, entry.variant) == (workload, variant)]
        tables.append(_comparison(workload, baseline, inside))
    return tables


def _comparison(workload: str, baseline: str, entries: Sequence[Compared]) -> Table:
    """Return a block of rows for each metric, with its policies indented."""
    headings = ["", "mean", "vs. baseline", "wins"]
    if any(entry.reference_ratio is not None for entry in entries):
        headings.append("reference")
    rows = []
    for metric in dict.fromkeys(entry.metric for entry in entries):
        rows.append([metric, "", "", "", ""])
        for entry in entries:
            if entry.metric == metric:
                reference = "" if entry.reference_ratio is None else figure(entry.reference_ratio)
                figures = format_interval(entry.ours), relation(entry.against), _wins(entry), reference
                rows.append([f"  {_policy(entry)}", *figures])
    variant = f", variant {entries[0].variant}" if entries[0].variant else ""
    title = f"{short_name(workload)}{variant}: baseline {short_name(baseline)}, [95 % interval]"
    return table(title, headings, [row[: len(headings)] for row in rows])


def _policy(entry: Compared) -> str:
    name = short_name(entry.policy)
    return f"{name} ({entry.lost} of {entry.runs} lost)" if entry.lost else name


def _wins(entry: Compared) -> str:
    if entry.against is None or entry.against.wins is None:
        return ""
    return f"{100 * entry.against.wins:.0f} %"


def shown(tables: Sequence[ReportTable]) -> list[Table]:
    """Return tables of the report for the terminal."""
    return [
        table(
            each.caption + (", [95 % interval]" if any(c.span for row in each.rows for c in row.cells) else ""),
            [each.corner, *(f"{label}, {unit}" if unit else label for label, unit in each.columns)],
            [
                [
                    f"{row.name} ({row.note})" if row.note else row.name,
                    *(f"{c.text} {c.span}".strip() for c in row.cells),
                ]
                for row in each.rows
            ],
        )
        for each in tables
    ]
