"""Conversion of delays in any unit and direction to round trips in milliseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gesscale.common.errors import Problem
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, member

Delays: TypeAlias = NDArray[np.float64]

#: Largest valid round trip, eleven days; it keeps sums of delays finite.
MAX_RTT_MS = 1e9

#: Factor and divisor of a delay: whole numbers, so that 9 us is exactly 0.009 ms.
MS_PER_UNIT = {DelayUnit.NS: (1.0, 1e6), DelayUnit.US: (1.0, 1e3), DelayUnit.MS: (1.0, 1.0), DelayUnit.S: (1e3, 1.0)}
#: Delays that add up to a round trip.
TRIPS = {DelayKind.RTT: 1, DelayKind.ONE_WAY: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayFault:
    """An invalid cell of a delay matrix."""

    #: Counted from 0 (row, column).
    row: int
    column: int
    #: Code and figures.
    problem: Problem


def find_fault(values: Delays, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> DelayFault | None:
    """Find the first cell that is invalid in a latency map.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where a delay is missing.
    """
    impossible = find_out_of_range(values, unit=unit, kind=kind)
    if impossible:
        return impossible
    (nonzero,) = np.nonzero(values.diagonal() > 0)
    if len(nonzero):
        row = int(nonzero[0])
        problem = Problem("map-diagonal-nonzero", {"got": float(values[row, row])})
        return DelayFault(row=row, column=row, problem=problem)
    if member(Asymmetry, asymmetry) is Asymmetry.REFUSE:
        place = _first(values, _differing)
        if place:
            here, there = float(values[place]), float(values.T[place])
            problem = Problem("map-directions-differ", {"got": here, "back": there})
            return DelayFault(row=place[0], column=place[1], problem=problem)
    return None


def find_out_of_range(
    values: Delays, *, unit: DelayUnit = DelayUnit.MS, kind: DelayKind = DelayKind.RTT
) -> DelayFault | None:
    """Find the first cell of a delay matrix that is negative or too large.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where a delay is missing.
    """
    times, over = MS_PER_UNIT[member(DelayUnit, unit)]
    limit = MAX_RTT_MS / (times / over) / TRIPS[member(DelayKind, kind)]
    place = _first(values, lambda there, _: there < 0) or _first(values, lambda there, _: there > limit)
    if place is None:
        return None
    problem = Problem("map-delay-invalid", {"limit": limit, "unit": str(unit), "got": float(values[place])})
    return DelayFault(row=place[0], column=place[1], problem=problem)


def convert_to_round_trips(values: Delays, *, unit: DelayUnit, kind: DelayKind) -> None:
    """Convert delays to round trips in milliseconds in place, without any check.

    Parameters
    ----------
    values
        Shape ``(n, n)``, row to column, accepted by `find_out_of_range`. Afterwards the round trips as measured by the
        node of the row, NaN where missing.
    """
    if member(DelayKind, kind) is DelayKind.ONE_WAY:
        values += np.where(np.isnan(values.T), values, values.T)
    _to_ms(values, unit)


def count_differing(values: Delays) -> int:
    """Count the pairs whose two directions are known and differ.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where missing.
    """
    return int(np.count_nonzero(_differing(values, values.T))) // 2


def round_trips_ms(
    values: Delays, *, asymmetry: Asymmetry, unit: DelayUnit = DelayUnit.MS, kind: DelayKind = DelayKind.RTT
) -> Delays:
    """Convert valid delays to round trips, of two directions the mean or the larger.

    Parameters
    ----------
    values
        Shape ``(n, n)``, accepted by `find_fault`.
    """
    there = np.where(np.isnan(values), values.T, values)
    mean = member(Asymmetry, asymmetry) is Asymmetry.MEAN
    result: Delays = (there + there.T) / 2 if mean else np.maximum(there, there.T)
    result *= TRIPS[member(DelayKind, kind)]
    _to_ms(result, unit)
    np.fill_diagonal(result, 0.0)
    return result


def _to_ms(values: Delays, unit: DelayUnit) -> None:
    times, over = MS_PER_UNIT[member(DelayUnit, unit)]
    values *= times
    values /= over


def _differing(there: Delays, back: Delays) -> NDArray[np.bool_]:
    differing: NDArray[np.bool_] = ~np.isnan(there) & ~np.isnan(back) & (there != back)
    return differing


def _first(values: Delays, broken: Callable[[Delays, Delays], NDArray[np.bool_]]) -> tuple[int, int] | None:
    """Return row and column of the first invalid cell in reading order; the test also receives the way back."""
    found = broken(values, values.T)
    if not found.any():
        return None
    row, column = divmod(int(found.argmax()), found.shape[1])
    return row, column
