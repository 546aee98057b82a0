"""Ranking of nodes to add to a placement or to remove from it (paper IV-E).

The distance of a node to a placement is its largest round trip to a member, which determines NDmax. Ties are broken
by the mean round trip, then by name.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import Delays
from latency_map.matrix import LatencyMap


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableNode:
    """A node that cannot be ranked, with the members to which its delay is missing."""

    node: str
    missing_to: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """Nodes in the order of preference with their distances to the members."""

    #: The n nodes.
    names: tuple[str, ...]
    #: Shape ``(n,)``: the largest round trip to another member.
    distance_ms: Delays
    #: Shape ``(n, m)``: the round trip to each member, 0 to itself.
    delays_ms: Delays
    #: Shape ``(n,)``: whether the node is a member.
    is_member: NDArray[np.bool_]
    #: Nodes that cannot be ranked, by name.
    unreachable: tuple[UnreachableNode, ...] = ()

    def means_ms(self) -> list[float]:
        """Return the mean round trip of each node to the other members; 0 if there are none."""
        return _means_ms(self.delays_ms, self.is_member)


def rank_by_distance(
    latencies: LatencyMap, members: Iterable[str], nodes: Iterable[str], *, farthest_first: bool = False
) -> Distances:
    """Rank nodes to add, the nearest first, or to remove, the farthest first.

    Parameters
    ----------
    latencies
        The delays.
    members
        The placement; with the node of the driver if that counts.
    nodes
        The nodes to rank. A member (the node of the driver may take a replica) is ranked by its delays to the other
        members.
    farthest_first
        True to rank the greatest distance first, and of equal ones the greatest mean.

    Returns
    -------
    Distances
        The nodes in this order; ties are broken by name.

    Raises
    ------
    UnknownNodeError
        A node is not in the map.
    """
    placement, names = sorted(set(members)), sorted(dict.fromkeys(nodes))
    at, of_members = np.array(latencies.positions(names), dtype=np.intp), latencies.positions(placement)
    delays_ms = latencies.rtt_ms[of_members].take(at, axis=1).T  # symmetric: rows of members lie together
    unknown = np.isnan(delays_ms)
    lacking = unknown.any(axis=1)
    unreachable = tuple(
        UnreachableNode(node=names[row], missing_to=tuple(placement[column] for column in np.flatnonzero(unknown[row])))
        for row in np.flatnonzero(lacking)
    )
    rows = np.flatnonzero(~lacking)
    delays_ms, is_member = delays_ms[rows], np.isin(at[rows], of_members)
    distance_ms = delays_ms.max(axis=1, initial=0.0)
    order = np.argsort(-distance_ms if farthest_first else distance_ms, kind="stable")
    ordered = distance_ms[order]
    if (ordered[1:] == ordered[:-1]).any():  # the means are needed for ties only
        means_ms = np.array(_means_ms(delays_ms, is_member))
        order = np.lexsort((-means_ms, -distance_ms) if farthest_first else (means_ms, distance_ms))
    return Distances(
        names=tuple([names[row] for row in rows[order].tolist()]),
        distance_ms=distance_ms[order],
        delays_ms=delays_ms[order],
        is_member=is_member[order],
        unreachable=unreachable,
    )


def _means_ms(delays_ms: Delays, is_member: NDArray[np.bool_]) -> list[float]:
    others = delays_ms.shape[1] - is_member
    return [
        math.fsum(row) / count if count else 0.0 for row, count in zip(delays_ms.tolist(), others.tolist(), strict=True)
    ]
