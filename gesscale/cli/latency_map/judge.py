"""``latency-map check``, ``repair``, ``show``, ``diff``: what a map says, what is wrong with it, and a better one."""

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, MapTarget, Symmetry, Unit
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.errors import InputError
from latency_map.kinds import Asymmetry, Fill, Symmetrise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from latency_map import LatencyMap
    from latency_map.difference import DelayChange, Difference, Effect
    from latency_map.quality.findings import Finding, QualityReport
    from latency_map.quality.repair import AppliedRepair
    from latency_map.summary import PlacementSummary, Summary
    from latency_map.survey import Survey

MATRIX_SHOWN_UP_TO = 12
CHANGES_SHOWN = 20
PANEL = "Judge it"
_NAMES_OF_A_CLUSTER = 8

app = typer.Typer()

Members = Annotated[
    str, typer.Option("--members", help="A placement, by commas: its NDmax, highlighted in pictures.")
]


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
    from gesscale.cli.latency_map.reading import load_survey
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
    zero_diagonal: Annotated[
        bool, typer.Option("--zero-diagonal", help="Set every node 0 ms from itself.")
    ] = False,
    drop_zeros: Annotated[
        bool, typer.Option("--drop-zeros", help="Take 0 ms between two nodes as missing.")
    ] = False,
    symmetrise: Annotated[
        Symmetrise | None, typer.Option(help="Make the two directions of a pair one.")
    ] = None,
    fill: Annotated[
        Fill, typer.Option(help="Estimate pairs without a measurement; they are marked.")
    ] = Fill.NONE,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Leave out nodes until no pair is missing.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the coordinates.", min=0)] = 0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repair a map and say what was changed: the steps are taken in the order of the options here."""
    from gesscale.cli.latency_map.reading import load_survey, split_names
    from latency_map import write_survey
    from latency_map.formats.document import survey_to_document
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
        seed=seed,
    )
    if wanted == Repair(seed=seed):
        message = "repair: expected what to repair, got no such option; say one, such as --symmetrise max"
        raise InputError(message)
    repaired = repair(load_survey(file, unit, kind).survey, wanted)
    report = check(repaired.survey, time.time())
    left = tuple(finding for finding in report.findings if finding.severity is not Severity.INFO)
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
    write_survey(repaired.survey, target)
    document = {
        "map": str(target),
        "changes": repaired.changes,
        "left": left,
        "usable": report.usable,
        "verdict": report.verdict,
    }
    emit(document, output, [_repairs_table(repaired.changes), *_findings_tables(report, left)])


