"""The report of a run: whether no row was lost or doubled, replicas over time, decisions, gaps, and a figure."""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gesscale.cli.output import API_VERSION, table
from gesscale.document import as_document
from testbed.demo.figure import draw
from testbed.demo.record import Record, write_records
from testbed.demo.report import SETTLE_S, changes_table, promises_table
from testbed.demo.verdict import Check
from testbed.pipeline.sink import SinkCount
from testbed.two_operators.day import Day
from testbed.two_operators.scenario import Scenario


def write_report(day: Day, scenario: Scenario, policy: str, folder: Path, console: Console) -> bool:
    """Write the report folder and show its summary.

    Parameters
    ----------
    day
        What happened.
    scenario, policy
        What was played, and who scaled it.
    folder
        Where to.
    console
        Where the summary is shown.

    Returns
    -------
    bool
        Whether every promise was kept.
    """
    checks = row_checks(day)
    figures = {name: operator_figures(record) for name, record in day.records.items()}
    write_records(day.records, folder)
    title = f"policy {policy}: a New York day in {scenario.day_s:.0f} s through two operators"
    draw(day.records, title, folder / "figure.png")
    summary = {
        "apiVersion": API_VERSION,
        "policy": policy,
        "rows": {
            "produced": day.produced,
            "broken": day.broken,
            "handed_on": day.handed_on,
            "in_sink": day.sink,
        },
        "operators": figures,
        "promises": {check.promise: check.kept for check in checks},
    }
    (folder / "summary.json").write_text(json.dumps(as_document(summary), indent=2) + "\n")
    with (folder / "summary.txt").open("w") as file:
        for shown in (*_changes(day.records), _figures_table(figures), promises_table(checks)):
            console.print(shown)
            Console(file=file, width=110).print(shown)
    console.print(
        f"report: {folder}/figure.png, summary.txt, decisions.jsonl, batches.jsonl\n"
        f"why each decision: gesscale explain -c {folder}/gesscale.yaml\n"
        f"what another policy would have decided: gesscale replay {folder} --policy NAME\n"
        f"once more with these settings: testbed workflow --config {folder}/gesscale.yaml",
        highlight=False,
    )
    return all(check.kept for check in checks)


def row_checks(day: Day) -> tuple[Check, ...]:
    """Check at each end of the stream that every valid row is there, and once.

    Parameters
    ----------
    day
        With the rows counted.

    Returns
    -------
    tuple of Check
        One for each topic between operators, and one for the files.
    """
    valid = day.produced - day.broken
    sent = f"{day.produced} produced less {day.broken} without a position = {valid}"
    counts = {f"rows out of {name} = valid rows produced, each once": n for name, n in day.handed_on.items()}
    counts["rows in the sink = valid rows produced, each once"] = day.sink
    return tuple(
        Check(promise, count.rows == count.distinct == valid, f"{sent}; {_told(count)}")
        for promise, count in counts.items()
    )


def operator_figures(record: Record) -> dict[str, float]:
    """Return what a run came to for one operator.

    Parameters
    ----------
    record
        Its batches and decisions.

    Returns
    -------
    dict of str to float
        Rows, changes, replicas (the mean over time), the longest times between two finished batches, s, in the whole
        run and around changes, and the most rows that waited.
    """
    batches = record.ordered
    spans = [(after.ended_at_s - before.ended_at_s, len(after.nodes)) for before, after in pairwise(batches)]
    seconds = sum(span_s for span_s, _ in spans)
    return {
        "rows": record.processed_rows,
        "batches": len(batches),
        "times_up": sum(bool(decision.outcome.added) for decision in record.acted),
        "times_down": sum(bool(decision.outcome.removed) for decision in record.acted),
        "replicas_most": max((len(batch.nodes) for batch in batches), default=0),
        "replicas_mean": sum(span_s * replicas for span_s, replicas in spans) / seconds if seconds else 0.0,
        "longest_gap_s": max((span_s for span_s, _ in spans), default=0.0),
        "longest_gap_at_change_s": max(record.longest_gaps_s(SETTLE_S), default=0.0),
        "backlog_rows_most": max((batch.backlog_rows or 0.0 for batch in batches), default=0.0),
    }


def _changes(records: Mapping[str, Record]) -> list[Table]:
    return [changes_table(record, f"Reconfigurations of {name}") for name, record in records.items()]


def _figures_table(figures: Mapping[str, Mapping[str, float]]) -> Table:
    rows = {key: [each[key] for each in figures.values()] for each in figures.values() for key in each}
    return table("Figures", ("figure", *figures), [(key, *values) for key, values in rows.items()])


def _told(count: SinkCount) -> str:
    return f"{count.rows} there, {count.duplicated} doubled, {count.missing} missing"
