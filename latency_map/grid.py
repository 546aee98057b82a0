"""Square matrices over nodes that are added one by one, up to a limit."""

from collections.abc import Iterable

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import error_of
from latency_map.limits import MapLimits

_FIRST_SIZE = 64


class Grid:
    """Nodes by name, with matrices over them.

    Attributes
    ----------
    numbers
        The number of each node, from 0 in order of appearance.
    layers
        The matrices, indexed by these numbers, NaN at first; they have spare rows and columns for further nodes.
    """

    def __init__(self, source: str, limits: MapLimits, layers: Iterable[str]) -> None:
        self.numbers: dict[str, int] = {}
        self.layers: dict[str, Delays] = {layer: np.empty((0, 0)) for layer in layers}
        self._source, self._limits, self._size = source, limits, 0

    def number(self, name: str) -> int:
        """Return the number of a node with a valid name; add the node if it is new.

        Raises
        ------
        LatencyMapError
            There are too many nodes.
        """
        number = self.numbers.get(name, len(self.numbers))
        if number == self._limits.nodes:
            raise error_of(self._limits.too_many_nodes(), source=self._source)
        if number == self._size:
            self._size = min(self._limits.nodes, max(_FIRST_SIZE, 3 * self._size // 2))
            for layer, smaller in self.layers.items():
                self.layers[layer] = np.full((self._size, self._size), np.nan)
                self.layers[layer][:number, :number] = smaller
        self.numbers[name] = number
        return number

    def finish(self, layer: str) -> Delays:
        """Return a matrix with the nodes in the order of their names after all were added, and release it."""
        order = [self.numbers[name] for name in sorted(self.numbers)]
        return self.layers.pop(layer)[np.ix_(order, order)]