@app.command(rich_help_panel=PANEL, epilog="Example: gesscale latency-map show map.json --picture map.png")
def show(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    heat_map: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a heat map: a .png or .svg file.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw nodes and links: a .png or .svg file.")
    ] = None,
    members: Members = "",
    asymmetry: Annotated[
        Asymmetry, typer.Option(help="What the figures take where two directions differ; refuse is max.")
    ] = Asymmetry.MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a map, sound or not: figures, clusters, round trips in milliseconds, pictures."""
    from gesscale.cli.latency_map.reading import load_survey, split_names
    from latency_map import LatencyMap
    from latency_map.clusters import symmetric_rtt_ms
    from latency_map.summary import place, summarise

    imported = load_survey(file, unit, kind)
    survey, nodes = imported.survey, split_names(members)
    summary = summarise(survey, now_s=time.time(), asymmetry=asymmetry)
    latencies = LatencyMap(names=survey.names, rtt_ms=symmetric_rtt_ms(survey, asymmetry))
    placement = place(latencies, nodes) if nodes else None
    _draw(survey, file.name, nodes, heat_map, picture)
    missing = latencies.missing()
    document = {
        "form": imported.form,
        "reason": imported.reason,
        "origin": survey.origin,
        "changes": survey.changes,
        "summary": summary,
        "placement": placement,
        "names": survey.names,
        "rtt_ms": survey.rtt_ms,
        "missing": missing,
    }
    facts = [*_facts(summary), *_placement_facts(placement)]
    emit(document, output, [_facts_table(file.name, facts), _round_trips(survey, latencies, len(missing))])


@app.command(
    rich_help_panel=PANEL, epilog="Example: gesscale latency-map diff old.json new.json --tolerance-ms 1"
)
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A latency map, of any form.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    *,
    unit: Unit = None,
    kind: Kind = None,
    tolerance_ms: Annotated[
        float, typer.Option(help="Round trips no farther apart than this are equal.")
    ] = 0.0,
    tolerance_ratio: Annotated[
        float, typer.Option(help="Nor those no farther apart than this share of A's.")
    ] = 0.0,
    members: Members = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what B says otherwise than A; exit code 0 where they are equal within the tolerance, 3 if not.

    The tolerance is the larger of --tolerance-ms and --tolerance-ratio. Unit and kind are for the files that do
    not say theirs.
    """
    from gesscale.cli.latency_map.reading import load_survey, split_names
    from latency_map.difference import Tolerance, compare, effect_on

    tolerance = Tolerance(ms=tolerance_ms, ratio=tolerance_ratio)
    old, new = (load_survey(file, unit, kind).survey for file in (before, after))
    difference = compare(old, new, tolerance)
    nodes = split_names(members)
    for file, survey in ((before, old), (after, new)):
        if unknown := [node for node in nodes if node not in survey.names]:
            message = f"--members: expected nodes of both maps, {file} has no {unknown[0]!r}; leave it out"
            raise InputError(message)
    effect = effect_on(old, new, nodes) if nodes else None
    document = {"equal": difference.equal, "difference": difference, "effect": effect}
    emit(document, output, _difference_tables(f"{before.name} → {after.name}", difference, effect))
    if not difference.equal:
        raise typer.Exit(3)


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


def _facts_table(title: str, facts: "Iterable[Sequence[object]]") -> "Table":
    """Build a table of what and how much, set flush left."""
    rows = [[what, f"{value:.4g}" if isinstance(value, float) else value] for what, value in facts]
    return table(
        title, ["what", "value"], [[what, None if value is None else str(value)] for what, value in rows]
    )


def _draw(
    survey: "Survey", title: str, nodes: list[str], heat_map: Path | None, picture: Path | None
) -> None:
    if heat_map is None and picture is None:
        return
    from latency_map.pictures import check_target, draw_heat_map, draw_node_link, save

    for target, draw in ((heat_map, draw_heat_map), (picture, draw_node_link)):
        if target is not None:
            check_target(target)
            save(draw(survey, title=title, members=nodes), target)
            stderr_console.print(f"{target} written")


def _facts(summary: "Summary") -> list[list[object]]:
    missing = f"{summary.missing_pairs} of {summary.pairs} pairs" if summary.pairs else "0 pairs"
    if summary.one_way_pairs:
        missing += f", {summary.one_way_pairs} known one way only"
    rows: list[list[object]] = [
        ["nodes", summary.nodes],
        ["median, ms", summary.median_ms],
        ["95th percentile, ms", summary.p95_ms],
        ["largest, ms", summary.max_ms],
        ["missing", missing],
        ["directions differ", _share(summary.asymmetric_ratio)],
        ["estimated", _share(summary.estimated_ratio)],
        ["age", _age(summary.age_s)],
        ["clusters", len(summary.clusters)],
    ]
    if len(summary.clusters) > 1:
        rows += [
            [f"  of {len(cluster)} nodes", _some(cluster)] for cluster in summary.clusters if len(cluster) > 1
        ]
        alone = tuple(cluster[0] for cluster in summary.clusters if len(cluster) == 1)
        rows += [["  of one node", _some(alone)]] if alone else []
    return rows


def _some(names: tuple[str, ...]) -> str:
    """List the first few names, and how many follow."""
    more = f", … {len(names) - _NAMES_OF_A_CLUSTER} more" if len(names) > _NAMES_OF_A_CLUSTER else ""
    return ", ".join(names[:_NAMES_OF_A_CLUSTER]) + more


