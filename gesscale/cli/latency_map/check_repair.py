"""``latency-map check`` and ``repair``."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, MapTarget, Symmetry, Unit
from gesscale.cli.output import Output, OutputOption, emit, table
from gesscale.errors import InputError
from latency_map.kinds import Fill, Symmetrise

if TYPE_CHECKING:
    from rich.table import Table

    from latency_map.quality.findings import Finding, QualityReport
    from latency_map.quality.repair import AppliedRepair

PANEL = "Inspect and repair a map"

_FINDING_FIGURES = ("severity", "count", "out_of", "counted", "share_ratio", "nodes", "rtt_ms", "advice")

app = typer.Typer()


@app.command("check", rich_help_panel=PANEL, epilog="Example: gesscale latency-map check map.json")
def check_map(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Report the faults of a map and what to do about them; exit with code 3 if decisions cannot use it."""
    from gesscale.cli.latency_map.map_files import load_survey
    from latency_map.quality.check import check

    report = check(load_survey(file, unit, kind).survey, time.time(), asymmetry=asymmetry)
    document = {
        "nodes": report.nodes,
        "pairs": report.pairs,
        "findings": _findings_document(report.findings),
        "usable": report.usable,
        "repairs": report.repairs,
        "verdict": report.verdict,
    }
    emit(document, output, _findings_tables(report, report.findings))
    if not report.usable:
        raise typer.Exit(3)


@app.command(
    "repair",
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map repair map.json --symmetrise max --fill coordinates --to repaired.json",
)
def repair_map(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    target: MapTarget = None,
    drop: Annotated[str, typer.Option(help="Nodes to drop, separated by commas.")] = "",
    zero_diagonal: Annotated[
        bool, typer.Option("--zero-diagonal", help="Set the delay of each node to itself to 0 ms.")
    ] = False,
    drop_zeros: Annotated[bool, typer.Option("--drop-zeros", help="Treat 0 ms between two nodes as missing.")] = False,
    symmetrise: Annotated[Symmetrise | None, typer.Option(help="Merge the two directions of each pair.")] = None,
    fill: Annotated[Fill, typer.Option(help="Estimate pairs without a measurement, and mark them.")] = Fill.NONE,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Drop nodes until no pair is missing.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repair a map and report the changes; the steps are done in the order of the options here."""
    from gesscale.cli.latency_map.map_files import emit_map, load_survey, split_names
    from latency_map.quality.check import check
    from latency_map.quality.findings import Severity
    from latency_map.quality.repair import Repair, repair

    options = Repair(
        drop=tuple(split_names(drop)),
        zero_diagonal=zero_diagonal,
        drop_zeros=drop_zeros,
        symmetrise=symmetrise,
        fill=fill,
        drop_incomplete=drop_incomplete,
    )
    if options == Repair():
        raise InputError("repair-option-missing")
    repaired = repair(load_survey(file, unit, kind).survey, options)
    report = check(repaired.survey, time.time())
    remaining = tuple(finding for finding in report.findings if finding.severity is not Severity.INFO)
    document = {
        "changes": repaired.changes,
        "remaining": _findings_document(remaining),
        "usable": report.usable,
        "verdict": report.verdict,
    }
    tables = [_repairs_table(repaired.changes), *_findings_tables(report, remaining)]
    emit_map(repaired.survey, target, document, output, tables)


def _repairs_table(changes: "tuple[AppliedRepair, ...]") -> "Table":
    rows: list[list[object]] = [[each.step, each.cells, each.text] for each in changes]
    return table("changes", ["step", "cells", "change"], rows or [["none", 0, "nothing"]])


def _findings_tables(report: "QualityReport", findings: "tuple[Finding, ...]") -> "list[Table]":
    title = f"{report.nodes} nodes, {report.pairs} pairs: {report.verdict}"
    if not findings:
        return [table(title, ["finding"], [["none"]])]
    found = [
        [
            finding.severity,
            finding.code,
            f"{finding.count} of {finding.out_of} {finding.counted} ({finding.share_ratio:.2%})",
            str(finding.problem),
        ]
        for finding in findings
    ]
    advice = [[finding.code, finding.advice] for finding in findings]
    return [
        table(title, ["severity", "finding", "count", "worst case"], found),
        table("what to do", ["finding", "advice"], advice),
    ]


def _findings_document(findings: "tuple[Finding, ...]") -> list[dict[str, object]]:
    return [
        {**finding.problem.as_json(), **{name: getattr(finding, name) for name in _FINDING_FIGURES}}
        for finding in findings
    ]
