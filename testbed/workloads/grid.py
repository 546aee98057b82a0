"""Rates on one grid of equal steps, from pieces of any length."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rates_on_grid(edges: Sequence[float], rates: Sequence[float], step: float) -> NDArray[np.float64]:
    """Return the mean rate of each step: no row is lost or added.

    Parameters
    ----------
    edges
        Where the pieces begin and the last one ends, rising from 0; one more than rates.
    rates
        The rate of each piece, in any unit.
    step
        Length of a step, in the unit of the edges; the last edge is a multiple of it.

    Returns
    -------
    ndarray of shape (edges[-1] / step,)
        Rates, in the unit of the rates; those of steps within one piece are that piece's to the last bit.
    """
    piece_edges, piece_rates = np.asarray(edges, dtype=float), np.asarray(rates, dtype=float)
    offered = np.concatenate([[0.0], np.cumsum(np.diff(piece_edges) * piece_rates)])
    grid = np.arange(round(piece_edges[-1] / step) + 1) * step
    means = np.diff(np.interp(grid, piece_edges, offered)) / step
    first = np.searchsorted(piece_edges, grid[:-1], side="right") - 1
    last = np.searchsorted(piece_edges, grid[1:], side="left") - 1
    within: NDArray[np.bool_] = first >= last
    exact: NDArray[np.float64] = np.where(within, piece_rates[first], np.maximum(means, 0.0))
    return exact
