"""Which of equal cases is named: the first by name, so that the order of the rows does not matter."""

import numpy as np

from latency_map.survey import Mask


def first_pair(names: tuple[str, ...], marked: Mask) -> tuple[int, int]:
    """Return the marked cell whose two names come first.

    Parameters
    ----------
    names
        The n nodes.
    marked
        Shape ``(n, n)``; at least one cell is marked.

    Returns
    -------
    tuple of int
        Row and column. Of two directions of a pair, the one that begins with the first name.
    """
    n = len(names)
    rank = np.empty(n, dtype=np.int64)
    rank[sorted(range(n), key=names.__getitem__)] = np.arange(n)
    rows, columns = np.nonzero(marked)
    a, b = rank[rows], rank[columns]
    first = ((np.minimum(a, b) * n + np.maximum(a, b)) * n + a).argmin()
    return int(rows[first]), int(columns[first])
