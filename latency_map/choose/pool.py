"""Candidate nodes of a choice as a matrix, shared by the greedy and the exact search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from latency_map.choose.clique import CliqueResult, bit_positions, first_clique, threshold_graph
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError
from latency_map.matrix import LatencyMap


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Candidates for a set of ``size`` nodes that includes the kept ones and has the least NDmax."""

    #: The n nodes, sorted; at least ``size``.
    names: tuple[str, ...]
    #: Shape ``(n, n)``: round trips; infinite where missing.
    delays_ms: Delays
    #: Number of nodes to choose, at least 1.
    size: int
    #: Rows of the nodes that must be chosen; their delays to all nodes are finite.
    kept: tuple[int, ...]

    @classmethod
    def of(cls, latencies: LatencyMap, size: int, *, keep: Iterable[str], candidates: Iterable[str] | None) -> Self:
        """Return the nodes that can be chosen with the kept ones; raises the errors of `min_nd_max_subset`."""
        kept = set(keep)
        names = sorted(kept.union(latencies.names if candidates is None else candidates))
        rows = latencies.positions(names)
        if not isinstance(size, int | np.integer) or size < max(1, len(kept)):
            raise LatencyMapError("choice-size-invalid", min=max(1, len(kept)), got=size)
        if gaps := latencies.missing(kept):
            raise NoChoiceError(MissingDelayError(gaps).problems)
        delays_ms = latencies.rtt_ms[rows][:, rows]
        delays_ms[np.isnan(delays_ms)] = np.inf
        fit = np.asarray(np.isfinite(delays_ms[[name in kept for name in names]]).all(axis=0))
        fitting = [name for name, fits in zip(names, fit, strict=True) if fits]
        if len(fitting) < size:
            raise NoChoiceError("choice-candidates-missing", size=size, count=len(fitting), nodes=fitting or ["none"])
        return cls(
            names=tuple(fitting),
            delays_ms=delays_ms if fit.all() else delays_ms[fit][:, fit],
            size=size,
            kept=tuple(row for row, name in enumerate(fitting) if name in kept),
        )

    @cached_property
    def others(self) -> NDArray[np.intp]:
        """Rows of the nodes that need not be chosen."""
        return np.delete(np.arange(len(self.names)), list(self.kept))

    @property
    def missing(self) -> int:
        """Number of nodes to choose in addition to the kept ones."""
        return self.size - len(self.kept)

    @cached_property
    def reach_ms(self) -> Delays:
        """Per node the delay that covers the kept nodes and as many others as are missing."""
        to_others = np.partition(self.delays_ms, self.size - 1, axis=1)[:, self.size - 1]
        to_kept = self.delays_ms[list(self.kept)].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(to_others, to_kept))

    def named(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return the names of rows, sorted."""
        return tuple(sorted(self.names[row] for row in rows))

    def nd_max_ms(self, rows: Sequence[int]) -> float:
        """Return NDmax of some rows."""
        return float(self.delays_ms[np.ix_(rows, rows)].max())

    def lower_bound_ms(self) -> float:
        """Return a lower bound of NDmax that is a delay of the matrix; infinite if there is no solution.

        Each node of a set has the kept nodes, and as many others as are missing, within NDmax.
        """
        of_kept = self.reach_ms[list(self.kept)].max(initial=0.0)
        if not self.missing:
            return float(of_kept)
        last = self.missing - 1
        of_others = np.partition(self.reach_ms[self.others], last)[last]
        return float(max(of_kept, of_others))

    def search(self, level_ms: float, max_steps: int) -> CliqueResult:
        """Search for a set with an NDmax of at most ``level_ms``, which is not below `lower_bound_ms`.

        Its members are those other than the kept nodes, each the bit of its row.
        """
        near = self.delays_ms <= level_ms
        joinable = np.asarray(near[list(self.kept)].all(axis=0))
        joinable[list(self.kept)] = False
        left = _core(near, joinable, self.missing)
        if len(left) < self.missing:
            return CliqueResult(members=None, complete=True, steps=0)
        if len(left) > max_steps:
            return CliqueResult(members=None, complete=False, steps=0)
        found = first_clique(threshold_graph(near[left][:, left]), self.missing, max_steps=max_steps)
        if found.members is None:
            return found
        members = sum(1 << int(left[position]) for position in bit_positions(found.members))
        return CliqueResult(members=members, complete=True, steps=found.steps)

    def no_choice_error(self, *, certain: bool) -> NoChoiceError:
        """Return the error for a search without result, which may have stopped early."""
        code = "choice-impossible" if certain else "choice-not-found"
        return NoChoiceError(code, size=self.size, count=len(self.names))


def _core(near: NDArray[np.bool_], nodes: NDArray[np.bool_], size: int) -> NDArray[np.intp]:
    """Return the remaining rows after repeatedly dropping those with fewer than ``size`` near ones, itself included."""
    left = nodes.copy()
    degrees = _count(near[left])
    while (dropped := left & (degrees < size)).any():
        left ^= dropped
        degrees -= _count(near[dropped])
    return np.flatnonzero(left)


def _count(flags: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Count the set flags in each column; five times as fast as the sum of booleans."""
    return np.asarray(flags.view(np.uint8).sum(axis=0, dtype=np.uint16))
