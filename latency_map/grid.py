"""Square matrices over nodes that come one by one: they grow with the nodes, and no further than a limit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latency_map.arrays import reorder
from latency_map.limits import MapLimits
from latency_map.names import find_name_fault

_FIRST_SIZE = 64


class Grid:
    """Nodes by name, and matrices over them.

    Parameters
    ----------
    limits
        How many nodes there may be.
    blanks
        The matrices by name: what a cell of each holds that nothing was written to, and so its type.

    Attributes
    ----------
    numbers
        The number of each node, from 0 in order of appearance.
    layers
        The matrices, row to column by these numbers; they have room for nodes that are still to come.
    """

    def __init__(self, limits: MapLimits, blanks: Mapping[str, np.generic]) -> None:
        self.numbers: dict[str, int] = {}
        self.layers: dict[str, NDArray[Any]] = {}
        self._limits, self._blanks, self._size = limits, blanks, 0

    def add(self, name: str) -> str:
        """Add a node.

        Parameters
        ----------
        name
            One that is not there yet.

        Returns
        -------
        str
            What is wrong with it where it cannot be added; empty where it was.
        """
        fault = find_name_fault((name,))
        if fault:
            return fault[1]
        number = len(self.numbers)
        if number == self._limits.nodes:
            return self._limits.too_many_nodes()
        if number == self._size:
            self._grow()
        self.numbers[name] = number
        for layer, blank in self._blanks.items():
            self.layers[layer][number, : number + 1] = blank
            self.layers[layer][:number, number] = blank
        return ""

    def finish(self, layer: str, order: Sequence[int] | None = None) -> NDArray[Any]:
        """Return a matrix, once all nodes came; it is not kept.

        Parameters
        ----------
        layer
            Its name.
        order
            For each row and column the number of its node; by default they are in the order of the numbers.

        Returns
        -------
        numpy.ndarray
            Shape ``(n, n)``.
        """
        count = len(self.numbers)
        matrix = self.layers.pop(layer)[:count, :count] if count else np.empty((0, 0))
        if order is not None and list(order) != list(range(count)):
            reorder(matrix, order)
        return matrix

    def _grow(self) -> None:
        """Make room for half as many nodes more; pages of memory that nothing is written to are not taken."""
        count = len(self.numbers)
        self._size = min(self._limits.nodes, max(_FIRST_SIZE, 3 * self._size // 2))
        for layer, blank in self._blanks.items():
            larger = np.empty((self._size, self._size), dtype=blank.dtype)
            if count:
                larger[:count, :count] = self.layers[layer][:count, :count]
            self.layers[layer] = larger
