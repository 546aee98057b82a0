"""``latency-map check``, ``repair``: what is wrong with a map, and a better one."""

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

PANEL = "Judge it"

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
    """Say what is wrong with a map and what to do; exit code 3 where it cannot be decided by as it is."""
    from gesscale.cli.latency_map.map_files import load_survey
    from latency_map.quality.check import check

    report = check(load_survey(file, unit, kind).survey, time.time(), asymmetry=asymmetry)
    emit(report, output, _findings_tables(report, report.findings))
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
    drop: Annotated[str, typer.Option(help="Nodes to leave out, by commas.")] = "",
    zero_diagonal: Annotated[bool, typer.Option("--zero-diagonal", help="Set every node 0 ms from itself.")] = False,
    drop_zeros: Annotated[bool, typer.Option("--drop-zeros", help="Take 0 ms between two nodes as missing.")] = False,
    symmetrise: Annotated[Symmetrise | None, typer.Option(help="Make the two directions of a pair one.")] = None,
    fill: Annotated[Fill, typer.Option(help="Estimate pairs without a measurement; they are marked.")] = Fill.NONE,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Leave out nodes until no pair is missing.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repair a map and say what was changed: the steps are taken in the order of the options here."""
    from gesscale.cli.latency_map.map_files import emit_map, load_survey, split_names
    from latency_map.quality.check import check
    from latency_map.quality.findings import Severity
    from latency_map.quality.repair import Repair, repair

    wanted = Repair(
        drop=tuple(split_names(drop)),
        zero_diagonal=zero_diagonal,
        drop_zeros=drop_zeros,
        symmetrise=symmetrise,
        fill=fill,
        drop_incomplete=drop_incomplete,
    )
    if wanted == Repair():
        raise InputError("repair: expected what to repair, got no such option; say one, such as --symmetrise max")
    repaired = repair(load_survey(file, unit, kind).survey, wanted)
    report = check(repaired.survey, time.time())
    left = tuple(finding for finding in report.findings if finding.severity is not Severity.INFO)
    document = {"changes": repaired.changes, "left": left, "usable": report.usable, "verdict": report.verdict}
    tables = [_repairs_table(repaired.changes), *_findings_tables(report, left)]
    emit_map(repaired.survey, target, document, output, tables)


def _repairs_table(changes: "tuple[AppliedRepair, ...]") -> "Table":
    rows: list[list[object]] = [[each.step, each.cells, each.text] for each in changes]
    return table("what was changed", ["step", "cells", "what"], rows or [["none", 0, "nothing"]])


def _findings_tables(report: "QualityReport", findings: "tuple[Finding, ...]") -> "list[Table]":
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
