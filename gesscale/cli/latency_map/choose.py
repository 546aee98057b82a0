"""``latency-map choose``, ``nearest``, ``farthest``: which nodes to take, to add, to give up."""

from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import (
    Apart,
    Arch,
    Cpu,
    Exclude,
    Kind,
    MapFile,
    Memory,
    NodesFile,
    Offered,
    PodsFile,
    Symmetry,
    Unit,
)
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.errors import InputError
from latency_map.kinds import Method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gesscale.cli.latency_map.screening import CandidateSet
    from latency_map import Choice, RankedNode
    from latency_map.choose.candidates import CandidateRejection

PANEL = "Decide and emulate by it"

app = typer.Typer()

Members = Annotated[
    str, typer.Option("--members", help="Nodes of the placement, by commas; the driver's too.")
]


@app.command(rich_help_panel=PANEL, epilog="Example: gesscale latency-map choose map.json --size 4")
def choose(
    file: MapFile,
    *,
    size: Annotated[int | None, typer.Option(help="How many nodes, those kept included.")] = None,
    capacity: Annotated[
        float | None,
        typer.Option(
            help="Instead of --size: what the nodes must hold together, by their weights in --nodes"
            " (of kubectl: free CPUs).",
        ),
    ] = None,
    unit: Unit = None,
    kind: Kind = None,
    keep: Annotated[str, typer.Option(help="Nodes that must be in, by commas.")] = "",
    running: Annotated[
        str, typer.Option(help="Nodes in use, by commas: kept, and what moving would save is said.")
    ] = "",
    exclude: Exclude = "",
    candidates: Offered = None,
    apart: Apart = None,
    nodes: NodesFile = None,
    pods: PodsFile = None,
    arch: Arch = None,
    cpu: Cpu = "",
    memory: Memory = "",
    method: Annotated[
        Method,
        typer.Option(
            help="Exact, greedy with a certified gap, or auto: exact up to 60 candidates, then greedy."
        ),
    ] = Method.AUTO,
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Choose the nodes with the least NDmax; exit code 3 where no such set is possible."""
    from gesscale.cli.latency_map.reading import load_map, split_names
    from gesscale.cli.latency_map.screening import screen_candidates
    from latency_map import NoChoiceError, least_nd_max_subset

    latencies = load_map(file, unit, kind, asymmetry)
    fixed, in_use = split_names(keep), split_names(running)
    latencies.positions([*fixed, *in_use])
    _check_kept({*fixed, *in_use}, split_names(exclude), size)
    offer = screen_candidates(
        latencies,
        [*fixed, *in_use],
        candidates=candidates,
        exclude=exclude,
        apart=apart or (),
        nodes=nodes,
        pods=pods,
        arch=arch,
        cpu=cpu,
        memory=memory,
    )
    wanted, weights = _wanted(size, capacity, offer)

    def least(keep: "Sequence[str]", candidates: "Sequence[str]") -> "Choice":
        return least_nd_max_subset(
            latencies,
            wanted,
            weights=weights,
            keep=keep,
            candidates=candidates,
            apart=offer.apart,
            method=method,
        )

    try:
        choice = least([*fixed, *in_use], offer.names)
    except NoChoiceError:
        for out in offer.rejections:
            stderr_console.print(f"{out.node} is out: {out.reason}, {out.detail}")
        raise
    free = None
    if in_use:  # as if what runs could be moved
        try:
            free = least(fixed, (*offer.names, *in_use))
        except NoChoiceError:
            free = None
    holds = None if weights is None else sum(weights[node] for node in choice.nodes)
    _emit_choice(choice, holds, offer.rejections, free, output)


@app.command(
    rich_help_panel=PANEL, epilog="Example: gesscale latency-map nearest map.json --members edge1,edge2"
)
def nearest(
    file: MapFile,
    *,
    members: Members,
    unit: Unit = None,
    kind: Kind = None,
    candidates: Offered = None,
    exclude: Exclude = "",
    apart: Apart = None,
    nodes: NodesFile = None,
    pods: PodsFile = None,
    arch: Arch = None,
    cpu: Cpu = "",
    memory: Memory = "",
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the nodes to add: least largest round trip to a member, then least mean, then name."""
    from gesscale.cli.latency_map.reading import load_map, some_names
    from gesscale.cli.latency_map.screening import screen_candidates
    from latency_map import nearest as rank_nearest

    latencies = load_map(file, unit, kind, asymmetry)
    placement = some_names("--members", members)
    offer = screen_candidates(
        latencies,
        placement,
        candidates=candidates,
        exclude=exclude,
        apart=apart or (),
        nodes=nodes,
        pods=pods,
        arch=arch,
        cpu=cpu,
        memory=memory,
    )
    ranking = rank_nearest(latencies, placement, offer.names)
    _emit_ranking(ranking.ranked, offer.rejections, "nearest first", output)


@app.command(
    rich_help_panel=PANEL,
    epilog="Example: gesscale latency-map farthest map.json --members edge1,edge2,edge3",
)
def farthest(
    file: MapFile,
    *,
    members: Members,
    unit: Unit = None,
    kind: Kind = None,
    removable: Annotated[
        str,
        typer.Option(
            "--candidates", "--removable", help="Members that may go, by commas; all of them by default."
        ),
    ] = "",
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the nodes to remove: greatest largest round trip to another member, then mean, then name."""
    from gesscale.cli.latency_map.reading import load_map, some_names, split_names
    from latency_map import farthest as rank_farthest
    from latency_map.choose.candidates import CandidateRejection, Unfit

    latencies = load_map(file, unit, kind, asymmetry)
    placement = some_names("--members", members)
    ranking = rank_farthest(latencies, placement, split_names(removable) or placement)
    unranked = [
        CandidateRejection(
            node=item.node,
            reason=Unfit.DELAY_UNKNOWN,
            detail=f"the latency map has no round trip to {', '.join(item.missing_to)}",
        )
        for item in ranking.unreachable
    ]
    _emit_ranking(ranking.ranked, unranked, "farthest first", output)


def _check_kept(kept: set[str], exclude: "Sequence[str]", size: int | None) -> None:
    if both := sorted(kept & {*exclude}):
        message = f"--exclude: expected nodes that are neither kept nor running, got {', '.join(both)}"
        raise InputError(message)
    if size is not None and size < max(1, len(kept)):
        message = (
            f"--size: expected at least {max(1, len(kept))}, the nodes kept and running included, which are never "
            f"dropped, got {size}"
        )
        raise InputError(message)


def _wanted(
    size: int | None, capacity: float | None, offer: "CandidateSet"
) -> tuple[float, dict[str, float] | None]:
    """Return what is wanted, and the weights that it is counted by; None where nodes are counted."""
    if size is not None and capacity is None:
        return size, None
    if capacity is None or size is not None:
        message = "choose: expected either --size or --capacity"
        raise InputError(message)
    if not offer.weights:
        message = "--capacity: expected --nodes with it, which says what each node holds"
        raise InputError(message)
    return capacity, offer.weights


def _emit_choice(
    choice: "Choice",
    holds: float | None,
    rejections: "Sequence[CandidateRejection]",
    free: "Choice | None",
    output: Output,
) -> None:
    from gesscale.cli.latency_map.screening import rejections_table

    saves_ms = 0.0 if free is None else max(0.0, choice.nd_max_ms - free.nd_max_ms)
    document = {
        "nodes": choice.nodes,
        "nd_max_ms": choice.nd_max_ms,
        "optimal": choice.optimal,
        "gap_ms": choice.gap_ms,
        "method": choice.method,
        "holds": holds,
        "rejections": rejections,
        "if_moved": None if free is None else {"nodes": free.nodes, "saves_ms": saves_ms},
    }
    certainty = "optimal" if choice.optimal else f"at most {choice.gap_ms:.4g} ms above the least"
    stopped = ", the search stopped early" if choice.method is Method.EXACT and not choice.optimal else ""
    title = f"NDmax {choice.nd_max_ms:.4g} ms round trip, {certainty} ({choice.method}{stopped})"
    if free is not None and saves_ms:
        stderr_console.print(f"what runs stays; moving would save {saves_ms:.4g} ms: {', '.join(free.nodes)}")
    rows = [[node] for node in choice.nodes]
    emit(document, output, [table(title, ["node"], rows), *rejections_table(rejections)])


def _emit_ranking(
    ranked: "Sequence[RankedNode]", rejections: "Sequence[CandidateRejection]", order: str, output: Output
) -> None:
    from gesscale.cli.latency_map.screening import rejections_table

    rows = [[item.node, item.distance_ms, item.mean_ms] for item in ranked]
    ranking = table(f"{order}, round trips in ms", ["node", "largest", "mean"], rows)
    emit({"ranked": ranked, "rejections": rejections}, output, [ranking, *rejections_table(rejections)])
