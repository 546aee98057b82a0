"""The links that a picture shows: as few and as short as hold the nodes together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import numpy as np

from latency_map.delays import Delays


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Two nodes, by position, and their round trip."""

    a: int
    b: int
    rtt_ms: float


def links_within(rtt_ms: Delays, groups: Sequence[Sequence[int]]) -> tuple[Link, ...]:
    """Return the links that hold each cluster together: its minimum spanning tree, known delays only."""
    links = []
    for group in groups:
        graph: nx.Graph[int] = nx.Graph()
        graph.add_weighted_edges_from(
            (a, b, float(rtt_ms[a, b])) for a, b in combinations(group, 2) if not np.isnan(rtt_ms[a, b])
        )
        tree = nx.minimum_spanning_edges(graph, data=True)
        links += [Link(a=a, b=b, rtt_ms=edge["weight"]) for a, b, edge in tree]
    return tuple(links)


def links_between(rtt_ms: Delays, groups: Sequence[Sequence[int]]) -> tuple[Link, ...]:
    """Return the links that join the clusters: the minimum spanning tree of their nearest pairs of nodes."""
    graph: nx.Graph[int] = nx.Graph()
    for first, second in combinations(range(len(groups)), 2):
        block = rtt_ms[np.ix_(list(groups[first]), list(groups[second]))]
        if np.isnan(block).all():
            continue
        row, column = divmod(int(np.nanargmin(block)), block.shape[1])
        link = Link(a=groups[first][row], b=groups[second][column], rtt_ms=float(block[row, column]))
        graph.add_edge(first, second, weight=link.rtt_ms, link=link)
    tree = nx.minimum_spanning_edges(graph, data=True)
    return tuple(edge["link"] for _, _, edge in tree)
