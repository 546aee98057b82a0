"""Delays that come one by one, pair by pair, gathered into a matrix without holding what they came in."""

from array import array

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import Delays
from latency_map.formats.raw import error_at
from latency_map.names import MAX_NODES, find_name_fault


class Pairs:
    """Delays of pairs in the order in which they come; 20 bytes each, whatever they came in.

    Parameters
    ----------
    source
        Names the file in messages.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: dict[str, int] = {}
        self._from = array("H")
        self._to = array("H")
        self._delays = array("d")
        self._lines = array("Q")

    def node(self, name: str, line: int, column: int) -> int:
        """Return the number of a node, from 0 in order of appearance.

        Parameters
        ----------
        name
            The node.
        line, column
            Where it stands, counted from 1.

        Raises
        ------
        LatencyMapError
            No latency map can have such a name, or that many; the message names file, line and column.
        """
        number = self.names.get(name)
        if number is None:
            fault = find_name_fault((name,))
            if fault is None and len(self.names) == MAX_NODES:
                fault = 0, f"expected at most {MAX_NODES} nodes, got more"
            if fault:
                raise error_at(self.source, f"line {line}, column {column}", fault[1])
            number = self.names[name] = len(self.names)
        return number

    def add(self, a: int, b: int, delay: float, line: int) -> None:
        """Take a delay from node a to node b, NaN where it is missing, and the line it stands on."""
        self._from.append(a)
        self._to.append(b)
        self._delays.append(delay)
        self._lines.append(line)

    def __len__(self) -> int:
        return len(self._delays)

    def repeated(self) -> tuple[int, int] | None:
        """Return the lines of the first pair that comes again: of that and of its first; None if none does."""
        keys, _ = self._keys()
        order = np.argsort(keys, kind="stable")
        again = order[1:][keys[order][1:] == keys[order][:-1]]
        if not len(again):
            return None
        late = int(again.min())
        first = int(np.nonzero(keys == keys[late])[0][0])
        return self._lines[late], self._lines[first]

    def medians(self) -> tuple[Delays, int, int]:
        """Return the median delay of every pair.

        Returns
        -------
        tuple
            Shape ``(n, n)``, NaN where a pair has none; how many delays were missing; and most of one pair.
        """
        keys, values = self._keys()
        known = ~np.isnan(values)
        keys, values = keys[known], values[known]
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
        pairs, starts, counts = np.unique(keys, return_index=True, return_counts=True)
        low, high = values[starts + (counts - 1) // 2], values[starts + counts // 2]
        matrix = np.full(len(self.names) ** 2, np.nan)
        with np.errstate(over="ignore"):  # what is beyond all numbers is refused as such
            matrix[pairs] = np.where(low == high, low, (low + high) / 2)
        shape = (len(self.names), len(self.names))
        return matrix.reshape(shape), int(np.count_nonzero(~known)), int(counts.max(initial=0))

    def line_of(self, a: int, b: int) -> int:
        """Return the first line that has a delay from node a to node b."""
        keys, _ = self._keys()
        return int(self._lines[int(np.argmax(keys == a * len(self.names) + b))])

    def line_of_largest(self, a: int, b: int) -> int:
        """Return the line of the largest delay from node a to node b."""
        keys, values = self._keys()
        of_pair = np.where(keys == a * len(self.names) + b, values, -1.0)
        return int(self._lines[int(np.nanargmax(of_pair))])

    def impossible(self) -> tuple[int, float] | None:
        """Return line and value of the first delay that is negative; None where none is."""
        _, values = self._keys()
        (negative,) = np.nonzero(values < 0)
        return (self._lines[int(negative[0])], float(values[negative[0]])) if len(negative) else None

    def _keys(self) -> tuple[NDArray[np.int32], Delays]:
        ends = np.frombuffer(self._from, np.uint16), np.frombuffer(self._to, np.uint16)
        keys = ends[0].astype(np.int32) * np.int32(len(self.names)) + ends[1]
        return keys, np.frombuffer(self._delays, np.float64)
