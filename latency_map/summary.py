"""A survey in a few figures, faults and all, and what a placement on it amounts to."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from latency_map.clusters import clusters, symmetric_rtt_ms
from latency_map.delays import Asymmetry
from latency_map.matrix import LatencyMap
from latency_map.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A survey in a few figures. A pair is two nodes, whatever the direction.

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
    age_s
        Seconds since it was measured; None where that is not known.
    clusters
        As `latency_map.clusters.clusters` finds them.
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
    age_s: float | None
    clusters: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
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
        The time, in seconds since the epoch, by which its age is told.
    asymmetry
        Which round trip a pair has whose directions differ.

    Returns
    -------
    Summary
        Its figures.
    """
    upper = np.triu_indices(len(survey), 1)
    there, back = survey.rtt_ms[upper], survey.rtt_ms.T[upper]
    guessed = survey.estimated[upper] | survey.estimated.T[upper]
    round_trips_ms = symmetric_rtt_ms(survey, asymmetry)[upper]
    known = ~np.isnan(round_trips_ms)
    both = ~np.isnan(there) & ~np.isnan(back)
    low, high, top = (
        (float(value) for value in np.percentile(round_trips_ms[known], [50, 95, 100]))
        if known.any()
        else (None, None, None)
    )
    return Summary(
        nodes=len(survey),
        pairs=len(round_trips_ms),
        missing_pairs=int((~known).sum()),
        one_way_pairs=int((known & ~both).sum()),
        median_ms=low,
        p95_ms=high,
        max_ms=top,
        asymmetric_ratio=float((there != back)[both].mean()) if both.any() else None,
        estimated_ratio=float(guessed[known].mean()) if known.any() else None,
        age_s=None if survey.measured_at_s is None else now_s - survey.measured_at_s,
        clusters=clusters(survey),
    )


def place(latencies: LatencyMap, members: Iterable[str]) -> Placement:
    """Measure a set of nodes on a map.

    Parameters
    ----------
    latencies
        The delays; some may be missing.
    members
        Nodes of the map.

    Returns
    -------
    Placement
        Its NDmax, or what is missing for it.

    Raises
    ------
    UnknownNodeError
        A node is not in the map.
    """
    nodes = tuple(sorted(set(members)))
    missing = latencies.missing(nodes)
    if missing or len(nodes) < 2:
        return Placement(members=nodes, nd_max_ms=None if missing else 0.0, widest=None, missing=missing)
    rows = latencies.positions(nodes)
    among_ms = np.triu(latencies.rtt_ms[np.ix_(rows, rows)])
    a, b = np.unravel_index(int(np.argmax(among_ms)), among_ms.shape)
    widest = (nodes[min(a, b)], nodes[max(a, b)]) if a != b else (nodes[0], nodes[1])
    return Placement(members=nodes, nd_max_ms=float(among_ms[a, b]), widest=widest)
