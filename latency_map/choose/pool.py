"""The nodes that a set is chosen from, as a matrix: what the greedy and the exact choice have in common."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gesscale.common.text import enumerate_some
from latency_map.choose.clique import CliqueSearch, bits, first_clique, threshold_graph
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError
from latency_map.matrix import LatencyMap

MAX_WEIGHT = 1e12
"""Largest weight: bytes of memory fit."""

_PARTS = 1000


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A question: enough of these nodes, those kept among them, as close together as can be.

    Attributes
    ----------
    names
        The n nodes: the heaviest first, those of one weight by name.
    delays_ms
        Shape ``(n, n)``: round trips; infinite where missing, and between nodes that must be apart.
    weights
        What each node holds.
    wanted
        What they must hold together, above 0; all of them hold as much.
    kept
        Rows of the nodes that must be chosen; their delays to all nodes are finite.
    """

    names: tuple[str, ...]
    delays_ms: Delays
    weights: tuple[int, ...]
    wanted: int
    kept: tuple[int, ...]

    @classmethod
    def of(
        cls,
        latencies: LatencyMap,
        size: float,
        *,
        weights: Mapping[str, float] | None,
        keep: Iterable[str],
        exclude: Iterable[str],
        candidates: Iterable[str] | None,
        apart: Iterable[Iterable[str]],
    ) -> Self:
        """Gather the nodes that can be chosen together with those kept.

        Parameters
        ----------
        latencies, size, weights, keep, exclude, candidates, apart
            As in `latency_map.choose.choice.least_nd_max_subset`.

        Returns
        -------
        Pool
            The question.

        Raises
        ------
        NoChoiceError
            The nodes kept do not know their delays to each other, or too few others can join them.
        LatencyMapError
            The question contradicts itself.
        UnknownNodeError
            A node is not in the map.
        """
        kept, excluded = set(keep), set(exclude)
        offered = set(latencies.names if candidates is None else candidates)
        _check_question(size, kept, excluded, counted=weights is None)
        latencies.positions(sorted(kept | excluded | offered))
        if gaps := latencies.missing(kept):
            raise NoChoiceError(str(MissingDelayError(gaps)))
        holds = _whole_weights(sorted((offered - excluded) | kept), weights)
        names = sorted(holds, key=lambda name: (-holds[name], name))
        rows = latencies.positions(names)
        delays_ms = latencies.rtt_ms[rows][:, rows]
        delays_ms[np.isnan(delays_ms)] = np.inf
        _part(delays_ms, names, kept, apart)
        fit = np.asarray(np.isfinite(delays_ms[[name in kept for name in names]]).all(axis=0))
        fitting = [name for name, fits in zip(names, fit, strict=True) if fits]
        wanted = whole_parts(size, of="size", round_up=True)
        if fewest((holds[name] for name in fitting), wanted) is None:
            raise NoChoiceError(_too_few(size, fitting, weights))
        return cls(
            names=tuple(fitting),
            delays_ms=delays_ms if fit.all() else delays_ms[fit][:, fit],
            weights=tuple(holds[name] for name in fitting),
            wanted=wanted,
            kept=tuple(row for row, name in enumerate(fitting) if name in kept),
        )

    @cached_property
    def others(self) -> NDArray[np.intp]:
        """Rows of the nodes that need not be chosen."""
        return np.delete(np.arange(len(self.names)), list(self.kept))

    @cached_property
    def missing(self) -> int:
        """What the nodes kept do not hold of what is wanted; 0 or less where they hold enough."""
        return self.wanted - self.weight(self.kept)

    @cached_property
    def fewest_others(self) -> int:
        """How few nodes, in addition to those kept, can hold what is missing."""
        return fewest((self.weights[row] for row in self.others), self.missing) or 0

    @cached_property
    def reach_ms(self) -> Delays:
        """Per node: the delay within which lie the nodes kept and as many others as are needed at least."""
        members = len(self.kept) + self.fewest_others
        to_others = np.partition(self.delays_ms, members - 1, axis=1)[:, members - 1]
        to_kept = self.delays_ms[list(self.kept)].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(to_others, to_kept))

    def weight(self, rows: Iterable[int]) -> int:
        """Return what some rows hold together."""
        return sum(self.weights[row] for row in rows)

    def named(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return the names of rows, sorted."""
        return tuple(sorted(self.names[row] for row in rows))

    def nd_max_ms(self, rows: Sequence[int]) -> float:
        """Return NDmax of some rows."""
        return float(self.delays_ms[np.ix_(rows, rows)].max())

    def lower_bound_ms(self) -> float:
        """Return a delay of the matrix that NDmax cannot be below; infinite where there is no answer.

        Each node of a set has the nodes kept, and as many others as are needed at least, within NDmax.
        """
        of_kept = self.reach_ms[list(self.kept)].max(initial=0.0)
        if not self.fewest_others:
            return float(of_kept)
        last = self.fewest_others - 1
        of_others = np.partition(self.reach_ms[self.others], last)[last]
        return float(max(of_kept, of_others))

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
            The members other than those kept, each the bit of its row.
        """
        near = self.delays_ms <= level_ms
        joinable = np.asarray(near[list(self.kept)].all(axis=0))
        joinable[list(self.kept)] = False
        left = _core(near, joinable, self.fewest_others)
        if len(left) < self.fewest_others:
            return CliqueSearch(members=None, complete=True, steps=0)
        if len(left) > max_steps:
            return CliqueSearch(members=None, complete=False, steps=0)
        graph = threshold_graph(near[left][:, left])
        found = first_clique(graph, [self.weights[row] for row in left], self.missing, max_steps=max_steps)
        if found.members is None:
            return found
        members = sum(1 << int(left[position]) for position in bits(found.members))
        return CliqueSearch(members=members, complete=True, steps=found.steps)

    def nothing_found(self, *, certain: bool) -> NoChoiceError:
        """Return the error that there is no answer, for certain or as far as was searched."""
        found = "there are none" if certain else "none were found, which is not certain"
        return NoChoiceError(
            f"expected {len(self.kept) + self.fewest_others} or more of {len(self.names)} nodes that all know"
            f" their delays to each other and may be together, {found}; ask for fewer or complete the map"
        )


def _core(near: NDArray[np.bool_], nodes: NDArray[np.bool_], size: int) -> NDArray[np.intp]:
    """Return the rows that remain as those without ``size`` near ones, themselves included, are dropped."""
    left = nodes.copy()
    degrees = _count(near[left])
    while (dropped := left & (degrees < size)).any():
        left ^= dropped
        degrees -= _count(near[dropped])
    return np.flatnonzero(left)


def _count(flags: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Count those set in each column; five times as fast as the sum of truth values."""
    return np.asarray(flags.view(np.uint8).sum(axis=0, dtype=np.uint16))


def _part(delays_ms: Delays, names: Sequence[str], kept: set[str], apart: Iterable[Iterable[str]]) -> None:
    """Set the delays between nodes that must be apart to infinity; nodes that are kept stay together."""
    rows = {name: row for row, name in enumerate(names)}
    for group in apart:
        for a, b in combinations(sorted(set(group) & rows.keys()), 2):
            if not {a, b} <= kept:
                delays_ms[rows[a], rows[b]] = delays_ms[rows[b], rows[a]] = np.inf


def _whole_weights(names: Sequence[str], weights: Mapping[str, float] | None) -> dict[str, int]:
    if weights is None:
        return dict.fromkeys(names, whole_parts(1, of="a node"))
    if unweighed := [name for name in names if name not in weights]:
        message = f"expected a weight for every node to choose from, got none for {enumerate_some(unweighed)}"
        raise LatencyMapError(message)
    return {name: whole_parts(weights[name], of=f"node {name}") for name in names}


def _too_few(size: float, names: Sequence[str], weights: Mapping[str, float] | None) -> str:
    wanted = f"at least {size:g} nodes" if weights is None else f"nodes that hold at least {size:g} together"
    held = "" if weights is None else f" that hold {sum(weights[name] for name in names):g}"
    return (
        f"expected {wanted}, offered and with known delays to the nodes to keep, that may be with them,"
        f" got {len(names)}{held} ({enumerate_some(sorted(names))}); ask for fewer or offer more"
    )


def _check_question(size: float, keep: set[str], exclude: set[str], *, counted: bool) -> None:
    least = max(1, len(keep)) if counted else 0
    if not size >= least or not size > 0:
        expected = f"at least {least}, the nodes to keep included" if counted else "more than 0"
        message = f"expected a size of {expected}, got {size:g}; ask for more or keep fewer"
        raise LatencyMapError(message)
    if both := sorted(keep & exclude):
        message = f"expected nodes either kept or excluded, got both for {enumerate_some(both)}"
        raise LatencyMapError(message)


def whole_parts(weight: float, *, of: str, round_up: bool = False) -> int:
    """Return a weight in thousandths.

    Parameters
    ----------
    weight
        What a node holds or what is asked for; decimal digits are taken as they are written.
    of
        What it belongs to, for the message.
    round_up
        Whether a remainder counts: for what is asked, so that a sum is never taken for more than it is.

    Returns
    -------
    int
        At least 0.

    Raises
    ------
    LatencyMapError
        The weight is negative, not finite or too large.
    """
    if not 0 <= weight <= MAX_WEIGHT:
        message = f"{of}: expected a weight of 0 to {MAX_WEIGHT:g}, got {weight:g}"
        raise LatencyMapError(message)
    parts = Fraction(str(weight)) * _PARTS
    return math.ceil(parts) if round_up else math.floor(parts)


def fewest(weights: Iterable[int], wanted: int) -> int | None:
    """Return how few of the nodes can hold what is wanted.

    Parameters
    ----------
    weights
        Of the nodes, heaviest first.
    wanted
        What they must hold together.

    Returns
    -------
    int or None
        A number of nodes; None where all of them do not suffice.
    """
    count = 0
    for count, weight in enumerate((0, *weights)):
        wanted -= weight
        if wanted <= 0:
            return count
    return None
