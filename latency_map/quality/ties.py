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
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    for place, row in enumerate(order):
        following = order[place:]
        there, back = marked[row, following], marked[following, row]
        either = there | back
        if either.any():
            first = int(either.argmax())
            pair = int(row), int(following[first])
            return pair if there[first] else (pair[1], pair[0])
    message = "expected at least one marked cell, got none"
    raise ValueError(message)
