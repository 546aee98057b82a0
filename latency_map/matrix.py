"""The latency map: names of nodes and the round trip of every pair."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latency_map.arrays import as_delays, read_only
from latency_map.delays import Delays, find_fault, round_trips_ms
from latency_map.errors import LatencyMapError, MissingDelayError, UnknownNodeError, error_of
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, member
from latency_map.names import check_names

T = TypeVar("T")

#: Largest number of results in the cache of a map.
MAX_CACHED = 8192


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyMap:
    """Round trips between nodes: symmetric, with a zero diagonal; maps are equal by value.

    Raises
    ------
    LatencyMapError
        A name or a delay is invalid.

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
    #: Shape ``(n, n)``: round trips in milliseconds, symmetric, zero diagonal, NaN where missing. A read-only array
    #: is used without a copy.
    rtt_ms: Delays
    _positions: dict[str, int] = field(init=False, repr=False)
    _cache: dict[Hashable, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = check_names(self.names)
        rtt_ms = read_only(as_delays(self.rtt_ms, names), np.float64)
        _check_delays(names, rtt_ms, DelayUnit.MS, DelayKind.RTT, Asymmetry.REFUSE)
        if _has_one_way_pairs(rtt_ms) or np.isnan(rtt_ms.diagonal()).any():
            raise LatencyMapError("map-not-symmetric")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rtt_ms", rtt_ms)
        object.__setattr__(self, "_positions", {name: row for row, name in enumerate(names)})
        object.__setattr__(self, "_cache", {})

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
            Shape ``(n, n)``, row to column; NaN where missing, as are masked cells. A missing direction is taken from
            the other. Durations (`numpy.timedelta64`, `datetime.timedelta`) are converted to the unit.
        unit, kind
            Unit and direction of the values, as members or by their values such as ``"ms"``; one-way delays are
            doubled.
        asymmetry
            Treatment of pairs whose two directions differ.

        Returns
        -------
        LatencyMap
            Round trips in milliseconds.

        Raises
        ------
        LatencyMapError
            A name is empty or occurs twice, the shape does not fit, a delay is not a number, negative, infinite, not
            zero from a node to itself, or asymmetric if that is refused; or an option has no such value.
        """
        names = check_names(names)
        matrix = as_delays(values, names, member(DelayUnit, unit))
        _check_delays(names, matrix, unit, kind, asymmetry)
        rtt_ms = round_trips_ms(matrix, unit=unit, kind=kind, asymmetry=asymmetry)
        rtt_ms.setflags(write=False)
        return cls(names=names, rtt_ms=rtt_ms)

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
        """Return the indices of those nodes of a sequence that are in the map."""
        rows = map(self._positions.get, nodes, repeat(-1))
        return np.flatnonzero(np.fromiter(rows, dtype=np.intp, count=len(nodes)) >= 0)

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return a result from the cache of this map, or compute and cache it.

        A loop needs the same results of the same map in every step.

        Parameters
        ----------
        key
            The kind of the result and everything except the map that it depends on.
        compute
            Computes the result, which must not be modified.
        """
        result: T
        if key in self._cache:
            result = self._cache[key]
        else:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            result = self._cache.setdefault(key, compute())
        return result

    def delay_ms(self, a: str, b: str) -> float | None:
        """Return the round trip of a pair.

        Parameters
        ----------
        a, b
            Two nodes; the delay of a node to itself is 0.

        Returns
        -------
        float or None
            Milliseconds; None if the map does not have it.

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
            The nodes of the pairs; all of the map by default.

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
            A placement; with the node of the driver if that counts.

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
        """Return the map of a subset of the nodes, in the given order.

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
            A node is not in the map or occurs twice, or the subset is empty.
        """
        chosen = tuple(names)
        rows = self.positions(chosen)
        return type(self)(names=chosen, rtt_ms=self.rtt_ms[np.ix_(rows, rows)])


def _check_delays(names: Sequence[str], values: Delays, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> None:
    if fault := find_fault(values, unit=unit, kind=kind, asymmetry=asymmetry):
        raise error_of(fault.problem, place=f"{names[fault.row]} to {names[fault.column]}")


def _has_one_way_pairs(rtt_ms: Delays) -> bool:
    """Return whether a pair is known in one direction only."""
    known = ~np.isnan(rtt_ms)
    return bool((known != known.T).any())
