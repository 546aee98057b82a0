"""A survey in a few figures, faults and all, and what a placement on it amounts to."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from latency_map.clusters import clusters
from latency_map.kinds import Asymmetry
from latency_map.matrix import LatencyMap
from latency_map.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigures:
    """The pairs of a survey in a few figures. A pair is two nodes, whatever the direction.

    Attributes
    ----------
    nodes, pairs
        How many.
    missing_pairs, one_way_pairs
        Pairs known in neither direction, and pairs known in one of them.
    median_ms, p95_ms, max_ms
        Round trips of the pairs; None where none is known.
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
class Summary(PairFigures):
    """A survey in a few figures.

    Attributes
    ----------
    age_s
        Seconds since it was measured; None where that is not known.
    clusters
        As `latency_map.clusters.clusters` finds them.
    """

    age_s: float | None
    clusters: tuple[tuple[str, ...], ...]


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


def summarise(survey: Survey, *, now_s: float, asymmetry: Asymmetry = Asymmetry.MAX) -> Summary:
    """Sum up a survey.

    Parameters
    ----------
    survey
        Any survey.
    now_s
        The time, in seconds since the epoch, to compute its age.
    asymmetry
        Which round trip a pair has whose directions differ.

    Returns
    -------
    Summary
        Its figures.
    """
    return Summary(
        **asdict(count_pairs(survey, asymmetry)),
        age_s=None if survey.measured_at_s is None else now_s - survey.measured_at_s,
        clusters=clusters(survey),
    )


def count_pairs(survey: Survey, asymmetry: Asymmetry = Asymmetry.MAX) -> PairFigures:
    """Sum up the pairs of a survey.

    Parameters
    ----------
    survey, asymmetry
        As in `summarise`.

    Returns
    -------
    PairFigures
        Its figures.
    """
    pairs = np.triu_indices(len(survey), 1)
    there, back = survey.rtt_ms[pairs], survey.rtt_ms.T[pairs]
    both, either = ~np.isnan(there) & ~np.isnan(back), ~np.isnan(there) | ~np.isnan(back)
    larger = np.fmax(there, back)
    taken = np.where(both, (there + back) / 2, larger) if asymmetry is Asymmetry.MEAN else larger
    estimated = survey.estimated[pairs] | survey.estimated.T[pairs]
    count, both_ways = int(np.count_nonzero(either)), int(np.count_nonzero(both))
    figures = np.percentile(taken[either], [50, 95, 100]).tolist() if count else [None] * 3
    return PairFigures(
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
