"""The nodes that a set is chosen from, as a matrix: what the greedy and the exact choice have in common."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from latency_map.choose.clique import CliqueSearch, bits, first_clique, threshold_graph
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, enumerate_some
from latency_map.matrix import LatencyMap

GREEDY_STARTS = 64
"""From how many nodes the greedy choice is tried: from each of a pool of some tens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A question: ``size`` of these nodes, those kept among them, as close together as can be.

    Attributes
    ----------
    names
        The n nodes, sorted.
    delays_ms
        Shape ``(n, n)``: round trips; infinite where missing.
    kept
        Rows of the nodes that must be chosen; their delays to all nodes are known.
    size
        How many nodes are wanted, those kept included; at least 1, at most n.
    """

    names: tuple[str, ...]
    delays_ms: Delays
    kept: tuple[int, ...]
    size: int

    @classmethod
    def of(
        cls,
        latencies: LatencyMap,
        size: int,
        keep: Iterable[str],
        exclude: Iterable[str],
        candidates: Iterable[str] | None,
    ) -> Self:
        """Gather the nodes that can be chosen together with those kept.

        Parameters
        ----------
        latencies, size, keep, exclude, candidates
            As in `latency_map.choose.choice.least_nd_max_subset`.

        Returns
        -------
        Pool
            The question.

        Raises
        ------
        NoChoiceError
            The nodes kept do not know their delays to each other, or too few others know theirs to them.
        LatencyMapError
            The question contradicts itself.
        UnknownNodeError
            A node is not in the map.
        """
        kept, excluded = set(keep), set(exclude)
        offered = set(latencies.names if candidates is None else candidates)
        _check_question(size, kept, excluded)
        latencies.positions(sorted(kept | excluded | offered))
        if gaps := latencies.missing(kept):
            raise NoChoiceError(str(MissingDelayError(gaps)))
        names = [
            name
            for name in sorted((offered - excluded) | kept)
            if all(latencies.delay_ms(name, member) is not None for member in kept)
        ]
        if len(names) < size:
            message = (
                f"expected at least {size} nodes that are offered and know their delays to the nodes to keep,"
                f" got {len(names)} ({enumerate_some(names)}); ask for fewer or offer more"
            )
            raise NoChoiceError(message)
        rows = latencies.positions(names)
        return cls(
            names=tuple(names),
            delays_ms=np.nan_to_num(latencies.rtt_ms[np.ix_(rows, rows)], nan=np.inf),
            kept=tuple(row for row, name in enumerate(names) if name in kept),
            size=size,
        )

    def named(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return the names of rows."""
        return tuple(self.names[row] for row in rows)

    def joined(self, members: int) -> tuple[int, ...]:
        """Return the rows of a search's answer, as bits, and of the nodes kept, sorted."""
        return tuple(sorted((*self.kept, *bits(members))))

    def nd_max_ms(self, rows: Sequence[int]) -> float:
        """Return NDmax of some rows."""
        return float(self.delays_ms[np.ix_(rows, rows)].max())

    def lower_bound_ms(self) -> float:
        """Return a delay of the matrix that NDmax cannot be below; infinite where there is no answer.

        Each node of a set has the nodes kept and size - 1 others within NDmax.
        """
        reach_ms = self._reach_ms()
        of_kept = reach_ms[list(self.kept)].max(initial=0.0)
        missing = self.size - len(self.kept)
        if not missing:
            return float(of_kept)
        of_others = np.partition(np.delete(reach_ms, list(self.kept)), missing - 1)[missing - 1]
        return float(max(of_kept, of_others))

    def greedy(self) -> tuple[int, ...]:
        """Add the nearest node again and again, from several starts.

        Returns
        -------
        tuple of int
            The rows of the best set, sorted; empty where every start ends without enough nodes.
        """
        central = np.argsort(self._reach_ms(), kind="stable")[:GREEDY_STARTS]
        starts = [self.kept] if self.kept else [(int(row),) for row in central]
        grown = [self._grown(start) for start in starts]
        return min(filter(None, grown), key=self.nd_max_ms, default=())

    def search(self, level_ms: float, max_steps: int) -> CliqueSearch:
        """Look for an answer with an NDmax of at most ``level_ms``, which `lower_bound_ms` is not above.

        Parameters
        ----------
        level_ms
            Round trip.
        max_steps
            As in `latency_map.choose.clique.first_clique`.

        Returns
        -------
        CliqueSearch
            The members beside those kept.
        """
        neighbours = threshold_graph(self.delays_ms, level_ms)
        allowed = (1 << len(self.names)) - 1
        for row in self.kept:
            allowed &= neighbours[row]
        return first_clique(neighbours, allowed, self.size - len(self.kept), max_steps=max_steps)

    def nothing_found(self, *, certain: bool) -> NoChoiceError:
        """Return the error that there is no answer, for certain or as far as was searched."""
        found = "there are none" if certain else "none were found, which is not certain"
        return NoChoiceError(
            f"expected {self.size} of {len(self.names)} nodes that all know their delays to each other,"
            f" {found}; ask for fewer or complete the map"
        )

    def _reach_ms(self) -> Delays:
        """Return, per node, the delay within which lie the nodes kept and size - 1 others."""
        to_others = np.partition(self.delays_ms, self.size - 1, axis=1)[:, self.size - 1]
        to_kept = self.delays_ms[list(self.kept)].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(to_others, to_kept))

    def _grown(self, start: tuple[int, ...]) -> tuple[int, ...]:
        rows = list(start)
        distance_ms = self.delays_ms[rows].max(axis=0)
        distance_ms[rows] = np.inf
        while len(rows) < self.size:
            row = int(distance_ms.argmin())
            if np.isinf(distance_ms[row]):
                return ()
            rows.append(row)
            distance_ms = np.maximum(distance_ms, self.delays_ms[row])
            distance_ms[row] = np.inf
        return tuple(sorted(rows))


def _check_question(size: int, keep: set[str], exclude: set[str]) -> None:
    if size < max(1, len(keep)):
        message = (
            f"expected a size of at least {max(1, len(keep))}, the nodes to keep included, got {size};"
            " ask for more nodes or keep fewer"
        )
        raise LatencyMapError(message)
    if both := sorted(keep & exclude):
        message = f"expected nodes either kept or excluded, got both for {enumerate_some(both)}"
        raise LatencyMapError(message)
