"""Sets of nodes that are all within one delay of each other: cliques of a threshold graph.

A node is a bit: a set of nodes is one integer and its neighbours another, so that sets of tens or hundreds of
nodes are intersected in one operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latency_map.delays import Delays


@dataclass(frozen=True, slots=True, kw_only=True)
class CliqueSearch:
    """What a search found.

    Attributes
    ----------
    members
        The set found, as bits; None where there is none or the search stopped early.
    complete
        Whether the answer is certain; False where the search stopped early.
    """

    members: int | None
    complete: bool


def threshold_graph(delays_ms: Delays, level_ms: float) -> list[int]:
    """Return each node's neighbours within a delay.

    Parameters
    ----------
    delays_ms
        Shape ``(n, n)``, symmetric.
    level_ms
        The largest delay that makes two nodes neighbours.

    Returns
    -------
    list of int
        For each node the set of its neighbours as bits, itself left out.
    """
    rows = np.packbits(delays_ms <= level_ms, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") & ~(1 << node) for node, row in enumerate(rows)]


def first_clique(neighbours: Sequence[int], allowed: int, size: int, *, max_steps: int) -> CliqueSearch:
    """Find the clique of a given size that is first in the order of the nodes.

    Depth first: a set with the first allowed node before one without it. A branch ends where too few nodes
    have enough neighbours left, or where they can be coloured with fewer colours than nodes are wanted
    (neighbours never share a colour, so a clique needs as many colours as it has nodes).

    Parameters
    ----------
    neighbours
        As `threshold_graph` returns them.
    allowed
        The nodes to choose from, as bits.
    size
        How many are wanted, at least 0.
    max_steps
        After so many branches the search stops.

    Returns
    -------
    CliqueSearch
        The first clique, none, or no answer.
    """
    branches = [(0, allowed)]
    for _ in range(max_steps):
        if not branches:
            return CliqueSearch(members=None, complete=True)
        chosen, left = branches.pop()
        wanted = size - chosen.bit_count()
        if wanted == 0:
            return CliqueSearch(members=chosen, complete=True)
        left = _with_degree(neighbours, left, wanted - 1)
        if not _needs_colours(neighbours, left, wanted):
            continue
        first = left & -left
        branches.append((chosen, left ^ first))
        branches.append((chosen | first, left & neighbours[first.bit_length() - 1]))
    return CliqueSearch(members=None, complete=not branches)


def bits(nodes: int) -> list[int]:
    """Return the positions of the set bits, lowest first."""
    found = []
    while nodes:
        lowest = nodes & -nodes
        found.append(lowest.bit_length() - 1)
        nodes ^= lowest
    return found


def _with_degree(neighbours: Sequence[int], nodes: int, degree: int) -> int:
    """Drop nodes with fewer neighbours among the rest, until none is left to drop."""
    while True:
        kept = nodes
        for node in bits(nodes):
            if (neighbours[node] & kept).bit_count() < degree:
                kept ^= 1 << node
        if kept == nodes:
            return nodes
        nodes = kept


def _needs_colours(neighbours: Sequence[int], nodes: int, colours: int) -> bool:
    """Tell whether colouring the nodes greedily takes at least so many colours."""
    for _ in range(colours):
        if not nodes:
            return False
        uncoloured = nodes
        while uncoloured:
            lowest = uncoloured & -uncoloured
            nodes ^= lowest
            uncoloured &= ~(neighbours[lowest.bit_length() - 1] | lowest)
    return True
