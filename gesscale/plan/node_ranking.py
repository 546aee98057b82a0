"""Selects nodes to add and to remove (paper IV-E), and makes plans without a change.

The driver's node counts as a member of every placement: its round trips to the replicas affect the MST.
"""

import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gesscale.model.decision import Analysis, Plan, Reason, Rejection
from gesscale.ports import ClusterState, Latencies
from latency_map import LatencyMap, MissingDelayError, rank_by_distance

#: Maximum number of candidates per reason that are listed with their figures.
MAX_LISTED = 10


def rejections_for(
    nodes: Sequence[str], reason: Reason, detail: Callable[[str], str] = lambda _node: "", *, names_others: bool = False
) -> tuple[Rejection, ...]:
    """Return the candidates that were rejected for one reason.

    Examples
    --------
    >>> near, *_, last = rejections_for([f"edge{rank}" for rank in range(100)], Reason.FARTHER)
    >>> near.node, last.node, last.others
    ('edge0', 'edge9', 90)
    """
    listed, others = nodes[:MAX_LISTED], nodes[MAX_LISTED:]
    found = [Rejection(node=node, reason=reason, detail=detail(node)) for node in listed]
    if others:
        other_nodes = tuple(others) if names_others else ()
        found[-1] = replace(found[-1], others=len(others), other_nodes=other_nodes)
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRanking:
    """Candidates in the order of preference, and the rejected ones."""

    nodes: tuple[str, ...]
    rejections: tuple[Rejection, ...] = ()


def nd_max_ms(delays: LatencyMap | None, placement: Iterable[str], driver_node: str) -> float | None:
    """Return NDmax of a placement with the driver's node.

    Parameters
    ----------
    delays
        The latency map; None without one.
    """
    members = sorted({*placement, driver_node})
    if len(members) == 1:
        return 0.0
    if delays is None:
        return None
    return delays.cached((nd_max_ms, *members), lambda: _nd_max_ms(delays, members))


def _nd_max_ms(delays: LatencyMap, members: Sequence[str]) -> float | None:
    if any(node not in delays for node in members):
        return None
    try:
        return delays.nd_max_ms(members)
    except MissingDelayError:
        return None


def nd_max_with_each_ms(
    delays: LatencyMap | None, placement: Sequence[str], driver_node: str, nodes: Sequence[str]
) -> NDArray[np.float64]:
    """Return NDmax of a placement with each of several additional nodes.

    Parameters
    ----------
    nodes
        Additional nodes, none of them in the placement.
    """
    found = np.full(len(nodes), np.nan)
    members = sorted({*placement, driver_node})
    present_ms = nd_max_ms(delays, placement, driver_node)
    if delays is not None and present_ms is not None and all(node in delays for node in members):
        known = delays.known_indices(nodes)
        rows = delays.positions([nodes[index] for index in known.tolist()])
        found[known] = delays.rtt_ms[delays.positions(members)].take(rows, axis=1).max(axis=0)
        found = np.maximum(found, present_ms)
    if members == [driver_node] and driver_node in nodes:
        found[nodes.index(driver_node)] = 0.0
    return found


def usable_nodes(cluster: ClusterState, placement: Sequence[str]) -> NodeRanking:
    """Return the nodes that can take one more replica, in no order of preference."""
    occupied = set(placement)
    return NodeRanking(
        nodes=tuple(name for name in cluster.usable if name not in occupied),
        rejections=ineligible_nodes(cluster, occupied, names_others=True),
    )


def ineligible_nodes(
    cluster: ClusterState, occupied: Collection[str] = (), *, names_others: bool = False
) -> tuple[Rejection, ...]:
    """Return the nodes that can take no replica, with reasons."""
    found = [
        each
        for reason, names in cluster.unusable.items()
        for each in rejections_for(
            [name for name in names if name not in occupied],
            reason,
            lambda name: cluster.nodes[name].problem,
            names_others=names_others,
        )
    ]
    return tuple(sorted(found, key=lambda each: each.node))


def rank_additions(
    delays: LatencyMap | None, cluster: ClusterState, placement: Sequence[str], driver_node: str
) -> NodeRanking:
    """Rank the nodes that can take one more replica, the nearest first.

    Parameters
    ----------
    delays
        The latency map; None without one.
    """
    free = usable_nodes(cluster, placement)
    members = [node for node in sorted({*placement, driver_node}) if delays is not None and node in delays]
    if delays is None or not members:
        why = f"the latency map lacks {driver_node}, the driver's node"
        unknown = rejections_for(free.nodes, Reason.DELAY_UNKNOWN, lambda _node: why)
        return NodeRanking(nodes=(), rejections=free.rejections + unknown)
    known = [free.nodes[index] for index in delays.known_indices(free.nodes).tolist()]
    ranking = rank_by_distance(delays, members, known)
    missing_to = {item.node: item.missing_to for item in ranking.unreachable}
    unlisted = [] if len(known) == len(free.nodes) else [node for node in free.nodes if node not in delays]
    unknown = rejections_for(
        [*unlisted, *missing_to],
        Reason.DELAY_UNKNOWN,
        lambda node: (
            f"the latency map has no round trip to {', '.join(missing_to[node])}"
            if node in missing_to
            else "the latency map lacks this node"
        ),
    )
    return NodeRanking(nodes=ranking.names, rejections=free.rejections + unknown)


