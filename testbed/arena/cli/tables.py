"""Tables of results for a terminal."""

import math
from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from gesscale.cli.output import stderr_console, table, warn
from gesscale.common.errors import Problem
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import Compared
from testbed.arena.evaluation.standings import Standing
from testbed.arena.evaluation.statistics import Interval, MetricComparison
from testbed.arena.report.formatting import figure, short_name, span

_REASONS_SHOWN = 5


def format_interval(interval: Interval | None) -> str:
    """Return a figure followed by its interval."""
    return "–" if interval is None else f"{figure(interval.mean)} {_ends(interval)}".strip()


def relation(comparison: MetricComparison | None) -> str:
    """Return the ratio of a policy to the baseline, or the difference if there is no ratio."""
    if comparison is None:
        return ""
    if comparison.ratio is not None:
        return f"× {format_interval(comparison.ratio)}"
    sign = "+" if comparison.difference is not None and comparison.difference.mean > 0 else ""
    return f"{sign}{format_interval(comparison.difference)}"


def _ends(interval: Interval) -> str:
    if interval.low is not None and interval.high == math.inf:
        return f"[{figure(interval.low)}, ∞]"
    return span(interval.low, interval.high)


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


def standing_tables(
    found: Sequence[Standing], prices: Sequence[float], workloads: Sequence[str], *, ratios: str, lateness: str
) -> list[Table]:
    """Return a table for each variant, and one of the policies with the lowest cost on each load.

    ``ratios`` and ``lateness`` are headings: the reference of the ratios, and the measure of lateness.
    """
    tables: list[Table] = []
    headings = ["policy", "replicas", lateness, "actions", "undone"]
    for price in prices:
        headings += [f"cost at {price:g}", f"won at {price:g}"]
    if any(standing.above_oracle_pct is not None for standing in found):
        headings.append(f"above oracle at {prices[len(prices) // 2]:g}, %")
    for variant in dict.fromkeys(standing.variant for standing in found):
        rows = [_standing_row(standing)[: len(headings)] for standing in found if standing.variant == variant]
        named = f", variant {variant}" if variant else ""
        tables.append(table(f"Over all loads{named}: {ratios}, [95 % interval]", headings, rows))
    return [*tables, _winners(found, prices, workloads)]


def _standing_row(standing: Standing) -> list[str]:
    means = (standing.replicas, standing.late_min, standing.actions, standing.undone)
    figures = [format_interval(each) for each in means]
    for cost, won in zip(standing.total_costs, standing.won, strict=True):
        figures += [format_interval(cost), str(len(won)) if standing.competes else ""]
    return [_standing_name(standing), *figures, format_interval(standing.above_oracle_pct)]


def _winners(found: Sequence[Standing], prices: Sequence[float], workloads: Sequence[str]) -> Table:
    """Return the policy with the lowest cost on each load, for each variant and price."""
    variants = list(dict.fromkeys(standing.variant for standing in found))
    winners = {
        (standing.variant, load, price): short_name(standing.policy)
        for standing in found
        for price, loads in zip(prices, standing.won, strict=True)
        for load in loads
    }
    rows = [
        [short_name(load), f"{price:g}", *(winners.get((variant, load, price), "–") for variant in variants)]
        for load in workloads
        for price in prices
    ]
    headings = ["load", "price", *(variant or "winner" for variant in variants)]
    return table("Lowest cost on each load", headings, rows)


def _standing_name(standing: Standing) -> str:
    name = short_name(standing.policy)
    if standing.lost:
        name += f" ({standing.lost} of {standing.runs} lost)"
    return name if standing.competes else f"{name} (reference)"
