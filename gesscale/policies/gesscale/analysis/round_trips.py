"""Round trips of nodes to the driver and between each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map import LatencyMap

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """Round trips of nodes to the driver, shape ``(n,)``, and between each two, ``(n, n)``; seconds, NaN: unknown."""

    driver_s: Array
    pairs_s: Array

    @classmethod
    def of(cls, nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> "RoundTrips":
        """Read round trips from a latency map; a node has 0 to itself, also without a map."""
        pairs_s = np.full((len(nodes), len(nodes)), np.nan)
        if delays is not None:
            known = [index for index, node in enumerate(nodes) if node in delays]
            rows = delays.positions(nodes[index] for index in known)
            pairs_s[np.ix_(known, known)] = delays.rtt_ms[np.ix_(rows, rows)] / 1000
        np.fill_diagonal(pairs_s, 0.0)
        return cls(driver_s=driver_rtts_s(nodes, driver_node, delays), pairs_s=pairs_s)


def max_trips_ms(nodes: tuple[str, ...], driver_node: str, delays: LatencyMap | None) -> tuple[float, float]:
    """Return the longest round trips of a placement, to the driver and between two nodes; NaN: unknown."""

    def find() -> tuple[float, float]:
        trips = RoundTrips.of(nodes, driver_node, delays)
        return 1000 * float(trips.driver_s.max()), 1000 * float(trips.pairs_s.max())

    return find() if delays is None else delays.cached((max_trips_ms, nodes, driver_node), find)


def driver_rtts_s(nodes: Sequence[str], driver_node: str, delays: LatencyMap | None) -> Array:
    """Return the round trips of nodes to the driver; seconds, NaN: unknown."""
    rtts_s = np.full(len(nodes), np.nan)
    if delays is not None and driver_node in delays:
        known = delays.known_indices(nodes)
        rows = delays.positions([nodes[index] for index in known.tolist()])
        rtts_s[known] = delays.rtt_ms[delays.positions([driver_node])[0]][rows] / 1000
    if driver_node in nodes:
        rtts_s[nodes.index(driver_node)] = 0.0
    return rtts_s
