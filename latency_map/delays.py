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


_MS_PER_UNIT = {DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}
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
    limit = MAX_RTT_MS / (_MS_PER_UNIT[unit] * _TRIPS[kind])
    off_diagonal = ~np.eye(len(values), dtype=bool)
    known = ~np.isnan(values)
    differing = known & known.T & (values != values.T) & (asymmetry is Asymmetry.REFUSE)
    rules = (
        (values < 0, "expected a delay of at least 0, got {here:g}"),
        (values > limit, "expected a delay of at most {limit:g} " + unit + ", got {here:g}"),
        (known & (values != 0) & ~off_diagonal, "expected 0 from a node to itself, got {here:g}"),
        (
            differing,
            "expected {there:g} as in the other direction, got {here:g}; say which to take: max or mean",
        ),
    )
    for broken, problem in rules:
        if broken.any():
            row, column = (int(index) for index in np.argwhere(broken)[0])
            text = problem.format(here=values[row, column], there=values[column, row], limit=limit)
            return Fault(row=row, column=column, problem=text)
    return None


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
    result: Delays = both * (_MS_PER_UNIT[unit] * _TRIPS[kind])
    np.fill_diagonal(result, 0.0)
    return result
