"""What a delay means, and how delays in any unit and direction become round trips in milliseconds."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Delays: TypeAlias = NDArray[np.float64]

MAX_RTT_MS = 1e9
"""Largest round trip that is taken for one: eleven days. Keeps sums of delays finite."""


class DelayKind(StrEnum):
    """Which way a delay counts."""

    RTT = "rtt"
    ONE_WAY = "one-way"


class DelayUnit(StrEnum):
    """The unit of a delay."""

    US = "us"
    MS = "ms"
    S = "s"


class Asymmetry(StrEnum):
    """What to do with a pair whose two directions differ: refuse it, or take the larger or the mean."""

    REFUSE = "refuse"
    MAX = "max"
    MEAN = "mean"


_MS_PER_UNIT = {DelayUnit.US: (1.0, 1e3), DelayUnit.MS: (1.0, 1.0), DelayUnit.S: (1e3, 1.0)}
"""By what a delay is multiplied and divided: whole numbers, so that 9 us is 0.009 ms to the last bit."""
_TRIPS = {DelayKind.RTT: 1, DelayKind.ONE_WAY: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A cell of a delay matrix that cannot be used, and why.

    Attributes
    ----------
    row, column
        Where it is, counted from 0.
    problem
        What was expected and what came.
    """

    row: int
    column: int
    problem: str


def find_fault(values: Delays, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> Fault | None:
    """Find the first cell that keeps a delay matrix from being a latency map.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where a delay is missing.
    unit, kind
        What the values mean.
    asymmetry
        Whether two directions may differ.

    Returns
    -------
    Fault or None
        The first in reading order of the first kind that occurs: negative, too large, a node apart from
        itself, two directions that differ. None where the matrix is sound.
    """
    impossible = find_impossible(values, unit=unit, kind=kind)
    if impossible:
        return impossible
    (apart,) = np.nonzero(values.diagonal() > 0)
    if len(apart):
        problem = f"expected 0 from a node to itself, got {values[apart[0], apart[0]]:g}"
        return Fault(row=int(apart[0]), column=int(apart[0]), problem=problem)
    if asymmetry is Asymmetry.REFUSE:
        known = ~np.isnan(values)
        place = _first(known & known.T & (values != values.T))
        if place:
            here, there = values[place], values.T[place]
            problem = (
                f"expected {there:g} as in the other direction, got {here:g}; say which to take: max or mean"
            )
            return Fault(row=place[0], column=place[1], problem=problem)
    return None


def find_impossible(values: Delays, *, unit: DelayUnit, kind: DelayKind) -> Fault | None:
    """Find the first cell of a delay matrix that cannot be a delay at all.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where a delay is missing.
    unit, kind
        What the values mean.

    Returns
    -------
    Fault or None
        The first in reading order that is negative, else the first beyond `MAX_RTT_MS`; None where there is
        none. The diagonal and the two directions of a pair are not judged.
    """
    place = _first(values < 0)
    if place:
        problem = f"expected a delay of at least 0, got {values[place]:g}"
        return Fault(row=place[0], column=place[1], problem=problem)
    limit = MAX_RTT_MS / float(_in_ms(np.ones(1), unit)[0]) / _TRIPS[kind]
    place = _first(values > limit)
    if place:
        problem = f"expected a delay of at most {limit:g} {unit}, got {values[place]:g}"
        return Fault(row=place[0], column=place[1], problem=problem)
    return None


def directed_round_trips_ms(values: Delays, *, unit: DelayUnit, kind: DelayKind) -> Delays:
    """Turn delays as they were measured into round trips, faults and all.

    Parameters
    ----------
    values
        Shape ``(n, n)``, row to column, of which `find_impossible` finds nothing to say.
    unit, kind
        What the values mean. One-way delays of both directions are added: their sum is the round trip. A
        one-way delay whose way back is missing is doubled.

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``, ms, as seen from the row's node; NaN where it has none.
    """
    if kind is DelayKind.ONE_WAY:
        values = values + np.where(np.isnan(values.T), values, values.T)
    return _in_ms(values, unit)


def count_differing(values: Delays) -> int:
    """Return how many pairs have both directions known and different.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where missing.
    """
    known = ~np.isnan(values)
    return int(np.count_nonzero(np.triu(known & known.T & (values != values.T), 1)))


def round_trips_ms(values: Delays, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> Delays:
    """Turn sound delays into round trips.

    Parameters
    ----------
    values
        Shape ``(n, n)``, as `find_fault` accepts them.
    unit, kind
        What the values mean; a one-way delay counts twice.
    asymmetry
        What to take where two directions differ. The mean of one-way delays is exact: their sum is the
        round trip.

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``, ms, symmetric, zero diagonal; NaN where neither direction is known. Where one
        direction is known it stands for both.
    """
    there = np.where(np.isnan(values), values.T, values)
    back = there.T
    both = (there + back) / 2 if asymmetry is Asymmetry.MEAN else np.maximum(there, back)
    result = _in_ms(both * _TRIPS[kind], unit)
    np.fill_diagonal(result, 0.0)
    return result


def _in_ms(values: Delays, unit: DelayUnit) -> Delays:
    times, over = _MS_PER_UNIT[unit]
    result: Delays = values * times
    result /= over
    return result


def _first(broken: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return row and column of the first true cell in reading order."""
    index = int(broken.argmax()) if broken.size else 0
    row, column = divmod(index, broken.shape[1])
    return (row, column) if broken[row, column] else None
