"""Which node to add and which to give up (specification section 5, paper IV-E).

The driver's node counts as a member of every placement: its round trips to the replicas are what MST feels.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gesscale.decision import Reason, Rejection
from gesscale.ports import ClusterState
from latency_map import LatencyMap, MissingDelayError, farthest, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Candidates in the order of preference, and those that cannot be chosen at all."""

    nodes: tuple[str, ...]
    rejections: tuple[Rejection, ...] = ()


def nd_max_ms(delays: LatencyMap, placement: Iterable[str], driver_node: str) -> float | None:
    """Return NDmax of a placement with the driver's node.

    Parameters
    ----------
    delays
        The latency map.
    placement
        The nodes that hold replicas.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    float or None
        Round trip, ms; None where the map lacks a node or a pair of it.
    """
    members = sorted({*placement, driver_node})
    if any(node not in delays for node in members):
        return None
    try:
        return delays.nd_max_ms(members)
    except MissingDelayError:
        return None


def additions(
    delays: LatencyMap, cluster: ClusterState, placement: Sequence[str], driver_node: str
) -> Ranked:
    """Rank the nodes that could take one more replica, the nearest first.

    Parameters
    ----------
    delays
        The latency map.
    cluster
        The nodes there are.
    placement
        The nodes that hold a replica already.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    Ranked
        By the largest round trip to a member, then the mean, then the name; nodes that are not usable or
        of unknown delay are rejections.
    """
    free = [node for name, node in cluster.nodes.items() if name not in placement]
    rejections = [
        Rejection(node=n.name, reason=Reason.NOT_READY, detail=n.problem) for n in free if n.problem
    ]
    usable = [node.name for node in free if not node.problem]
    strangers = [node for node in usable if node not in delays]
    members = [node for node in sorted({*placement, driver_node}) if node in delays]
    ranking = nearest(delays, members, [node for node in usable if node in delays])
    rejections += [
        Rejection(node=node, reason=Reason.DELAY_UNKNOWN, detail="the latency map does not have this node")
        for node in strangers
    ]
    rejections += [
        Rejection(
            node=item.node,
            reason=Reason.DELAY_UNKNOWN,
            detail=f"the latency map has no round trip to {', '.join(item.missing_to)}",
        )
        for item in ranking.unreachable
    ]
    return Ranked(nodes=tuple(item.node for item in ranking.ranked), rejections=tuple(rejections))


def removals(delays: LatencyMap, placement: Sequence[str], driver_node: str) -> tuple[str, ...]:
    """Rank the replicas by which to give up first.

    Parameters
    ----------
    delays
        The latency map.
    placement
        The nodes that hold a replica.
    driver_node
        The node of the Spark driver. A replica there goes last: the driver stays, and so do its delays.

    Returns
    -------
    tuple of str
        First the nodes whose delays the map does not know, then by the greatest round trip to the others.
    """
    unknown = tuple(sorted(node for node in placement if node not in delays))
    members = [node for node in sorted({*placement, driver_node}) if node in delays]
    ranking = farthest(delays, members, [node for node in placement if node in delays])
    unreachable = tuple(item.node for item in ranking.unreachable)
    ranked = (*unknown, *unreachable, *(item.node for item in ranking.ranked))
    return tuple(sorted(ranked, key=lambda node: node == driver_node))


def shrinking(delays: LatencyMap, placement: Sequence[str], driver_node: str) -> tuple[tuple[str, ...], ...]:
    """Return the placements that remain as the farthest replica is given up again and again.

    Parameters
    ----------
    delays
        The latency map.
    placement
        The nodes that hold a replica, n of them.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    tuple of tuple of str
        Sorted placements of n - 1, n - 2, ..., 1 nodes.
    """
    remaining = sorted(placement)
    steps: list[tuple[str, ...]] = []
    while len(remaining) > 1:
        remaining.remove(removals(delays, remaining, driver_node)[0])
        steps.append(tuple(remaining))
    return tuple(steps)