def nearest_first(delays: LatencyMap | None, nodes: tuple[str, ...], driver_node: str) -> tuple[str, ...]:
    """Sort nodes by their round trip to the driver's node; those of unknown delay come last, by name.

    Parameters
    ----------
    delays
        The latency map; None without one.
    """
    if delays is None or driver_node not in delays:
        return nodes
    return delays.cached((nearest_first, nodes, driver_node), lambda: _nearest_first(delays, nodes, driver_node))


def _nearest_first(delays: LatencyMap, nodes: tuple[str, ...], driver_node: str) -> tuple[str, ...]:
    found = rank_by_distance(delays, [driver_node], [nodes[index] for index in delays.known_indices(nodes).tolist()])
    unreachable = {item.node for item in found.unreachable}
    if len(found.names) == len(nodes):
        return found.names
    return (*found.names, *(node for node in nodes if node not in delays or node in unreachable))


def rank_removals(delays: LatencyMap | None, placement: Sequence[str], driver_node: str) -> tuple[str, ...]:
    """Rank the replicas in the order of removal.

    Parameters
    ----------
    delays
        The latency map; None without one.
    """
    if delays is None or nd_max_ms(delays, placement, driver_node) is None:
        return ()
    ranked = rank_by_distance(delays, {*placement, driver_node}, placement, farthest_first=True).names
    return tuple(sorted(ranked, key=lambda node: node == driver_node))


def removal_steps(delays: LatencyMap | None, placement: Sequence[str], driver_node: str) -> tuple[tuple[str, ...], ...]:
    """Return the placements after repeatedly removing the farthest replica.

    Parameters
    ----------
    delays
        The latency map; None without one.
    """
    remaining = sorted(placement)
    steps: list[tuple[str, ...]] = []
    while len(remaining) > 1 and (farthest_first := rank_removals(delays, remaining, driver_node)):
        remaining.remove(farthest_first[0])
        steps.append(tuple(remaining))
    return tuple(steps)


def resized(
    replicas: int, placement: tuple[str, ...], driver_node: str, cluster: ClusterState, delays: LatencyMap | None
) -> tuple[str, ...]:
    """Return a placement with this number of replicas, sorted; fewer if no other node is usable.

    The nearest nodes are added and the farthest removed, by name if delays are unknown.
    """
    if replicas > len(placement):
        known = rank_additions(delays, cluster, placement, driver_node).nodes
        free = usable_nodes(cluster, placement).nodes
        candidates = [*known, *(node for node in free if node not in known)]
        return tuple(sorted((*placement, *candidates[: replicas - len(placement)])))
    steps = removal_steps(delays, placement, driver_node) if replicas < len(placement) else ()
    return next((each for each in steps if len(each) == replicas), tuple(sorted(placement)[:replicas]))


def shuffle_nodes(nodes: Iterable[str], seed: int, operator: str, at_s: float) -> tuple[str, ...]:
    """Shuffle nodes, for policies without delays."""
    rng = np.random.default_rng([seed, zlib.crc32(operator.encode()), max(0, int(at_s))])
    return tuple(str(node) for node in rng.permutation(sorted(nodes)))


def keep_placement(analysis: Analysis, cluster: ClusterState, reason: Reason | None = None, detail: str = "") -> Plan:
    """Return a plan without a change."""
    present = present_placement(analysis, cluster)
    is_current = analysis.reading is None or {*analysis.reading.placement} == {*present}
    return Plan(
        operator=analysis.operator,
        reason=reason or analysis.reason,
        detail=detail or analysis.detail,
        before=present,
        placement=present,
        mst=analysis.mst if is_current else None,
        nd_max_ms=analysis.nd_max_ms if is_current else None,
    )


def unchanged_plan(plan: Plan, reason: Reason, detail: str, present: tuple[str, ...] | None = None) -> Plan:
    """Return a plan without its change.

    Parameters
    ----------
    present
        The present placement; None for that of the plan.
    """
    before = plan.before if present is None else present
    return replace(plan, reason=reason, detail=detail, before=before, placement=before, mst=None, nd_max_ms=None)


def unknown_delays(latencies: Latencies, placement: Sequence[str], driver_node: str) -> tuple[Reason, str] | None:
    """Return why the delays of a placement are unknown, with the remedy; None if they are known."""
    if latencies.map is None:
        return Reason.LATENCY_MAP_MISSING, latencies.map_status.problem or "no latency map yet"
    if nd_max_ms(latencies.map, placement, driver_node) is not None:
        return None
    nodes = ", ".join(sorted({*placement, driver_node}))
    return (
        Reason.DELAY_UNKNOWN,
        f"the latency map lacks delays between {nodes}; map the replicas' hosts to its nodes (monitor.hosts), or "
        "fill its gaps",
    )


def present_placement(analysis: Analysis, cluster: ClusterState) -> tuple[str, ...]:
    """Return the present placement of an operator: that of the cluster, or else of the driver."""
    reported = analysis.reading.placement if analysis.reading else ()
    return tuple(sorted(cluster.placements.get(analysis.operator, reported)))
