"""Formats the results as a Markdown page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown(document: Mapping[str, Any]) -> str:
    """Return the results as Markdown.

    Parameters
    ----------
    document
        Content of ``results.json``.
    """
    series = {name: part for name, part in document["series"].items() if part}
    lines = [
        "# Delays of a map, configured and measured",
        "",
        document["about"],
        "",
        *_series_table(series),
        "",
        "## Pairs",
        "",
        *_pair_table({name: part for name, part in series.items() if name != "no delays"}),
        "",
        "## Checks",
        "",
        *_findings(document["findings"]),
    ]
    return "\n".join(lines) + "\n"


def _series_table(series: Mapping[str, Any]) -> Iterable[str]:
    columns = (
        *("", "runs", "within tolerance", "error: median (minimum to maximum) ms"),
        *("spread within a run ms", "between runs ms", "lost", "load average"),
    )
    yield from _head(columns)
    for name, part in series.items():
        each = part["summary"]
        yield _row(
            (
                name,
                each["runs"],
                f"{each['pairs_within_tolerance']} of {each['pairs']}",
                f"{each['median_error_ms']:.2f} ({each['min_error_ms']:.2f} to {each['max_error_ms']:.2f})",
                f"{each['median_spread_within_a_run_ms']:.2f}",
                f"{each['median_spread_between_runs_ms']:.2f}",
                each["lost"],
                " to ".join(f"{load:.1f}" for load in each["load_average"]),
            )
        )


def _pair_table(series: Mapping[str, Any]) -> Iterable[str]:
    """Return a row for each pair: for each series its median, error, and spread within a run and between runs."""
    yield from _head(("pair", "configured ms", *(f"{name}: median, error (spread within, between)" for name in series)))
    by_pair = zip(*(part["pairs"] for part in series.values()), strict=True)
    for pairs in by_pair:
        cells = (
            f"{pair['median_ms']:.2f}, {pair['error_ms']:+.2f} ({pair['within_ms']:.2f}, {pair['between_ms']:.2f})"
            + ("" if pair["ok"] else " NO")
            for pair in pairs
        )
        yield _row((f"{pairs[0]['first']} - {pairs[0]['second']}", f"{pairs[0]['expected_ms']:g}", *cells))


def _findings(findings: Mapping[str, Any]) -> Iterable[str]:
    for name, found in findings.items():
        yield f"- {name}: " + "; ".join(f"{check}: {_formatted(value)}" for check, value in found.items())


def _formatted(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return value


def _head(columns: Sequence[str]) -> Iterable[str]:
    yield _row(columns)
    yield _row("---" for _ in columns)


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
