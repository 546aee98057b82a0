"""``gesscale latency-map check``, ``repair``: what is wrong with a map, and a better one."""

import time
from pathlib import Path

import typer
from rich.table import Table

from gesscale.cli.latency_map.reading import load_survey, plain_errors, split_names
from gesscale.cli.output import Output, emit, stderr_console, table
from gesscale.errors import InputError
from latency_map import write_survey
from latency_map.formats.document import survey_to_document
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, Fill, Symmetrise
from latency_map.quality.check import check
from latency_map.quality.findings import Finding, QualityReport, Severity
from latency_map.quality.repair import AppliedRepair, Repair, repair

FAULT_FOUND = 3


def check_file(
    *, file: Path, unit: DelayUnit | None, kind: DelayKind | None, asymmetry: Asymmetry | None, output: Output
) -> None:
    """Say what is wrong with a map and what to do; exit code 3 where it cannot be decided by as it is."""
    with plain_errors():
        report = check(load_survey(file, unit, kind).survey, time.time(), asymmetry=asymmetry)
    emit(report, output, _findings_tables(report, report.findings))
    if not report.usable:
        raise typer.Exit(FAULT_FOUND)


def repair_file(
    *,
    file: Path,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    target: Path | None,
    drop: str,
    zero_diagonal: bool,
    drop_zeros: bool,
    symmetrise: Symmetrise | None,
    fill: Fill,
    drop_incomplete: bool,
    seed: int,
    output: Output,
) -> None:
    """Repair a map and say what was changed: the steps are taken in the order of the options here."""
    wanted = Repair(
        drop=tuple(split_names(drop)),
        zero_diagonal=zero_diagonal,
        drop_zeros=drop_zeros,
        symmetrise=symmetrise,
        fill=fill,
        drop_incomplete=drop_incomplete,
        seed=seed,
    )
    if wanted == Repair(seed=seed):
        message = "repair: expected what to repair, got no such option; say one, such as --symmetrise max"
        raise InputError(message)
    with plain_errors():
        repaired = repair(load_survey(file, unit, kind).survey, wanted)
        report = check(repaired.survey, time.time())
        if target is not None:
            write_survey(repaired.survey, target)
    left = [finding for finding in report.findings if finding.severity is not Severity.INFO]
    if target is None:
        typer.echo(survey_to_document(repaired.survey), nl=False)
        for change in repaired.changes:
            stderr_console.print(f"{change.step}: {change.text}")
        for finding in left:
            stderr_console.print(
                f"left, {finding.severity}: {finding.concern} ({finding.count}); {finding.advice}"
            )
        stderr_console.print(report.verdict)
        return
    document = {
        "map": str(target),
        "changes": repaired.changes,
        "left": left,
        "usable": report.usable,
        "verdict": report.verdict,
    }
    emit(document, output, [_changes_table(repaired.changes), *_findings_tables(report, tuple(left))])


def _changes_table(changes: tuple[AppliedRepair, ...]) -> Table:
    rows: list[list[object]] = [[each.step, each.cells, each.text] for each in changes]
    return table("what was changed", ["step", "cells", "what"], rows or [["none", 0, "nothing"]])


def _findings_tables(report: QualityReport, findings: tuple[Finding, ...]) -> list[Table]:
    title = f"{report.nodes} nodes, {report.pairs} pairs: {report.verdict}"
    if not findings:
        return [table(title, ["finding"], [["none"]])]
    found = [
        [
            finding.severity,
            finding.concern,
            f"{finding.count} of {finding.out_of} {finding.counted} ({finding.share_ratio:.2%})",
            finding.worst.text if finding.worst else None,
        ]
        for finding in findings
    ]
    advice = [[finding.concern, finding.advice] for finding in findings]
    return [
        table(title, ["severity", "finding", "how many", "worst case"], found),
        table("what to do", ["finding", "advice"], advice),
    ]
