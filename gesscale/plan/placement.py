"""Which node to add and which to give up (specification section 5, paper IV-E).

The driver's node counts as a member of every placement: its round trips to the replicas affect the MST.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gesscale.decision import Reason, Rejection
from gesscale.ports import ClusterState
from latency_map import LatencyMap, MissingDelayError, farthest, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRanking:
    """Candidates in the order of preference, and those that cannot be chosen at all."""

    nodes: tuple[str, ...]
    rejections: tuple[Rejection, ...] = ()


def nd_max_ms(delays: LatencyMap | None, placement: Iterable[str], driver_node: str) -> float | None:
    """Return NDmax of a placement with the driver's node.

    Parameters
    ----------
    delays
        The latency map; None where there is none.
    placement
        The nodes that hold replicas.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    float or None
        Round trip, ms; 0 for the driver's node alone, whatever the map; None where it lacks a node or a pair.
    """
    members = sorted({*placement, driver_node})
    if len(members) == 1:
        return 0.0
    if delays is None or any(node not in delays for node in members):
        return None
    try:
        return delays.nd_max_ms(members)
    except MissingDelayError:
        return None


def usable(cluster: ClusterState, placement: Sequence[str]) -> NodeRanking:
    """Return the nodes that could take one more replica, in no order of preference.

    Parameters
    ----------
    cluster
        The nodes there are.
    placement
        The nodes that hold a replica already.

    Returns
    -------
    NodeRanking
        By name; nodes that are not ready, cordoned, full, excluded or of the wrong architecture are rejections.
    """
    free = [cluster.nodes[name] for name in sorted(cluster.nodes) if name not in placement]
    return NodeRanking(
        nodes=tuple(node.name for node in free if not node.problem),
        rejections=tuple(
            Rejection(node=node.name, reason=node.reason, detail=node.problem)
            for node in free
            if node.problem
        ),
    )


def additions(
    delays: LatencyMap | None, cluster: ClusterState, placement: Sequence[str], driver_node: str
) -> NodeRanking:
    """Rank the nodes that could take one more replica, the nearest first.

    Parameters
    ----------
    delays
        The latency map; None where there is none.
    cluster
        The nodes there are.
    placement
        The nodes that hold a replica already.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    NodeRanking
        By the largest round trip to a member, then the mean, then the name; nodes that are not usable or
        of unknown delay are rejections.
    """
    free = usable(cluster, placement)
    members = [node for node in sorted({*placement, driver_node}) if delays is not None and node in delays]
    if delays is None or not members:
        unknown = [
            (node, f"the latency map does not have {driver_node}, the driver's node") for node in free.nodes
        ]
        return NodeRanking(nodes=(), rejections=free.rejections + _of_unknown_delay(unknown))
    ranking = nearest(delays, members, [node for node in free.nodes if node in delays])
    unknown = [
        (node, "the latency map does not have this node") for node in free.nodes if node not in delays
    ] + [
        (item.node, f"the latency map has no round trip to {', '.join(item.missing_to)}")
        for item in ranking.unreachable
    ]
    return NodeRanking(
        nodes=tuple(item.node for item in ranking.ranked),
        rejections=free.rejections + _of_unknown_delay(unknown),
    )


def removals(delays: LatencyMap | None, placement: Sequence[str], driver_node: str) -> tuple[str, ...]:
    """Rank the replicas by which to give up first.

    Parameters
    ----------
    delays
        The latency map; None where there is none.
    placement
        The nodes that hold a replica.
    driver_node
        The node of the Spark driver. A replica there goes last: the driver stays, and so do its delays.

    Returns
    -------
    tuple of str
        By the greatest round trip to the others; empty where the map does not know them all. A node of unknown delay
        need not be far.
    """
    if delays is None or nd_max_ms(delays, placement, driver_node) is None:
        return ()
    ranking = farthest(delays, {*placement, driver_node}, placement)
    ranked = (item.node for item in ranking.ranked)
    return tuple(sorted(ranked, key=lambda node: node == driver_node))


def shrinking(
    delays: LatencyMap | None, placement: Sequence[str], driver_node: str
) -> tuple[tuple[str, ...], ...]:
    """Return the placements that remain when the farthest replica is given up again and again.

    Parameters
    ----------
    delays
        The latency map; None where there is none.
    placement
        The nodes that hold a replica, n of them.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    tuple of tuple of str
        Sorted placements of n - 1, n - 2, ..., 1 nodes; none where the map does not know them all.
    """
    remaining = sorted(placement)
    steps: list[tuple[str, ...]] = []
    while len(remaining) > 1 and (farthest_first := removals(delays, remaining, driver_node)):
        remaining.remove(farthest_first[0])
        steps.append(tuple(remaining))
    return tuple(steps)


def in_random_order(nodes: Iterable[str], seed: int, operator: str, at_s: float) -> tuple[str, ...]:
    """Shuffle nodes, for policies that do not look at delays.

    Parameters
    ----------
    nodes
        In any order.
    seed, operator, at_s
        What the order is drawn from: planning twice on one observation gives the same nodes.
    """
    rng = np.random.default_rng([seed, zlib.crc32(operator.encode()), max(0, int(at_s))])
    return tuple(str(node) for node in rng.permutation(sorted(nodes)))


def _of_unknown_delay(nodes: Iterable[tuple[str, str]]) -> tuple[Rejection, ...]:
    return tuple(Rejection(node=node, reason=Reason.DELAY_UNKNOWN, detail=why) for node, why in nodes)
