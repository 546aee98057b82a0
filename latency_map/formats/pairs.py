"""Delays that come one by one, pair by pair, gathered without holding what they came in."""

from array import array
from collections.abc import Sequence

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import error_at
from latency_map.grid import Grid
from latency_map.limits import MapLimits
from latency_map.names import MAX_NODES

MAX_PINGS = 3_200_000
"""Most rows of a table of pings: 16 bytes each."""


class Pairs:
    """One delay of each pair, and the line that it stands on.

    Parameters
    ----------
    source
        Names the file in messages.
    limits
        How many nodes there may be.
    """

    def __init__(self, source: str, limits: MapLimits) -> None:
        self.source = source
        self._grid = Grid(source, limits, {"delay": np.float64(np.nan), "line": np.uint32(0)})
        self._order: Sequence[int] = ()
        self._count = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes in order of appearance."""
        return tuple(self._grid.numbers)

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
        return self._grid.number(name, line=line, column=column)

    def add(self, a: int, b: int, delay: float, line: int) -> None:
        """Take the delay from node a to node b, NaN where it is missing, and the line it stands on.

        Raises
        ------
        LatencyMapError
            The pair has come already.
        """
        lines = self._grid.layers["line"]
        if lines[a, b]:
            problem = f"expected every pair once, got this one on line {lines[a, b]} already; remove one"
            raise error_at(self.source, f"line {line}, column 1", problem)
        lines[a, b] = line
        self._grid.layers["delay"][a, b] = delay
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def finish(self, order: Sequence[int]) -> Delays:
        """Return the delays, once all have come.

        Parameters
        ----------
        order
            For each row and column the number of its node.

        Returns
        -------
        numpy.ndarray
            Shape ``(n, n)``, NaN where a pair has none.
        """
        self._order = order
        return self._grid.finish("delay", order)

    def line_of(self, row: int, column: int) -> int:
        """Return the line that a cell of the finished matrix stands on."""
        return int(self._grid.layers["line"][self._order[row], self._order[column]])


class Pings:
    """Many delays of each pair, 16 bytes each.

    Parameters
    ----------
    source
        Names the file in messages.
    limits
        How many nodes there may be.

    Attributes
    ----------
    lost
        How many pings had no delay.
    """

    def __init__(self, source: str, limits: MapLimits) -> None:
        self.source, self.lost = source, 0
        self._grid = Grid(source, limits, {})
        self._figures = array("d")  # pair, delay, pair, delay and so on
        self._per_node: list[int] = []
        self._largest = (-1.0, 0, 0, 0)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes in order of appearance."""
        return tuple(self._grid.numbers)

    def node(self, name: str, line: int, column: int) -> int:
        """Return the number of a node; see `Pairs.node`."""
        number = self._grid.number(name, line=line, column=column)
        if number == len(self._per_node):
            self._per_node.append(0)
        return number

    def add(self, a: int, b: int, delay: float, line: int) -> None:
        """Take a delay from node a to node b, NaN where the ping was lost, and the line it stands on.

        Raises
        ------
        LatencyMapError
            There are too many.
        """
        if delay != delay:  # noqa: PLR0124 - NaN, millions of times
            self.lost += 1
            return
        if len(self._figures) == 2 * MAX_PINGS:
            problem = f"expected at most {MAX_PINGS} pings, got more; import a part of them"
            raise error_at(self.source, f"line {line}", problem)
        self._figures.append(a * MAX_NODES + b)
        self._figures.append(delay)
        self._per_node[a] += 1
        if delay > self._largest[0]:
            self._largest = (delay, line, a, b)

    def __len__(self) -> int:
        return len(self._figures) // 2 + self.lost

    def medians(self) -> tuple[Delays, int]:
        """Return the median delay of every pair, once all have come.

        Returns
        -------
        tuple of numpy.ndarray and int
            Shape ``(n, n)``, NaN where a pair has none; and how many delays one pair has at most.
        """
        figures = np.array([], np.complex128)
        if self._figures:
            figures = np.frombuffer(self._figures, np.complex128)
            self._figures = array("d")
        figures.sort()  # by pair, then by delay, in the memory where they are
        count, most, end = len(self._per_node), 0, 0
        medians: Delays = np.full((count, count), np.nan)
        for node, pings in enumerate(self._per_node):
            if not pings:
                continue
            of_node = figures[end : end + pings]
            end += pings
            pairs, delays = of_node.real, of_node.imag
            starts = np.concatenate(([0], np.flatnonzero(pairs[1:] != pairs[:-1]) + 1))
            times = np.diff(starts, append=pings)
            low, high = delays[starts + (times - 1) // 2], delays[starts + times // 2]
            with np.errstate(over="ignore"):  # what is beyond all numbers is refused as such
                middle = np.where(low == high, low, (low + high) / 2)
            medians[node, (pairs[starts] - node * MAX_NODES).astype(np.intp)] = middle
            most = max(most, int(times.max()))
        return medians, most

    def place(self, a: int, b: int, column: int) -> str:
        """Say where delays from node a to node b stand that are too large."""
        _, line, *pair = self._largest
        return f"line {line}, column {column}" if pair == [a, b] else f"column {column}"
