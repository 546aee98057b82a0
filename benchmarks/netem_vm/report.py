"""The results as a page of markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown(document: Mapping[str, Any]) -> str:
    """Write the results.

    Parameters
    ----------
    document
        Content of ``results.json``.
    """
    series = {name: part for name, part in document["series"].items() if part}
    lines = [
        "# Delays of a map, asked and measured",
        "",
        document["about"],
        "",
        *_series_table(series),
        "",
        "## Pair by pair",
        "",
        *_pair_table({name: part for name, part in series.items() if name != "no delays"}),
        "",
        "## What else was tried",
        "",
        *_findings(document["findings"]),
    ]
    return "\n".join(lines) + "\n"


def _series_table(series: Mapping[str, Any]) -> Iterable[str]:
    columns = (
        *("", "runs", "within tolerance", "error: median (least to greatest) ms"),
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
                f"{each['median_error_ms']:.2f} ({each['least_error_ms']:.2f} to {each['greatest_error_ms']:.2f})",
                f"{each['median_spread_within_a_run_ms']:.2f}",
                f"{each['median_spread_between_runs_ms']:.2f}",
                each["lost"],
                " to ".join(f"{load:.1f}" for load in each["load_average"]),
            )
        )


def _pair_table(series: Mapping[str, Any]) -> Iterable[str]:
    """Write a row for each pair; for each series its median, error, and spread within a run and between runs."""
    yield from _head(("pair", "asked ms", *(f"{name}: median, error (spread within, between)" for name in series)))
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
        yield f"- {name}: " + "; ".join(f"{what}: {_said(value)}" for what, value in found.items())


def _said(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return value


def _head(columns: Sequence[str]) -> Iterable[str]:
    yield _row(columns)
    yield _row("---" for _ in columns)


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
