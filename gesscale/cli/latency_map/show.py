"""``latency-map show``: figures and pictures of a map."""

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, Unit
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from latency_map.summary import PlacementSummary, Summary
    from latency_map.survey import Survey

MATRIX_SHOWN_UP_TO = 12
_MAX_NAMES_SHOWN = 8

app = typer.Typer()


@app.command(
    rich_help_panel="Inspect and repair a map", epilog="Example: gesscale latency-map show map.json --picture map.png"
)
def show(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    heat_map: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a heat map: a .png or .svg file.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw nodes and links: a .png or .svg file.")
    ] = None,
    members: Annotated[
        str,
        typer.Option(help="Nodes of a placement, separated by commas: shows its NDmax, and highlights it in pictures."),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show any map: figures, clusters, round trips in milliseconds, pictures.

    If the two directions of a pair differ, the larger counts.
    """
    from gesscale.cli.latency_map.map_files import load_survey, split_names
    from latency_map.summary import clusters, summarise, summarise_placement, symmetric_map

    imported = load_survey(file, unit, kind)
    survey, nodes = imported.survey, split_names(members)
    summary, groups, latencies = summarise(survey), clusters(survey), symmetric_map(survey)
    placement = summarise_placement(latencies, nodes) if nodes else None
    age_s = None if survey.measured_at_s is None else time.time() - survey.measured_at_s
    _draw(survey, file.name, nodes, heat_map, picture)
    document = {
        "format": imported.map_format,
        "reason": imported.reason,
        "origin": survey.origin,
        "changes": survey.changes,
        "summary": summary,
        "age_s": age_s,
        "clusters": groups,
        "placement": placement,
        "names": survey.names,
        "rtt_ms": survey.rtt_ms,
        "missing": latencies.missing(),
    }
    rows = [*summary_facts(summary), ("age", _age(age_s)), *_cluster_facts(groups), *_placement_facts(placement)]
    tables = [table(file.name, ["figure", "value"], rows)]
    if len(survey) <= MATRIX_SHOWN_UP_TO:
        tables.append(_matrix(survey))
    emit(document, output, tables)


def _draw(survey: "Survey", title: str, nodes: list[str], heat_map: Path | None, picture: Path | None) -> None:
    if heat_map is None and picture is None:
        return
    from latency_map.pictures import draw_heat_map, draw_node_link, picture_path, save

    for target, draw in ((heat_map, draw_heat_map), (picture, draw_node_link)):
        if target is not None:
            picture_path(target)
            save(draw(survey, title=title, members=nodes), target)
            stderr_console.print(f"{target} written")


def summary_facts(summary: "Summary") -> list[tuple[str, str | None]]:
    """Return the figures of a map with their names."""
    missing = f"{summary.missing_pairs} of {summary.pairs} pairs"
    if summary.one_way_pairs:
        missing += f", {summary.one_way_pairs} known one way only"
    return [
        ("nodes", str(summary.nodes)),
        ("median, ms", _figure(summary.median_ms)),
        ("95th percentile, ms", _figure(summary.p95_ms)),
        ("largest, ms", _figure(summary.max_ms)),
        ("missing", missing),
        ("directions differ", _share(summary.asymmetric_ratio)),
        ("estimated", _share(summary.estimated_ratio)),
    ]


def _cluster_facts(groups: "Sequence[tuple[str, ...]]") -> list[tuple[str, str]]:
    rows = [("clusters", str(len(groups)))]
    if len(groups) > 1:
        rows += [(f"  of {len(group)} nodes", _format_names(group)) for group in groups if len(group) > 1]
        alone = [group[0] for group in groups if len(group) == 1]
        rows += [("  of one node", _format_names(alone))] if alone else []
    return rows


def _placement_facts(placement: "PlacementSummary | None") -> list[tuple[str, str]]:
    if placement is None:
        return []
    if placement.nd_max_ms is None:
        gaps = _format_names([f"{a} - {b}" for a, b in placement.missing])
        return [("NDmax of the members, ms", f"unknown: no delay for {gaps}")]
    between = f" ({placement.widest[0]} - {placement.widest[1]})" if placement.widest else ""
    return [("NDmax of the members, ms", f"{placement.nd_max_ms:.4g}{between}")]


def _format_names(names: "Sequence[str]") -> str:
    """List the first few names, and the number of the others."""
    more = f", … {len(names) - _MAX_NAMES_SHOWN} more" if len(names) > _MAX_NAMES_SHOWN else ""
    return ", ".join(names[:_MAX_NAMES_SHOWN]) + more


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _share(ratio: float | None) -> str | None:
    return None if ratio is None else f"{ratio:.1%}"


def _age(age_s: float | None) -> str:
    from gesscale.formatting import format_duration

    if age_s is None:
        return "unknown"
    return format_duration(age_s) if age_s >= 0 else f"{format_duration(-age_s)} in the future: check the clocks"


def _matrix(survey: "Survey") -> "Table":
    rows = [
        [name, *(None if math.isnan(delay) else delay for delay in row)]
        for name, row in zip(survey.names, survey.rtt_ms.tolist(), strict=True)
    ]
    return table("round trips in ms", ["from \\ to", *survey.names], rows)
