"""What measuring commands say, and where the map goes: to a file, or to stdout while the report goes to stderr."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import typer
from rich.table import Table

from gesscale.cli.output import Output, emit, stderr_console, table
from latency_map import Survey, write_survey
from latency_map.formats.document import survey_to_document
from latency_map.measure.gather import GatheredMap
from latency_map.measure.row import TargetReport


def report_row(
    source: str,
    reports: Mapping[str, TargetReport],
    survey: Survey | None,
    target: Path | None,
    output: Output,
) -> None:
    """Write the map of one row, if there is one, and what each node's probes said."""
    columns = ("node", "address", "median", "p95", "jitter", "loss", "replies")
    documents = {node: _target_document(report) for node, report in reports.items()}
    rows = [
        (
            node,
            report.address,
            report.summary.median_ms,
            report.summary.p95_ms,
            report.summary.jitter_ms,
            report.summary.loss_ratio,
            report.summary.replies,
        )
        for node, report in reports.items()
    ]
    tables = [table(f"from {source}, round trips in ms, loss as a share", columns, rows)]
    lost = [(node, _failures(report)) for node, report in reports.items() if report.summary.loss_ratio]
    if lost:
        tables.append(table("without reply", ("node", "probes"), lost))
    document = {"source": source, "targets": documents}
    _write(survey, target, document, output, tables)


def report_gathered(
    gathered: GatheredMap, asked: int, now_s: float, target: Path | None, output: Output
) -> None:
    """Write the map that agents gave, how much of it is measured, and who did not answer."""
    survey = gathered.survey
    age_s = None if survey.measured_at_s is None else now_s - survey.measured_at_s
    document = {
        "nodes": len(survey),
        "agents_asked": asked,
        "agents_answered": asked - len(gathered.unreachable),
        "pairs": _pairs(survey),
        "measured_at_s": survey.measured_at_s,
        "oldest_figure_s": age_s,
        "changes": survey.changes,
        "unreachable": gathered.unreachable,
    }
    pairs = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in _pairs(survey).items())
    rows = [
        ("nodes", f"{len(survey)}"),
        ("agents", f"{asked - len(gathered.unreachable)} of {asked} answered"),
        ("pairs", pairs),
        ("oldest figure", "of unknown age" if age_s is None else f"{age_s:.0f} s old"),
        *(("changed", change) for change in survey.changes),
    ]
    tables = [table("GatheredMap", ("what", "found"), rows)]
    if gathered.unreachable:
        tables.append(table("no figures from", ("agent", "because"), list(gathered.unreachable.items())))
    _write(survey, target, document, output, tables)


def _write(
    survey: Survey | None, target: Path | None, document: object, output: Output, tables: Sequence[Table]
) -> None:
    if target is None:
        for each in tables:
            stderr_console.print(each)
        if survey is not None:
            typer.echo(survey_to_document(survey), nl=False)
        return
    if survey is not None:
        write_survey(survey, target)
        stderr_console.print(f"map written to {target}")
    emit(document, output, tables)


def _target_document(report: TargetReport) -> dict[str, object]:
    return {
        "address": report.address,
        **asdict(report.summary),
        "loss_ratio": report.summary.loss_ratio,
        "reason": report.reason,
    }


def _failures(report: TargetReport) -> str:
    counts = {
        "timeouts": report.summary.timeouts,
        "unknown host": report.summary.unknown_host,
        "unreachable": report.summary.unreachable,
    }
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{said}: {report.reason}" if report.reason else said


def _pairs(survey: Survey) -> dict[str, int]:
    upper = np.triu(np.ones((len(survey), len(survey)), dtype=bool), 1)
    estimated = survey.estimated
    known = ~np.isnan(survey.rtt_ms) & ~estimated
    return {
        "measured_both_ways": int((known & known.T & upper).sum()),
        "one_way": int(((known ^ known.T) & upper).sum()),
        "estimated": int((estimated & upper).sum()),
        "unknown": int((np.isnan(survey.rtt_ms) & np.isnan(survey.rtt_ms.T) & upper).sum()),
    }
