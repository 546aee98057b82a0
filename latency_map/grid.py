"""Square matrices over nodes that come one by one: they grow with the nodes, and no further than a limit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latency_map.errors import error_at
from latency_map.limits import MapLimits
from latency_map.names import find_name_fault

_FIRST_SIZE = 64


class Grid:
    """Nodes by name, and matrices over them.

    Attributes
    ----------
    numbers
        The number of each node, from 0 in order of appearance.
    layers
        The matrices, row to column by these numbers; they have room for nodes that are still to come.
    """

    def __init__(self, source: str, limits: MapLimits, blanks: Mapping[str, np.generic]) -> None:
        self.numbers: dict[str, int] = {}
        self.layers: dict[str, NDArray[Any]] = {}
        self._source, self._limits, self._blanks, self._size = source, limits, blanks, 0

    def number(self, name: str, *, line: int = 0, column: int = 0) -> int:
        """Return the number of a node; a new node is added.

        Raises
        ------
        LatencyMapError
            The name is no node name, or there are too many nodes.
        """
        known = self.numbers.get(name)
        if known is not None:
            return known
        place = f"line {line}, column {column}" if line else ""
        fault = find_name_fault((name,))
        if fault:
            raise error_at(self._source, place, fault[1])
        number = len(self.numbers)
        if number == self._limits.nodes:
            raise error_at(self._source, place, self._limits.too_many_nodes())
        if number == self._size:
            self._grow()
        self.numbers[name] = number
        for layer, blank in self._blanks.items():
            self.layers[layer][number, : number + 1] = blank
            self.layers[layer][:number, number] = blank
        return number

    def finish(self, layer: str, order: Sequence[int] | None = None) -> NDArray[Any]:
        """Return a matrix, once all nodes came; it is not kept."""
        count = len(self.numbers)
        matrix = self.layers.pop(layer)[:count, :count] if count else np.empty((0, 0))
        return matrix if order is None else matrix[np.ix_(order, order)]

    def _grow(self) -> None:
        """Make room for half as many nodes more; pages of memory that nothing is written to are not taken."""
        count = len(self.numbers)
        self._size = min(self._limits.nodes, max(_FIRST_SIZE, 3 * self._size // 2))
        for layer, blank in self._blanks.items():
            larger = np.empty((self._size, self._size), dtype=blank.dtype)
            if count:
                larger[:count, :count] = self.layers[layer][:count, :count]
            self.layers[layer] = larger
