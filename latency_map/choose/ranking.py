"""Which node to add and which to remove (paper IV-E, specification section 5).

The distance of a node to a placement is its largest round trip to a member, because that is what NDmax sees.
Ties go by the mean round trip, then by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from latency_map.matrix import LatencyMap


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedNode:
    """A node and its distance to the members, round trip."""

    node: str
    distance_ms: float
    mean_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableNode:
    """A node that cannot be ranked, and the members to which its delay is missing."""

    node: str
    missing_to: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Nodes in the order of preference, and those that cannot be ranked."""

    ranked: tuple[RankedNode, ...]
    unreachable: tuple[UnreachableNode, ...] = ()


def nearest(latencies: LatencyMap, members: Iterable[str], candidates: Iterable[str]) -> Ranking:
    """Rank the candidates to add, the nearest first.

    Parameters
    ----------
    latencies
        The delays.
    members
        The placement, the driver's node included where it counts.
    candidates
        The nodes to choose from. One that is a member already (the driver's node may take a replica) is
        ranked by its delays to the others.

    Returns
    -------
    Ranking
        By the largest round trip to a member, then the mean, then the name.

    Raises
    ------
    UnknownNodeError
        A node is not in the map.
    """
    nodes, unreachable = _measure(latencies, members, candidates)
    ranked = sorted(nodes, key=lambda item: (item.distance_ms, item.mean_ms, item.node))
    return Ranking(ranked=tuple(ranked), unreachable=unreachable)


def farthest(latencies: LatencyMap, members: Iterable[str], removable: Iterable[str]) -> Ranking:
    """Rank the nodes to remove, the farthest first.

    Parameters
    ----------
    latencies
        The delays.
    members
        The placement, the driver's node included where it counts.
    removable
        The nodes to choose from; each is ranked by its delays to the other members.

    Returns
    -------
    Ranking
        By the largest round trip to another member, greatest first, then the greatest mean, then the name.

    Raises
    ------
    UnknownNodeError
        A node is not in the map.
    """
    nodes, unreachable = _measure(latencies, members, removable)
    ranked = sorted(nodes, key=lambda item: (-item.distance_ms, -item.mean_ms, item.node))
    return Ranking(ranked=tuple(ranked), unreachable=unreachable)


def _measure(
    latencies: LatencyMap, members: Iterable[str], nodes: Iterable[str]
) -> tuple[list[RankedNode], tuple[UnreachableNode, ...]]:
    placement = sorted(set(members))
    ranked, unreachable = [], []
    for node in sorted(set(nodes)):
        missing_to = tuple(member for member in placement if latencies.delay_ms(node, member) is None)
        if missing_to:
            unreachable.append(UnreachableNode(node=node, missing_to=missing_to))
        else:
            distance_ms, mean_ms = latencies.distance_ms(node, placement), latencies.mean_ms(node, placement)
            ranked.append(RankedNode(node=node, distance_ms=distance_ms, mean_ms=mean_ms))
    return ranked, tuple(unreachable)
