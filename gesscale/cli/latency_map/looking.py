"""``gesscale latency-map show``: look at a map, sound or not."""

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from gesscale.cli.latency_map.reading import load_survey, plain_errors, split_names
from gesscale.cli.output import Output, emit, stderr_console, table
from latency_map import Asymmetry, LatencyMap
from latency_map.clusters import symmetric_rtt_ms
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.summary import PlacementSummary, Summary, place, summarise
from latency_map.survey import Survey

MATRIX_SHOWN_UP_TO = 12

_NAMES_OF_A_CLUSTER = 8
_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0


def show_file(
    *,
    file: Path,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    heat_map: Path | None,
    picture: Path | None,
    members: str,
    asymmetry: Asymmetry,
    output: Output,
) -> None:
    """Show a map, sound or not: figures, clusters, round trips in milliseconds, pictures."""
    with plain_errors():
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
    emit(document, output, [facts_table(file.name, facts), _round_trips(survey, latencies, len(missing))])


def facts_table(title: str, facts: Iterable[Sequence[object]]) -> Table:
    """Build a table of what and how much, set flush left."""
    rows = [[what, f"{value:.4g}" if isinstance(value, float) else value] for what, value in facts]
    return table(
        title, ["what", "value"], [[what, None if value is None else str(value)] for what, value in rows]
    )


def _draw(survey: Survey, title: str, nodes: list[str], heat_map: Path | None, picture: Path | None) -> None:
    if heat_map is None and picture is None:
        return
    from latency_map.pictures import canvas, draw_heat_map, draw_node_link

    for target, draw in ((heat_map, draw_heat_map), (picture, draw_node_link)):
        if target is not None:
            canvas.check_target(target)
            canvas.save(draw(survey, title=title, members=nodes), target)
            stderr_console.print(f"{target} written")


def _facts(summary: Summary) -> list[list[object]]:
    missing = f"{summary.missing_pairs} of {summary.pairs} pairs" if summary.pairs else "0 pairs"
    if summary.one_way_pairs:
        missing += f", {summary.one_way_pairs} known one way only"
    listed = (
        [["clusters", len(summary.clusters)]] if len(summary.clusters) == 1 else _listed(summary.clusters)
    )
    return [
        ["nodes", summary.nodes],
        ["median, ms", summary.median_ms],
        ["95th percentile, ms", summary.p95_ms],
        ["largest, ms", summary.max_ms],
        ["missing", missing],
        ["directions differ", _share(summary.asymmetric_ratio)],
        ["estimated", _share(summary.estimated_ratio)],
        ["age", _age(summary.age_s)],
        *listed,
    ]


def _listed(clusters: tuple[tuple[str, ...], ...]) -> list[list[object]]:
    several = [cluster for cluster in clusters if len(cluster) > 1]
    alone = [cluster[0] for cluster in clusters if len(cluster) == 1]
    rows: list[list[object]] = [["clusters", len(clusters)]]
    rows += [[f"  of {len(cluster)} nodes", some(cluster)] for cluster in several]
    return [*rows, ["  of one node", some(tuple(alone))]] if alone else rows


def some(names: tuple[str, ...]) -> str:
    """List the first few names, and how many follow."""
    more = f", … {len(names) - _NAMES_OF_A_CLUSTER} more" if len(names) > _NAMES_OF_A_CLUSTER else ""
    return ", ".join(names[:_NAMES_OF_A_CLUSTER]) + more


def _placement_facts(placement: PlacementSummary | None) -> list[list[object]]:
    if placement is None:
        return []
    if placement.nd_max_ms is None:
        gaps = some(tuple(f"{a} - {b}" for a, b in placement.missing))
        return [["NDmax of the members, ms", f"unknown: no delay for {gaps}"]]
    between = f" ({placement.widest[0]} - {placement.widest[1]})" if placement.widest else ""
    return [["NDmax of the members, ms", f"{placement.nd_max_ms:.4g}{between}"]]


def _share(ratio: float | None) -> str | None:
    return None if ratio is None else f"{ratio:.1%}"


def _age(age_s: float | None) -> str:
    if age_s is None:
        return "not known"
    if age_s < 0:
        return f"{-age_s:.0f} s in the future: a clock is wrong"
    for length_s, name in ((_DAY_S, "days"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if age_s >= 2 * length_s:
            return f"{age_s / length_s:.1f} {name}"
    return f"{age_s:.0f} s"


def _round_trips(survey: Survey, latencies: LatencyMap, missing: int) -> Table:
    title = f"{len(survey)} nodes, round trips in ms, pairs missing: {missing}"
    if len(survey) <= MATRIX_SHOWN_UP_TO:
        rows = [
            [name, *(None if math.isnan(delay) else delay for delay in row)]
            for name, row in zip(survey.names, survey.rtt_ms.tolist(), strict=True)
        ]
        return table(title, ["from \\ to", *survey.names], rows)
    columns = ["node", "nearest", "to nearest", "to farthest", "missing"]
    return table(title, columns, [_row(latencies, row) for row in range(len(latencies))])


def _row(latencies: LatencyMap, row: int) -> list[object]:
    delays_ms = latencies.rtt_ms[row].copy()
    delays_ms[row] = np.nan
    missing = int(np.isnan(delays_ms).sum()) - 1
    if missing == len(latencies) - 1:
        return [latencies.names[row], None, None, None, missing]
    closest = min(np.flatnonzero(delays_ms == np.nanmin(delays_ms)), key=latencies.names.__getitem__)
    nearest_ms, farthest_ms = float(delays_ms[closest]), float(np.nanmax(delays_ms))
    return [latencies.names[row], latencies.names[closest], nearest_ms, farthest_ms, missing]
