"""Square matrices that grow as nodes are added, up to a limit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latency_map.errors import error_of
from latency_map.limits import MapLimits
from latency_map.names import find_name_fault

_FIRST_SIZE = 64


class Grid:
    """Nodes by name, with matrices over them.

    Attributes
    ----------
    numbers
        The number of each node, from 0 in order of appearance.
    layers
        The matrices, indexed by these numbers; they have spare rows and columns for further nodes.
    """

    def __init__(self, source: str, limits: MapLimits, blanks: Mapping[str, np.generic]) -> None:
        self.numbers: dict[str, int] = {}
        self.layers: dict[str, NDArray[Any]] = {}
        self._source, self._limits, self._blanks, self._size = source, limits, blanks, 0

    def number(self, name: str, *, line: int = 0, column: int = 0) -> int:
        """Return the number of a node; add the node if it is new.

        Raises
        ------
        LatencyMapError
            The name is invalid, or there are too many nodes.
        """
        known = self.numbers.get(name)
        if known is not None:
            return known
        place = f"line {line}, column {column}" if line else ""
        if fault := find_name_fault((name,)):
            raise error_of(fault[1], source=self._source, place=place)
        number = len(self.numbers)
        if number == self._limits.nodes:
            raise error_of(self._limits.too_many_nodes(), source=self._source, place=place)
        if number == self._size:
            self._grow()
        self.numbers[name] = number
        for layer, blank in self._blanks.items():
            self.layers[layer][number, : number + 1] = blank
            self.layers[layer][:number, number] = blank
        return number

    def finish(self, layer: str, order: Sequence[int] | None = None) -> NDArray[Any]:
        """Return a matrix after all nodes were added, and release it."""
        count = len(self.numbers)
        matrix = self.layers.pop(layer)[:count, :count] if count else np.empty((0, 0))
        return matrix if order is None else matrix[np.ix_(order, order)]

    def _grow(self) -> None:
        """Enlarge the matrices by half; the system allocates only pages that are written."""
        count = len(self.numbers)
        self._size = min(self._limits.nodes, max(_FIRST_SIZE, 3 * self._size // 2))
        for layer, blank in self._blanks.items():
            larger = np.empty((self._size, self._size), dtype=blank.dtype)
            if count:
                larger[:count, :count] = self.layers[layer][:count, :count]
            self.layers[layer] = larger
