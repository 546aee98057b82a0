"""``latency-map choose`` and ``rank``: nodes for a placement, nodes to add, nodes to remove."""

from dataclasses import asdict
from typing import Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapFile, Symmetry, Unit
from gesscale.cli.output import Output, OutputOption, emit, table
from gesscale.errors import InputError
from latency_map.kinds import Method

PANEL = "Use a map"

app = typer.Typer()


@app.command(rich_help_panel=PANEL, epilog="Example: gesscale latency-map choose map.json --size 4")
def choose(
    file: MapFile,
    *,
    size: Annotated[int, typer.Option(help="Number of nodes, the kept ones included.")],
    unit: Unit = None,
    kind: Kind = None,
    keep: Annotated[str, typer.Option(help="Nodes that must be in the set, separated by commas.")] = "",
    candidates: Annotated[
        str | None, typer.Option(help="Nodes to choose from, separated by commas; by default all of the map.")
    ] = None,
    exclude: Annotated[str, typer.Option(help="Nodes that must not be in the set, separated by commas.")] = "",
    method: Annotated[
        Method,
        typer.Option(help="Exact, greedy with a certified gap, or auto: exact up to 60 candidates, then greedy."),
    ] = Method.AUTO,
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Choose the nodes with the least NDmax; exit with code 3 if there is no such set."""
    from gesscale.cli.latency_map.map_files import load_map, require_names, split_names
    from latency_map import min_nd_max_subset

    latencies = load_map(file, unit, kind, asymmetry)
    kept, excluded = split_names(keep), split_names(exclude)
    if both := sorted({*kept} & {*excluded}):
        raise InputError("choice-nodes-contradict", nodes=both)
    latencies.positions(excluded)
    named = latencies.names if candidates is None else require_names("--candidates", candidates)
    offered = [name for name in named if name not in excluded]
    choice = min_nd_max_subset(latencies, size, keep=kept, candidates=offered, method=method)
    document = {**asdict(choice), "optimal": choice.optimal}
    certainty = "optimal" if choice.optimal else f"at most {choice.gap_ms:.4g} ms above the least"
    stopped = ", the search stopped early" if choice.method is Method.EXACT and not choice.optimal else ""
    title = f"NDmax {choice.nd_max_ms:.4g} ms round trip, {certainty} ({choice.method}{stopped})"
    emit(document, output, [table(title, ["node"], [[node] for node in choice.nodes])])


@app.command(rich_help_panel=PANEL, epilog="Example: gesscale latency-map rank map.json --members edge1,edge2")
def rank(
    file: MapFile,
    *,
    members: Annotated[
        str, typer.Option(help="Nodes of the placement, that of the driver included, separated by commas.")
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Rank the members to remove, farthest first.")] = False,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the nodes to add to a placement: by largest round trip to a member, then by mean, then by name."""
    from gesscale.cli.latency_map.map_files import load_map, require_names
    from latency_map import rank_by_distance

    latencies, placement = load_map(file, unit, kind, asymmetry), require_names("--members", members)
    others = [name for name in latencies.names if name not in placement]
    found = rank_by_distance(latencies, placement, placement if remove else others, farthest_first=remove)
    rows = list(zip(found.names, found.distance_ms.tolist(), found.means_ms(), strict=True))
    document = {
        "ranked": [{"node": node, "distance_ms": most, "mean_ms": mean} for node, most, mean in rows],
        "unreachable": found.unreachable,
    }
    order = "farthest first" if remove else "nearest first"
    tables = [table(f"{order}, round trips in ms", ["node", "largest", "mean"], rows)]
    if found.unreachable:
        lost = [(each.node, ", ".join(each.missing_to)) for each in found.unreachable]
        tables.append(table("cannot be ranked", ["node", "no round trip to"], lost))
    emit(document, output, tables)
