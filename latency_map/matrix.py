"""The latency map: names of nodes and the round trip of every pair."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latency_map.delays import Delays, find_fault, read_only, round_trips_ms
from latency_map.errors import LatencyMapError, MissingDelayError, UnknownNodeError
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit
from latency_map.names import check_names

T = TypeVar("T")

#: So many results are kept with a map.
MOST_FOUND = 8192


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyMap:
    """Network delays between nodes; equal by value.

    Raises
    ------
    LatencyMapError
        Names or delays are not of that form.

    Examples
    --------
    >>> lan = LatencyMap.from_delays(
    ...     ["a", "b", "c"], [[0, 2, 9], [2, 0, 5], [9, 5, 0]], unit=DelayUnit.MS, kind=DelayKind.ONE_WAY
    ... )
    >>> lan.delay_ms("a", "b"), lan.nd_max_ms(["a", "b", "c"])
    (4.0, 18.0)
    """

    #: The nodes, each once, at least one.
    names: tuple[str, ...]
    #: Shape ``(n, n)``: round trips in milliseconds, symmetric, zero diagonal, NaN where missing. Read-only:
    #: an array that is so already is taken as it is, another one is copied.
    rtt_ms: Delays
    _positions: dict[str, int] = field(init=False, repr=False)
    _found: dict[Hashable, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = tuple(self.names)
        check_names(names)
        rtt_ms = read_only(_matrix(names, self.rtt_ms), np.float64)
        _check_delays(names, rtt_ms, DelayUnit.MS, DelayKind.RTT, Asymmetry.REFUSE)
        if _lopsided(rtt_ms) or np.isnan(rtt_ms.diagonal()).any():
            raise LatencyMapError(
                "expected round trips known in both directions or in none and a diagonal of 0, got a matrix"
                " with lone missing cells; build it with LatencyMap.from_delays, which fills them"
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rtt_ms", rtt_ms)
        object.__setattr__(self, "_positions", {name: row for row, name in enumerate(names)})
        object.__setattr__(self, "_found", {})

    @classmethod
    def from_delays(
        cls,
        names: Sequence[str],
        values: ArrayLike,
        *,
        unit: DelayUnit,
        kind: DelayKind,
        asymmetry: Asymmetry = Asymmetry.REFUSE,
    ) -> Self:
        """Build a map from delays of a stated unit and direction.

        Parameters
        ----------
        names
            The n nodes.
        values
            Shape ``(n, n)``, row to column; NaN where missing. A missing direction is taken from the other.
        unit, kind
            What the values mean; one-way delays are doubled.
        asymmetry
            What to do where the two directions of a pair differ.

        Returns
        -------
        LatencyMap
            Round trips in milliseconds.

        Raises
        ------
        LatencyMapError
            A name is empty or occurs twice, the shape does not fit, or a delay is negative, infinite, not
            zero from a node to itself, or asymmetric where that is refused.
        """
        check_names(tuple(names))
        matrix = _matrix(tuple(names), values)
        _check_delays(names, matrix, unit, kind, asymmetry)
        rtt_ms = round_trips_ms(matrix, unit=unit, kind=kind, asymmetry=asymmetry)
        rtt_ms.setflags(write=False)
        return cls(names=tuple(names), rtt_ms=rtt_ms)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, node: object) -> bool:
        return node in self._positions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatencyMap):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.rtt_ms, other.rtt_ms, equal_nan=True)

    def __hash__(self) -> int:
        return hash((self.names, np.nan_to_num(self.rtt_ms, nan=-1.0).tobytes()))

    def positions(self, nodes: Iterable[str]) -> list[int]:
        """Return the rows of nodes in the matrix.

        Parameters
        ----------
        nodes
            Names, in any order.

        Returns
        -------
        list of int
            Their rows, in the same order.

        Raises
        ------
        UnknownNodeError
            A node is not in the map.
        """
        try:
            return [self._positions[node] for node in nodes]
        except KeyError as error:
            raise UnknownNodeError(str(error.args[0]), self.names) from None

    def known_indices(self, nodes: Sequence[str]) -> NDArray[np.intp]:
        """Return which of some nodes are in the map, as indices of the sequence."""
        rows = map(self._positions.get, nodes, repeat(-1))
        return np.flatnonzero(np.fromiter(rows, dtype=np.intp, count=len(nodes)) >= 0)

    def cached(self, question: Hashable, find: Callable[[], T]) -> T:
        """Return what was found for a question when it was asked first, and keep that as long as the map.

        A loop asks the same of the same map in every step. With a new map nothing is kept.

        Parameters
        ----------
        question
            All that the answer depends on besides the map, and what kind of answer it is.
        find
            Finds the answer. Nobody may change it.
        """
        answer: T
        if question in self._found:
            answer = self._found[question]
        else:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            answer = self._found.setdefault(question, find())
        return answer

    def delay_ms(self, a: str, b: str) -> float | None:
        """Return the round trip of a pair.

        Parameters
        ----------
        a, b
            Two nodes; the same node twice is 0 apart.

        Returns
        -------
        float or None
            Milliseconds; None where the map does not know it.

        Raises
        ------
        UnknownNodeError
            A node is not in the map.
        """
        row, column = self.positions((a, b))
        delay = float(self.rtt_ms[row, column])
        return None if math.isnan(delay) else delay

    def missing(self, nodes: Iterable[str] | None = None) -> tuple[tuple[str, str], ...]:
        """Return the pairs without a delay.

        Parameters
        ----------
        nodes
            Where to look; the whole map by default.

        Returns
        -------
        tuple of pairs
            Each pair once, in the order of its names.

        Raises
        ------
        UnknownNodeError
            A node is not in the map.
        """
        rows = sorted(set(self.positions(self.names if nodes is None else nodes)))
        gaps = np.argwhere(np.triu(np.isnan(self.rtt_ms[np.ix_(rows, rows)])))
        return tuple((self.names[rows[a]], self.names[rows[b]]) for a, b in gaps)

    def nd_max_ms(self, nodes: Iterable[str]) -> float:
        """Return NDmax: the largest round trip within a set of nodes.

        Parameters
        ----------
        nodes
            A placement, the driver's node included where it counts.

        Returns
        -------
        float
            Milliseconds; 0 for one node or none.

        Raises
        ------
        UnknownNodeError
            A node is not in the map.
        MissingDelayError
            A pair of them has no delay.
        """
        rows = sorted(set(self.positions(nodes)))
        if not rows:
            return 0.0
        largest = float(self.rtt_ms.take(rows, 0).take(rows, 1).max())
        if math.isnan(largest):
            raise MissingDelayError(self.missing(self.names[row] for row in rows))
        return largest

    def subset(self, names: Iterable[str]) -> Self:
        """Return the map of some of the nodes, in the order given.

        Parameters
        ----------
        names
            Nodes of this map, each once, at least one.

        Returns
        -------
        LatencyMap
            Their part of this map.

        Raises
        ------
        LatencyMapError
            A node is not in the map or is named twice, or none is named.
        """
        chosen = tuple(names)
        rows = self.positions(chosen)
        return type(self)(names=chosen, rtt_ms=self.rtt_ms[np.ix_(rows, rows)])


def _matrix(names: Sequence[str], values: ArrayLike) -> Delays:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatencyMapError(f"expected a square matrix of numbers, NaN where a delay is missing: {error}") from None
    if matrix.shape != (len(names), len(names)):
        raise LatencyMapError(
            f"expected a {len(names)} x {len(names)} matrix for {len(names)} nodes, got shape {matrix.shape}"
        )
    return matrix


def _check_delays(names: Sequence[str], values: Delays, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> None:
    fault = find_fault(values, unit=unit, kind=kind, asymmetry=asymmetry)
    if fault:
        raise LatencyMapError(f"delay from {names[fault.row]} to {names[fault.column]}: {fault.problem}")


def _lopsided(rtt_ms: Delays) -> bool:
    """Tell whether a cell is known one way and missing the other."""
    known = ~np.isnan(rtt_ms)
    return bool((known != known.T).any())
