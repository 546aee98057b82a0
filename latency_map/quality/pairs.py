"""Missing pairs, islands of nodes, and the first pair by name."""

import numpy as np
import scipy
from numpy.typing import NDArray

from latency_map.delays import Delays
from latency_map.survey import Mask


def missing_pairs(rtt_ms: Delays) -> Mask:
    """Mark the pairs that are known in neither direction.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``; NaN where missing.
    """
    unknown = np.isnan(rtt_ms)
    missing: Mask = unknown & unknown.T
    np.fill_diagonal(missing, val=False)
    return missing


def find_islands(rtt_ms: Delays) -> NDArray[np.intp]:
    """Return the number of the island of each node: nodes that chains of measured pairs connect.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``; NaN where missing. One direction connects a pair.
    """
    links = scipy.sparse.csr_array(~np.isnan(rtt_ms))
    return scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.intp)


def first_pair(names: tuple[str, ...], marked: Mask) -> tuple[int, int]:
    """Return the first marked cell in the order of the two names.

    Parameters
    ----------
    marked
        Shape ``(n, n)``; at least one cell is marked.
    """
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    for place, row in enumerate(order):
        following = order[place:]
        there, back = marked[row, following], marked[following, row]
        either = there | back
        if either.any():
            first = int(either.argmax())
            pair = int(row), int(following[first])
            return pair if there[first] else (pair[1], pair[0])
    raise ValueError("expected at least one marked cell, got none")
