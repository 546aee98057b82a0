"""Networks of links: the delay between two nodes is that of the shortest path.

Measurements are never replaced by detours. A file has links if the caller says so, or if it is a graph that has each
pair at most once, without times and loss, and less than `NEARLY_COMPLETE_RATIO` of the pairs: who measures all pairs
misses a few, who draws a network leaves most of them out.
"""

import numpy as np
from numpy.typing import NDArray

from gesscale.common.errors import Problem
from latency_map.delays import Delays

#: Share of the pairs with a delay from which on a graph has measurements.
NEARLY_COMPLETE_RATIO = 0.8

#: Relative difference up to which a link is as long as a path.
_ROUNDING = 1e-9


def is_nearly_complete(delays: Delays) -> bool:
    """Return whether most pairs of different nodes have a delay, in one direction at least."""
    known, pairs = _pairs(~np.isnan(delays)), len(delays) * (len(delays) - 1) // 2
    return known >= NEARLY_COMPLETE_RATIO * pairs


def shortest_paths(links: Delays, *, directed: bool) -> tuple[Delays, Problem]:
    """Return the delays of the shortest paths, NaN without a path, and a note with the links that paths replaced."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    if not directed:
        links = np.where(np.isnan(links), links.T, links)
    rows, columns = np.nonzero(~np.isnan(links))  # a delay of 0 is a link too
    paths: Delays = dijkstra(csr_array((links[rows, columns], (rows, columns)), shape=links.shape))
    if np.array_equal(links, links.T, equal_nan=True):
        paths = np.minimum(paths, paths.T)  # sums of both directions may differ by rounding
    paths[np.isinf(paths)] = np.nan
    figures = {"links": _pairs(~np.isnan(links)), "replaced": _pairs(paths < links * (1 - _ROUNDING))}
    return paths, Problem("import-paths-computed", figures)


def _pairs(marked: NDArray[np.bool_]) -> int:
    """Count the pairs of different nodes that are marked in one direction at least."""
    return int(np.count_nonzero(np.triu(marked | marked.T, 1)))
