"""Search for cliques of a threshold graph: sets of nodes that are all within one delay of each other.

A set of nodes is an integer with a bit for each node, so large sets are intersected in one operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CliqueResult:
    """Result of a search."""

    #: The clique as bits; None if there is none, or if the search stopped early.
    members: int | None
    #: True if the result is certain, False if the search stopped early.
    complete: bool
    #: Number of visited nodes, once for each branch.
    steps: int


def threshold_graph(near: NDArray[np.bool_]) -> list[int]:
    """Return the neighbours of each node as bits.

    Parameters
    ----------
    near
        Shape ``(n, n)``, symmetric: which nodes are neighbours.
    """
    rows = np.packbits(near, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") & ~(1 << node) for node, row in enumerate(rows)]


def first_clique(neighbours: Sequence[int], size: int, *, max_steps: int) -> CliqueResult:
    """Find the first clique of a given size, in the order of the nodes.

    The search is depth first: sets with the first remaining node come before sets without it. A branch ends if too
    few candidates are left, or if a colouring needs fewer colours than there are missing nodes: neighbours never
    share a colour, so a clique has at most one node of each colour.
    """
    branches = [(0, (1 << len(neighbours)) - 1, size)]
    steps = 0
    while branches and steps < max_steps:
        chosen, left, missing = branches.pop()
        if missing <= 0:
            return CliqueResult(members=chosen, complete=True, steps=steps)
        steps += 1 + left.bit_count()
        left = _prune_low_degree(neighbours, left, missing)
        if not _colour_bound_allows(neighbours, left, missing):
            continue
        first = left & -left
        node = first.bit_length() - 1
        branches.append((chosen, left ^ first, missing))
        branches.append((chosen | first, left & neighbours[node], missing - 1))
    return CliqueResult(members=None, complete=not branches, steps=steps)


def bit_positions(nodes: int) -> list[int]:
    """Return the positions of the set bits, lowest first."""
    found = []
    while nodes:
        lowest = nodes & -nodes
        found.append(lowest.bit_length() - 1)
        nodes ^= lowest
    return found


def _prune_low_degree(neighbours: Sequence[int], nodes: int, size: int) -> int:
    """Drop nodes with too few neighbours among the rest, until all have enough."""
    while True:
        kept = nodes
        for node in bit_positions(nodes):
            if (neighbours[node] & kept).bit_count() < size - 1:
                kept ^= 1 << node
        if kept == nodes:
            return nodes
        nodes = kept


def _colour_bound_allows(neighbours: Sequence[int], nodes: int, size: int) -> bool:
    """Return whether a greedy colouring of the nodes needs at least ``size`` colours."""
    while nodes and size > 0:
        uncoloured = nodes
        size -= 1
        while uncoloured:
            lowest = uncoloured & -uncoloured
            nodes ^= lowest
            uncoloured &= ~(neighbours[lowest.bit_length() - 1] | lowest)
    return size <= 0
