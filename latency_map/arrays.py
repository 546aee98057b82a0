"""Square matrices that are worked on in place, or a few rows at a time: at 5,000 nodes each takes 200 MB."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_BLOCK_CELLS = 1 << 17

Cells = TypeVar("Cells", bound=np.generic)


def row_blocks(count: int) -> Iterator[slice]:
    """Return the rows of a square matrix in blocks of about a megabyte.

    Parameters
    ----------
    count
        How many rows, and columns, the matrix has.

    Yields
    ------
    slice
        Rows that follow one another.
    """
    height = max(1, _BLOCK_CELLS // max(1, count))
    for first in range(0, count, height):
        yield slice(first, min(first + height, count))


def read_only(values: ArrayLike, kind: type[Cells]) -> NDArray[Cells]:
    """Return values as a read-only array.

    Parameters
    ----------
    values
        What an array can be made of.
    kind
        The type of its cells.

    Returns
    -------
    numpy.ndarray
        What was given, uncopied since it may be large, where it is a read-only array of that type; else a copy.
        It holds no -0.0: that becomes 0.0.
    """
    if (
        isinstance(values, np.ndarray)
        and values.dtype == kind
        and not (values.flags.writeable or _has_minus_zero(values))
    ):
        return values
    array = np.array(values, dtype=kind)
    if array.dtype == np.float64:
        array += np.float64(0.0)
    array.setflags(write=False)
    return array


def reorder(matrix: NDArray[Cells], order: Sequence[int]) -> None:
    """Give rows and columns of a square matrix another order, in place.

    Parameters
    ----------
    matrix
        Shape ``(n, n)``.
    order
        For each new position the old one.
    """
    columns = np.array(order, dtype=np.intp)
    for row in matrix:
        row[:] = row[columns]
    settled = np.zeros(len(columns), dtype=bool)
    for start in range(len(columns)):
        if settled[start]:
            continue
        first, at = matrix[start].copy(), start
        while not settled[at]:  # around the circle of rows that take each other's places
            settled[at] = True
            following = int(columns[at])
            matrix[at] = first if following == start else matrix[following]
            at = following


def _has_minus_zero(values: NDArray[np.generic]) -> bool:
    if values.dtype != np.float64 or values.ndim == 0:
        return False
    return any(
        bool((np.signbit(values[rows]) & (values[rows] == 0)).any()) for rows in row_blocks(len(values))
    )
