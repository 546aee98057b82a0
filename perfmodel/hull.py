"""How far points of a plane lie outside the convex hull of others."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_Corner = tuple[float, float]


def beyond(corners: tuple[_Corner, ...], points: Array) -> Array:
    """Return the way from the nearest point of a convex hull to each of some points.

    Parameters
    ----------
    corners
        What the hull is of, at least one; those that are inside it change nothing.
    points
        Shape ``(m, 2)``.

    Returns
    -------
    ndarray
        Shape ``(m, 2)``; zero for a point in the hull.

    Examples
    --------
    >>> beyond(((0.0, 0.0), (2.0, 0.0)), np.array([[1.0, 1.5], [3.0, 0.0], [1.0, 0.0]])).tolist()
    [[0.0, 1.5], [1.0, 0.0], [0.0, 0.0]]
    """
    begins, ways, squares = _sides(corners)
    ways_x, ways_y = ways
    seen_x, seen_y = points.T[..., np.newaxis] - begins[:, np.newaxis]  # from each corner, shape (m, sides)
    along = np.minimum(np.maximum((seen_x * ways_x + seen_y * ways_y) / squares, 0.0), 1.0)
    off_x, off_y = seen_x - along * ways_x, seen_y - along * ways_y  # from the nearest point of each side
    nearest = np.argmin(off_x**2 + off_y**2, axis=1)
    rows = range(len(points))
    found = np.array([off_x[rows, nearest], off_y[rows, nearest]])
    if len(squares) > 2:
        left = ways_x * seen_y >= ways_y * seen_x  # the hull runs counterclockwise
        found[:, left.all(axis=1)] = 0.0
    return found.T


@lru_cache(maxsize=4096)
def _sides(corners: tuple[_Corner, ...]) -> tuple[Array, Array, Array]:
    """Return where each side of the hull begins and where it leads, shape ``(2, sides)``, and its squared length."""
    begins = np.array(_hull(corners)).T
    ways = np.roll(begins, -1, axis=1) - begins
    squares = (ways**2).sum(axis=0)
    return begins, ways, np.where(squares > 0, squares, 1.0)


def _hull(corners: tuple[_Corner, ...]) -> list[_Corner]:
    """Return the outermost points counterclockwise (monotone chain)."""
    ordered = sorted(set(corners))
    if len(ordered) < 3:
        return ordered
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return lower[:-1] + upper[:-1]


def _chain(ordered: list[_Corner]) -> list[_Corner]:
    chain: list[_Corner] = []
    for x, y in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], (x, y)) <= 0:
            chain.pop()
        chain.append((x, y))
    return chain


def _turn(a: _Corner, b: _Corner, c: _Corner) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
