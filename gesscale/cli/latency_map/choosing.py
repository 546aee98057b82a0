"""``gesscale latency-map nearest``, ``farthest``, ``choose``: the nodes that a map calls for."""

from typing import Annotated

import typer

from gesscale.cli.latency_map.app import (
    Form,
    Kind,
    MapFile,
    Symmetry,
    Unit,
    app,
    load_map,
    plain_errors,
    split_names,
)
from gesscale.cli.output import Output, emit, table
from gesscale.errors import InputError
from latency_map import Asymmetry, Ranking, farthest, least_nd_max_subset
from latency_map import nearest as rank_nearest

Members = Annotated[
    str, typer.Option("--members", help="Nodes of the placement, by commas; the driver's too.")
]


@app.command()
def nearest(
    file: MapFile,
    *,
    members: Members,
    unit: Unit = None,
    kind: Kind = None,
    candidates: Annotated[
        str, typer.Option("--candidates", help="Nodes to choose from, by commas; all but the members.")
    ] = "",
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Rank the nodes to add: least largest round trip to a member, then least mean, then name."""
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        placement = _members(members)
        offered = split_names(candidates) or [name for name in latencies.names if name not in placement]
        ranking = rank_nearest(latencies, placement, offered)
    _emit_ranking(ranking, "nearest first", output)


@app.command("farthest")
def rank_farthest(
    file: MapFile,
    *,
    members: Members,
    unit: Unit = None,
    kind: Kind = None,
    removable: Annotated[
        str, typer.Option("--removable", help="Members that may go, by commas; all of them by default.")
    ] = "",
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Rank the nodes to remove: greatest largest round trip to another member, then mean, then name."""
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        placement = _members(members)
        ranking = farthest(latencies, placement, split_names(removable) or placement)
    _emit_ranking(ranking, "farthest first", output)


@app.command()
def choose(
    file: MapFile,
    *,
    size: Annotated[int, typer.Option("--size", help="How many nodes, those kept included.")],
    unit: Unit = None,
    kind: Kind = None,
    keep: Annotated[str, typer.Option("--keep", help="Nodes that must be in, by commas.")] = "",
    exclude: Annotated[str, typer.Option("--exclude", help="Nodes that must be out, by commas.")] = "",
    candidates: Annotated[
        str, typer.Option("--candidates", help="Nodes to choose from, by commas; the whole map by default.")
    ] = "",
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Choose the nodes with the least NDmax; exit code 3 where no set of that size is possible."""
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        offered = split_names(candidates) or None
        choice = least_nd_max_subset(
            latencies, size, keep=split_names(keep), exclude=split_names(exclude), candidates=offered
        )
    document = {
        "nodes": choice.nodes,
        "nd_max_ms": choice.nd_max_ms,
        "optimal": choice.optimal,
        "gap_ms": choice.gap_ms,
    }
    certainty = "optimal" if choice.optimal else f"at most {choice.gap_ms:.4g} ms above the least"
    title = f"NDmax {choice.nd_max_ms:.4g} ms round trip, {certainty}"
    emit(document, output, [table(title, ["node"], [[node] for node in choice.nodes])])


def _members(listing: str) -> list[str]:
    names = split_names(listing)
    if not names:
        message = f"--members: expected the names of nodes, separated by commas, got {listing!r}"
        raise InputError(message)
    return names


def _emit_ranking(ranking: Ranking, order: str, output: Output) -> None:
    rows = [[item.node, item.distance_ms, item.mean_ms] for item in ranking.ranked]
    tables = [table(f"{order}, round trips in ms", ["node", "largest", "mean"], rows)]
    if ranking.unreachable:
        lost = [[item.node, ", ".join(item.missing_to)] for item in ranking.unreachable]
        tables.append(table("not ranked", ["node", "no delay to"], lost))
    emit(ranking, output, tables)
