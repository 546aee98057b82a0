"""Round trips of nodes to the driver and between each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map import LatencyMap

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """Round trips of nodes to the driver, shape ``(n,)``, and between each two, ``(n, n)``; NaN: unknown."""

    driver_ms: Array
    pairs_ms: Array

    @classmethod
    def of(cls, nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> "RoundTrips":
        """Read round trips from a latency map; a node has 0 to itself, also without a map."""
        pairs_ms = np.full((len(nodes), len(nodes)), np.nan)
        if delays is not None:
            known = [index for index, node in enumerate(nodes) if node in delays]
            rows = delays.positions(nodes[index] for index in known)
            pairs_ms[np.ix_(known, known)] = delays.rtt_ms[np.ix_(rows, rows)]
        np.fill_diagonal(pairs_ms, 0.0)
        return cls(driver_ms=driver_rtts_ms(nodes, driver_node, delays), pairs_ms=pairs_ms)


def max_trips_ms(nodes: tuple[str, ...], driver_node: str, delays: LatencyMap | None) -> tuple[float, float]:
    """Return the longest round trips of a placement, to the driver and between two nodes; NaN: unknown."""

    def find() -> tuple[float, float]:
        trips = RoundTrips.of(nodes, driver_node, delays)
        return float(trips.driver_ms.max()), float(trips.pairs_ms.max())

    return find() if delays is None else delays.cached((max_trips_ms, nodes, driver_node), find)


def driver_rtts_ms(nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> Array:
    """Return the round trips of nodes to the driver; NaN: unknown."""
    rtts_ms = np.full(len(nodes), np.nan)
    if delays is not None and driver_node in delays:
        known = delays.known_indices(nodes)
        rows = delays.positions([nodes[index] for index in known.tolist()])
        rtts_ms[known] = delays.rtt_ms[delays.positions([driver_node])[0]][rows]
    if driver_node in nodes:
        rtts_ms[nodes.index(driver_node)] = 0.0
    return rtts_ms
