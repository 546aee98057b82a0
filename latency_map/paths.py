"""Shortest paths over delays."""

import numpy as np

from latency_map.delays import Delays


def shortest_paths(links: Delays) -> Delays:
    """Return the delay of the shortest path between each two nodes, NaN without a path.

    Parameters
    ----------
    links
        Shape ``(n, n)``, row to column; NaN where there is no link.
    """
    from scipy.sparse import csr_array  # slow to import, and agents on small nodes import this package too
    from scipy.sparse.csgraph import dijkstra

    rows, columns = np.nonzero(~np.isnan(links))  # a delay of 0 is a link too
    paths: Delays = dijkstra(csr_array((links[rows, columns], (rows, columns)), shape=links.shape))
    if np.array_equal(links, links.T, equal_nan=True):
        paths = np.minimum(paths, paths.T)  # sums of both directions may differ by rounding
    paths[np.isinf(paths)] = np.nan
    return paths
