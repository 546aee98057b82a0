"""What nodes can hold, as whole numbers, so that sums are exact and sums over sets of nodes are cheap."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from latency_map.errors import LatencyMapError

MAX_WEIGHT = 1e12
"""Largest weight: bytes of memory fit."""

_PARTS = 1000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BitWeights:
    """Sums the weights of sets of nodes that are given as bits.

    Attributes
    ----------
    weights
        Of each node.
    plates
        Pairs of a weight and the nodes that it counts for, as bits: one pair for each distinct weight, or for
        each binary digit of the weights, whichever are fewer.
    """

    weights: tuple[int, ...]
    plates: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, weights: Sequence[int]) -> Self:
        """Prepare to sum these weights, given in the order of the bits."""
        digits = [1 << digit for digit in range(max(weights, default=0).bit_length())]
        distinct = sorted(set(weights))
        if len(distinct) <= len(digits):
            plates = [(each, _bits_where(weight == each for weight in weights)) for each in distinct]
        else:
            plates = [(each, _bits_where(weight & each for weight in weights)) for each in digits]
        return cls(weights=tuple(weights), plates=tuple(plates))

    def sum(self, nodes: int) -> int:
        """Return the weight of a set of nodes, given as bits."""
        if len(self.plates) == 1:
            weight, members = self.plates[0]
            return weight * (nodes & members).bit_count()
        return sum([weight * (nodes & members).bit_count() for weight, members in self.plates])


def _bits_where(flags: Iterable[object]) -> int:
    return sum(1 << position for position, flag in enumerate(flags) if flag)