def _placement_facts(placement: "PlacementSummary | None") -> list[list[object]]:
    if placement is None:
        return []
    if placement.nd_max_ms is None:
        gaps = _some(tuple(f"{a} - {b}" for a, b in placement.missing))
        return [["NDmax of the members, ms", f"unknown: no delay for {gaps}"]]
    between = f" ({placement.widest[0]} - {placement.widest[1]})" if placement.widest else ""
    return [["NDmax of the members, ms", f"{placement.nd_max_ms:.4g}{between}"]]


def _share(ratio: float | None) -> str | None:
    return None if ratio is None else f"{ratio:.1%}"


def _age(age_s: float | None) -> str:
    from gesscale.words import in_words

    if age_s is None:
        return "not known"
    return in_words(age_s) if age_s >= 0 else f"{in_words(-age_s)} in the future: a clock is wrong"


def _round_trips(survey: "Survey", latencies: "LatencyMap", missing: int) -> "Table":
    title = f"{len(survey)} nodes, round trips in ms, pairs missing: {missing}"
    if len(survey) <= MATRIX_SHOWN_UP_TO:
        rows = [
            [name, *(None if math.isnan(delay) else delay for delay in row)]
            for name, row in zip(survey.names, survey.rtt_ms.tolist(), strict=True)
        ]
        return table(title, ["from \\ to", *survey.names], rows)
    columns = ["node", "nearest", "to nearest", "to farthest", "missing"]
    return table(title, columns, [_row(latencies, row) for row in range(len(latencies))])


def _row(latencies: "LatencyMap", row: int) -> list[object]:
    import numpy as np

    delays_ms = latencies.rtt_ms[row].copy()
    delays_ms[row] = np.nan
    missing = int(np.isnan(delays_ms).sum()) - 1
    if missing == len(latencies) - 1:
        return [latencies.names[row], None, None, None, missing]
    closest = min(np.flatnonzero(delays_ms == np.nanmin(delays_ms)), key=latencies.names.__getitem__)
    nearest_ms, farthest_ms = float(delays_ms[closest]), float(np.nanmax(delays_ms))
    return [latencies.names[row], latencies.names[closest], nearest_ms, farthest_ms, missing]


def _difference_tables(title: str, difference: "Difference", effect: "Effect | None") -> "list[Table]":
    facts: list[list[object]] = [
        ["equal within the tolerance", "yes" if difference.equal else "no"],
        ["nodes added", _some(difference.added) or None],
        ["nodes removed", _some(difference.removed) or None],
        ["round trips compared", difference.compared],
        ["changed", len(difference.changed)],
        ["no longer known", len(difference.lost)],
        ["newly known", len(difference.found)],
        ["median difference, ms", difference.median_abs_ms],
        ["largest difference, ms", difference.max_abs_ms],
    ]
    if effect is not None:
        facts += [
            ["NDmax of the members, ms", f"{_nd_max(effect.before)} → {_nd_max(effect.after)}"],
            ["nearest other node", f"{effect.nearest_before or '–'} → {effect.nearest_after or '–'}"],
        ]
    named = {
        "changed": difference.changed,
        "no longer known": difference.lost,
        "newly known": difference.found,
    }
    tables = [_changes_table(name, changes) for name, changes in named.items() if changes]
    return [_facts_table(title, facts), *tables]


def _nd_max(placement: "PlacementSummary") -> str:
    return "unknown" if placement.nd_max_ms is None else f"{placement.nd_max_ms:.4g}"


def _changes_table(name: str, changes: "tuple[DelayChange, ...]") -> "Table":
    rows = [
        [each.a, each.b, each.before_ms, each.after_ms, _change_ms(each)] for each in changes[:CHANGES_SHOWN]
    ]
    of_all = f", {CHANGES_SHOWN} of {len(changes)}" if len(changes) > CHANGES_SHOWN else ""
    return table(f"{name}{of_all}, round trips in ms", ["from", "to", "A", "B", "B - A"], rows)


def _change_ms(change: "DelayChange") -> float | None:
    if change.before_ms is None or change.after_ms is None:
        return None
    return change.after_ms - change.before_ms
