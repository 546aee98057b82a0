"""Sets of nodes that are all within one delay of each other: cliques of a threshold graph.

A node is a bit: a set of nodes is one integer and its neighbours another. So sets of tens or hundreds of nodes are
intersected in one operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CliqueSearch:
    """What a search found."""

    #: The set found, as bits; None where there is none or the search stopped early.
    members: int | None
    #: Whether the answer is certain; False where the search stopped early.
    complete: bool
    #: The work that it took: nodes looked at, once for each branch.
    steps: int


def threshold_graph(near: NDArray[np.bool_]) -> list[int]:
    """Return each node's neighbours as bits.

    Parameters
    ----------
    near
        Shape ``(n, n)``, symmetric: which nodes are neighbours.
    """
    rows = np.packbits(near, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") & ~(1 << node) for node, row in enumerate(rows)]


def first_clique(neighbours: Sequence[int], size: int, *, max_steps: int) -> CliqueSearch:
    """Find the clique of a given size that is first in the order of the nodes.

    Depth first: a set with the first node left before one without it. A branch ends where too few nodes are left
    round its nodes, or where they can be coloured with fewer colours than nodes are wanted (neighbours never share
    a colour, so that a clique has at most one node of each).
    """
    branches = [(0, (1 << len(neighbours)) - 1, size)]
    steps = 0
    while branches and steps < max_steps:
        chosen, left, missing = branches.pop()
        if missing <= 0:
            return CliqueSearch(members=chosen, complete=True, steps=steps)
        steps += 1 + left.bit_count()
        left = _with_enough_around(neighbours, left, missing)
        if not _needs_colours(neighbours, left, missing):
            continue
        first = left & -left
        node = first.bit_length() - 1
        branches.append((chosen, left ^ first, missing))
        branches.append((chosen | first, left & neighbours[node], missing - 1))
    return CliqueSearch(members=None, complete=not branches, steps=steps)


def bits(nodes: int) -> list[int]:
    """Return the positions of the set bits, lowest first."""
    found = []
    while nodes:
        lowest = nodes & -nodes
        found.append(lowest.bit_length() - 1)
        nodes ^= lowest
    return found


def _with_enough_around(neighbours: Sequence[int], nodes: int, size: int) -> int:
    """Drop nodes that have too few neighbours among the rest, until none is left to drop."""
    while True:
        kept = nodes
        for node in bits(nodes):
            if (neighbours[node] & kept).bit_count() < size - 1:
                kept ^= 1 << node
        if kept == nodes:
            return nodes
        nodes = kept


def _needs_colours(neighbours: Sequence[int], nodes: int, size: int) -> bool:
    """Colour the nodes greedily and tell whether that takes so many colours."""
    while nodes and size > 0:
        uncoloured = nodes
        size -= 1
        while uncoloured:
            lowest = uncoloured & -uncoloured
            nodes ^= lowest
            uncoloured &= ~(neighbours[lowest.bit_length() - 1] | lowest)
    return size <= 0
