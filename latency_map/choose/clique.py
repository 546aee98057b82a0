"""Sets of nodes that are all within one delay of each other: cliques of a threshold graph.

A node is a bit: a set of nodes is one integer and its neighbours another. So sets of tens or hundreds of nodes are
intersected in one operation. Nodes are in the order of their weights, heaviest first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CliqueSearch:
    """What a search found.

    Attributes
    ----------
    members
        The set found, as bits; None where there is none or the search stopped early.
    complete
        Whether the answer is certain; False where the search stopped early.
    steps
        The work that it took: nodes looked at, once for each branch.
    """

    members: int | None
    complete: bool
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BitWeights:
    """Sums the weights of sets of nodes that are given as bits.

    Attributes
    ----------
    weights
        Of each node.
    plates
        Pairs of a weight and the nodes that it counts for, as bits: one pair for each distinct weight, or for
        each binary digit of the weights, whichever are fewer.
    """

    weights: tuple[int, ...]
    plates: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, weights: Sequence[int]) -> Self:
        """Prepare to sum these weights, given in the order of the bits."""
        digits = [1 << digit for digit in range(max(weights, default=0).bit_length())]
        distinct = sorted(set(weights))
        if len(distinct) <= len(digits):
            plates = [(each, _bits_where(weight == each for weight in weights)) for each in distinct]
        else:
            plates = [(each, _bits_where(weight & each for weight in weights)) for each in digits]
        return cls(weights=tuple(weights), plates=tuple(plates))

    def sum(self, nodes: int) -> int:
        """Return the weight of a set of nodes, given as bits."""
        if len(self.plates) == 1:
            weight, members = self.plates[0]
            return weight * (nodes & members).bit_count()
        return sum([weight * (nodes & members).bit_count() for weight, members in self.plates])


def threshold_graph(near: NDArray[np.bool_]) -> list[int]:
    """Return each node's neighbours as bits.

    Parameters
    ----------
    near
        Shape ``(n, n)``, symmetric: which nodes are neighbours.

    Returns
    -------
    list of int
        For each node the set of its neighbours as bits, itself left out.
    """
    rows = np.packbits(near, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") & ~(1 << node) for node, row in enumerate(rows)]


def first_clique(
    neighbours: Sequence[int], weights: Sequence[int], wanted: int, *, max_steps: int
) -> CliqueSearch:
    """Find the clique of a given weight that is first in the order of the nodes.

    Depth first: a set with the first node left before one without it. A branch ends where too little weight
    is left round its nodes, or where they can be coloured so that the heaviest of each colour weigh less than
    is wanted (neighbours never share a colour, so that a clique has at most one node of each).

    Parameters
    ----------
    neighbours
        As `threshold_graph` returns them.
    weights
        Of the nodes, never increasing. Without a node of the clique the rest weighs less than is wanted.
    wanted
        What the clique weighs at least; with weights of 1, how many nodes it has.
    max_steps
        After looking at so many nodes, once for each branch, the search stops.

    Returns
    -------
    CliqueSearch
        The first clique, none, or no answer.
    """
    scales = BitWeights.of(weights)
    branches = [(0, (1 << len(neighbours)) - 1, wanted)]
    steps = 0
    while branches and steps < max_steps:
        chosen, left, missing = branches.pop()
        if missing <= 0:
            return CliqueSearch(members=chosen, complete=True, steps=steps)
        steps += 1 + left.bit_count()
        left = _with_weight_around(neighbours, scales, left, missing)
        if not _weighs_in_colours(neighbours, scales, left, missing):
            continue
        first = left & -left
        node = first.bit_length() - 1
        branches.append((chosen, left ^ first, missing))
        branches.append((chosen | first, left & neighbours[node], missing - weights[node]))
    return CliqueSearch(members=None, complete=not branches, steps=steps)


def bits(nodes: int) -> list[int]:
    """Return the positions of the set bits, lowest first."""
    found = []
    while nodes:
        lowest = nodes & -nodes
        found.append(lowest.bit_length() - 1)
        nodes ^= lowest
    return found


def _with_weight_around(neighbours: Sequence[int], scales: BitWeights, nodes: int, wanted: int) -> int:
    """Drop nodes that weigh too little with their neighbours among the rest, until none is left to drop."""
    while True:
        kept = nodes
        for node in bits(nodes):
            if scales.sum(neighbours[node] & kept) < wanted - scales.weights[node]:
                kept ^= 1 << node
        if kept == nodes:
            return nodes
        nodes = kept


def _weighs_in_colours(neighbours: Sequence[int], scales: BitWeights, nodes: int, wanted: int) -> bool:
    """Colour the nodes greedily and tell whether the heaviest of each colour weigh so much together."""
    while nodes and wanted > 0:
        uncoloured = nodes
        wanted -= scales.weights[(nodes & -nodes).bit_length() - 1]
        while uncoloured:
            lowest = uncoloured & -uncoloured
            nodes ^= lowest
            uncoloured &= ~(neighbours[lowest.bit_length() - 1] | lowest)
    return wanted <= 0


def _bits_where(flags: Iterable[object]) -> int:
    return sum(1 << position for position, flag in enumerate(flags) if flag)
