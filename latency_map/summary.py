"""A survey in a few figures, faults and all, and what a placement on it amounts to."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from latency_map.matrix import LatencyMap
from latency_map.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The pairs of a survey in a few figures. A pair is two nodes, whatever the direction.

    Attributes
    ----------
    nodes, pairs
        How many.
    missing_pairs, one_way_pairs
        Pairs known in neither direction, and pairs known in one of them.
    median_ms, p95_ms, max_ms
        Round trips of the pairs, of two directions the larger; None where none is known.
    asymmetric_ratio
        Share of the pairs known both ways whose two directions differ; None where there is none.
    estimated_ratio
        Share of the known pairs that nobody measured in either direction; None where there is none.
    """

    nodes: int
    pairs: int
    missing_pairs: int
    one_way_pairs: int
    median_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    asymmetric_ratio: float | None
    estimated_ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSummary:
    """What a set of nodes amounts to.

    Attributes
    ----------
    members
        The nodes, by name.
    nd_max_ms
        Largest round trip among them; None where a delay is missing.
    widest
        The pair with that round trip, the first by name; None where there is none.
    missing
        Pairs of members without a delay.
    """

    members: tuple[str, ...]
    nd_max_ms: float | None
    widest: tuple[str, str] | None
    missing: tuple[tuple[str, str], ...] = ()


def summarise(survey: Survey) -> Summary:
    """Sum up a survey, faults and all."""
    pairs = np.triu_indices(len(survey), 1)
    there, back = survey.rtt_ms[pairs], survey.rtt_ms.T[pairs]
    both, either = ~np.isnan(there) & ~np.isnan(back), ~np.isnan(there) | ~np.isnan(back)
    estimated = survey.estimated[pairs] | survey.estimated.T[pairs]
    count, both_ways = int(np.count_nonzero(either)), int(np.count_nonzero(both))
    known_ms = np.fmax(there, back)[either]
    figures = np.percentile(known_ms, [50, 95, 100]).tolist() if count else [None] * 3
    return Summary(
        nodes=len(survey),
        pairs=len(there),
        missing_pairs=len(there) - count,
        one_way_pairs=count - both_ways,
        median_ms=figures[0],
        p95_ms=figures[1],
        max_ms=figures[2],
        asymmetric_ratio=int(np.count_nonzero(both & (there != back))) / both_ways if both_ways else None,
        estimated_ratio=int(np.count_nonzero(estimated & either)) / count if count else None,
    )


def place(latencies: LatencyMap, members: Iterable[str]) -> PlacementSummary:
    """Measure a set of nodes on a map.

    Parameters
    ----------
    latencies
        The delays; some may be missing.
    members
        Nodes of the map.

    Returns
    -------
    PlacementSummary
        Its NDmax, or what is missing for it.

    Raises
    ------
    UnknownNodeError
        A node is not in the map.
    """
    nodes = tuple(sorted(set(members)))
    missing = latencies.missing(nodes)
    if missing or len(nodes) < 2:
        return PlacementSummary(
            members=nodes, nd_max_ms=None if missing else 0.0, widest=None, missing=missing
        )
    rows = latencies.positions(nodes)
    among_ms = np.triu(latencies.rtt_ms[np.ix_(rows, rows)])
    a, b = np.unravel_index(int(np.argmax(among_ms)), among_ms.shape)
    widest = (nodes[min(a, b)], nodes[max(a, b)]) if a != b else (nodes[0], nodes[1])
    return PlacementSummary(members=nodes, nd_max_ms=float(among_ms[a, b]), widest=widest)
