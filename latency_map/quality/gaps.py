"""Pairs without a measurement, and nodes that no measured pair joins."""

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

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``, symmetric; the diagonal is not marked.
    """
    unknown = np.isnan(rtt_ms)
    missing: Mask = unknown & unknown.T
    np.fill_diagonal(missing, val=False)
    return missing


def find_islands(rtt_ms: Delays) -> NDArray[np.intp]:
    """Tell the islands apart: sets of nodes that chains of measured pairs join.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``; NaN where missing. One direction joins a pair.

    Returns
    -------
    numpy.ndarray
        Shape ``(n,)``: nodes of one island have the same number, from 0 in the order of their first nodes.
    """
    links = scipy.sparse.csr_array(~np.isnan(rtt_ms))
    return scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.intp)
