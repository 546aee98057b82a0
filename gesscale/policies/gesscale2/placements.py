"""The best placement for each number of replicas that can be reached from the present one, and its capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.law import BatchTimeLaw
from gesscale.workflow import Operator
from latency_map import LatencyMap

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ladder:
    """A placement for each number of replicas 1, 2, ..., and its capacity in rows/s."""

    placements: tuple[tuple[str, ...], ...]
    capacity: Vector


def delays_s(delays: LatencyMap | None, nodes: Sequence[str], driver: str) -> tuple[Vector, NDArray[np.float64]]:
    """Return the round trips to the driver and between nodes, seconds; NaN where unknown."""
    count = len(nodes)
    to_driver, pairs = np.full(count, np.nan), np.full((count, count), np.nan)
    np.fill_diagonal(pairs, 0.0)
    to_driver[[index for index, node in enumerate(nodes) if node == driver]] = 0.0
    if delays is not None:
        known = [index for index, node in enumerate(nodes) if node in delays]
        rows = delays.positions(nodes[index] for index in known)
        pairs[np.ix_(known, known)] = delays.rtt_ms[np.ix_(rows, rows)] / 1000
        if driver in delays:
            to_driver[known] = delays.rtt_ms[rows, delays.positions([driver])[0]] / 1000
    return to_driver, pairs


def ladder(
    law: BatchTimeLaw,
    operator: Operator,
    present: Sequence[str],
    free: Sequence[str],
    weights: Mapping[str, float],
    delays: LatencyMap | None,
    trigger_s: float,
) -> Ladder:
    """Grow from the present placement node by node, and shrink it, always by the best predicted capacity."""
    nodes = (*present, *free)
    to_driver, pairs = delays_s(delays, nodes, operator.driver_node)
    to_driver, pairs = np.nan_to_num(to_driver, nan=1.0), np.nan_to_num(pairs, nan=1.0)
    weight = np.array([weights.get(node, 1.0) for node in nodes])

    def capacities(sets: Sequence[Sequence[int]]) -> Vector:
        size = len(sets[0])
        index = np.array(sets)
        cap = operator.batch_rows(size)
        return np.atleast_1d(
            law.rows_per_s(
                weight[index].sum(axis=1),
                to_driver[index].max(axis=1),
                pairs[index[:, :, None], index[:, None, :]].max(axis=(1, 2)),
                None if cap is None else float(cap),
                trigger_s,
            )
        )

    chosen: dict[int, tuple[list[int], float]] = {}
    members = list(range(len(present)))
    chosen[len(members)] = (members, float(capacities([members])[0]))
    while len(members) > 1:
        options = [members[:gone] + members[gone + 1 :] for gone in range(len(members))]
        found = capacities(options)
        best = int(np.argmax(found))
        members = options[best]
        chosen[len(members)] = (members, float(found[best]))
    members = list(range(len(present)))
    rest = list(range(len(present), len(nodes)))
    while rest and len(members) < operator.max_replicas:
        options = [[*members, node] for node in rest]
        found = capacities(options)
        best = int(np.argmax(found))
        members = options[best]
        rest.remove(members[-1])
        chosen[len(members)] = (members, float(found[best]))
    sizes = sorted(chosen)
    return Ladder(
        tuple(tuple(sorted(nodes[index] for index in chosen[size][0])) for size in sizes),
        np.array([chosen[size][1] for size in sizes]),
    )
