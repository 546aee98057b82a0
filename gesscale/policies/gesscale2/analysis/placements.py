"""The best placement for each number of replicas that the present one can grow or shrink to, by predicted capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.law import BatchTimeLaw
from gesscale.workflow import Operator
from latency_map import LatencyMap

Array = NDArray[np.float64]

UNKNOWN_RTT_S = 1.0
"""A delay that the map does not know counts as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """A placement for each number of replicas.

    Attributes
    ----------
    nodes
        For 1, 2, ... replicas the nodes that hold them, sorted.
    rows_per_s
        The predicted capacity of each.
    """

    nodes: tuple[tuple[str, ...], ...]
    rows_per_s: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """Round trips of nodes to the driver, shape ``(n,)``, and between each two, ``(n, n)``; seconds, NaN: unknown."""

    driver_s: Array
    pairs_s: Array

    @classmethod
    def of(cls, nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> "RoundTrips":
        """Read them from a latency map; a node is 0 from itself without one, too."""
        driver_s, pairs_s = np.full(len(nodes), np.nan), np.full((len(nodes), len(nodes)), np.nan)
        if delays is not None:
            known = [index for index, node in enumerate(nodes) if node in delays]
            rows = delays.positions(nodes[index] for index in known)
            pairs_s[np.ix_(known, known)] = delays.rtt_ms[np.ix_(rows, rows)] / 1000
            if driver_node in delays:
                driver_s[known] = delays.rtt_ms[rows, delays.positions([driver_node])[0]] / 1000
        np.fill_diagonal(pairs_s, 0.0)
        driver_s[[index for index, node in enumerate(nodes) if node == driver_node]] = 0.0
        return cls(driver_s=driver_s, pairs_s=pairs_s)


def placements(
    law: BatchTimeLaw,
    operator: Operator,
    present: Sequence[str],
    free: Sequence[str],
    *,
    weights: Mapping[str, float],
    delays: LatencyMap | None,
    trigger_s: float,
) -> Placements:
    """Grow and shrink the present placement one node at a time, always to the best predicted capacity.

    Parameters
    ----------
    law
        Of the batch times.
    operator
        Its driver, cap and limits.
    present, free
        The nodes that hold replicas, at least one, and those that could take one.
    weights
        Capacity weight by node; one that is not listed weighs 1.
    delays
        The latency map.
    trigger_s
        The trigger interval.

    Returns
    -------
    Placements
        Up to ``max_replicas``, as far as there are nodes.
    """
    nodes = (*present, *free)
    trips = RoundTrips.of(nodes, operator.driver_node, delays)
    driver_s, pairs_s = (
        np.nan_to_num(values, nan=UNKNOWN_RTT_S) for values in (trips.driver_s, trips.pairs_s)
    )
    weight = np.array([weights.get(node, 1.0) for node in nodes])

    def best(sets: Sequence[Sequence[int]]) -> tuple[list[int], float]:
        index, cap = np.array(sets), operator.batch_rows(len(sets[0]))
        found = law.rows_per_s(
            weight[index].sum(axis=1),
            driver_s[index].max(axis=1),
            pairs_s[index[:, :, None], index[:, None, :]].max(axis=(1, 2)),
            None if cap is None else float(cap),
            trigger_s,
        )
        first = int(np.argmax(found))
        return list(sets[first]), float(found[first])

    members = list(range(len(present)))
    chosen = [best([members])]
    while len(chosen[0][0]) > 1:
        members = chosen[0][0]
        chosen.insert(0, best([members[:gone] + members[gone + 1 :] for gone in range(len(members))]))
    rest = set(range(len(present), len(nodes)))
    while rest and len(chosen) < operator.max_replicas:
        chosen.append(best([[*chosen[-1][0], node] for node in sorted(rest)]))
        rest.discard(chosen[-1][0][-1])
    return Placements(
        nodes=tuple(tuple(sorted(nodes[index] for index in members)) for members, _ in chosen),
        rows_per_s=np.array([rows_per_s for _, rows_per_s in chosen]),
    )
