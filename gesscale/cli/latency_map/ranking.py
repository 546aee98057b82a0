"""``gesscale latency-map nearest`` and ``farthest``: the node to add and the one to remove."""

from collections.abc import Sequence
from pathlib import Path

from gesscale.cli.latency_map.reading import load_map, plain_errors, some_names, split_names
from gesscale.cli.latency_map.screening import NodesAsked, rejections_table, screen_candidates
from gesscale.cli.output import Output, emit, table
from latency_map import RankedNode, farthest
from latency_map import nearest as rank_nearest
from latency_map.choose.candidates import CandidateRejection, Unfit
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit


def rank_nearest_nodes(
    *,
    file: Path,
    members: str,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    candidates: str | None,
    exclude: str,
    apart: list[str] | None,
    nodes: Path | None,
    pods: Path | None,
    arch: str | None,
    cpu: str,
    memory: str,
    asymmetry: Asymmetry | None,
    output: Output,
) -> None:
    """Rank the nodes to add: least largest round trip to a member, then least mean, then name."""
    asked = NodesAsked(
        candidates=candidates,
        exclude=exclude,
        apart=apart or (),
        nodes=nodes,
        pods=pods,
        arch=arch,
        cpu=cpu,
        memory=memory,
    )
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        placement = some_names("--members", members)
        offer = screen_candidates(latencies, asked, placement)
        ranking = rank_nearest(latencies, placement, offer.names)
    _emit_ranking(ranking.ranked, offer.rejections, "nearest first", output)


def rank_farthest_nodes(
    *,
    file: Path,
    members: str,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    removable: str,
    asymmetry: Asymmetry | None,
    output: Output,
) -> None:
    """Rank the nodes to remove: greatest largest round trip to another member, then mean, then name."""
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        placement = some_names("--members", members)
        ranking = farthest(latencies, placement, split_names(removable) or placement)
    unranked = [
        CandidateRejection(
            node=item.node,
            reason=Unfit.DELAY_UNKNOWN,
            detail=f"the latency map has no round trip to {', '.join(item.missing_to)}",
        )
        for item in ranking.unreachable
    ]
    _emit_ranking(ranking.ranked, unranked, "farthest first", output)


def _emit_ranking(
    ranked: Sequence[RankedNode], rejections: Sequence[CandidateRejection], order: str, output: Output
) -> None:
    rows = [[item.node, item.distance_ms, item.mean_ms] for item in ranked]
    ranking = table(f"{order}, round trips in ms", ["node", "largest", "mean"], rows)
    emit({"ranked": ranked, "rejections": rejections}, output, [ranking, *rejections_table(rejections)])
