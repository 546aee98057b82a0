"""What a delay means, and how delays in any unit and direction become round trips in milliseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latency_map.kinds import Asymmetry, DelayKind, DelayUnit

Delays: TypeAlias = NDArray[np.float64]
Cells = TypeVar("Cells", bound=np.generic)

#: Largest round trip that is taken for one: eleven days. Keeps sums of delays finite.
MAX_RTT_MS = 1e9


#: By what a delay is multiplied and divided: whole numbers, so that 9 us is 0.009 ms to the last bit.
_MS_PER_UNIT = {DelayUnit.US: (1.0, 1e3), DelayUnit.MS: (1.0, 1.0), DelayUnit.S: (1e3, 1.0)}
_TRIPS = {DelayKind.RTT: 1, DelayKind.ONE_WAY: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayFault:
    """A cell of a delay matrix that cannot be used, and why."""

    #: Where it is, counted from 0 (row, column).
    row: int
    column: int
    #: What was expected and what came.
    problem: str


def find_fault(values: Delays, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> DelayFault | None:
    """Find the first cell that keeps a delay matrix from being a latency map.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where a delay is missing.
    """
    impossible = find_impossible(values, unit=unit, kind=kind)
    if impossible:
        return impossible
    (apart,) = np.nonzero(values.diagonal() > 0)
    if len(apart):
        problem = f"expected 0 from a node to itself, got {values[apart[0], apart[0]]:g}"
        return DelayFault(row=int(apart[0]), column=int(apart[0]), problem=problem)
    if asymmetry is Asymmetry.REFUSE:
        place = _first(values, _differing)
        if place:
            here, there = values[place], values.T[place]
            problem = f"expected {there:g} as in the other direction, got {here:g}; say which to take: max or mean"
            return DelayFault(row=place[0], column=place[1], problem=problem)
    return None


def find_impossible(values: Delays, *, unit: DelayUnit, kind: DelayKind) -> DelayFault | None:
    """Find the first cell of a delay matrix that cannot be a delay at all.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where a delay is missing.
    """
    place = _first(values, lambda there, _: there < 0)
    if place:
        problem = f"expected a delay of at least 0, got {values[place]:g}"
        return DelayFault(row=place[0], column=place[1], problem=problem)
    times, over = _MS_PER_UNIT[unit]
    limit = MAX_RTT_MS / (times / over) / _TRIPS[kind]
    place = _first(values, lambda there, _: there > limit)
    if place:
        problem = f"expected a delay of at most {limit:g} {unit}, got {values[place]:g}"
        return DelayFault(row=place[0], column=place[1], problem=problem)
    return None


def direct_round_trips(values: Delays, *, unit: DelayUnit, kind: DelayKind) -> None:
    """Turn delays as they were measured into round trips in milliseconds, faults and all, in place.

    Parameters
    ----------
    values
        Shape ``(n, n)``, row to column; `find_impossible` finds no fault in them. Afterwards the round
        trips as seen from the row's node, NaN where it has none.
    """
    if kind is DelayKind.ONE_WAY:
        values += np.where(np.isnan(values.T), values, values.T)
    _to_ms(values, unit)


def count_differing(values: Delays) -> int:
    """Return how many pairs have both directions known and different.

    Parameters
    ----------
    values
        Shape ``(n, n)``; NaN where missing.
    """
    return int(np.count_nonzero(_differing(values, values.T))) // 2


def round_trips_ms(values: Delays, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> Delays:
    """Turn sound delays into round trips.

    Parameters
    ----------
    values
        Shape ``(n, n)``, as `find_fault` accepts them.
    """
    there = np.where(np.isnan(values), values.T, values)
    result: Delays = (there + there.T) / 2 if asymmetry is Asymmetry.MEAN else np.maximum(there, there.T)
    result *= _TRIPS[kind]
    _to_ms(result, unit)
    np.fill_diagonal(result, 0.0)
    return result


def _to_ms(values: Delays, unit: DelayUnit) -> None:
    times, over = _MS_PER_UNIT[unit]
    values *= times
    values /= over


def _differing(there: Delays, back: Delays) -> NDArray[np.bool_]:
    differing: NDArray[np.bool_] = ~np.isnan(there) & ~np.isnan(back) & (there != back)
    return differing


def _first(values: Delays, broken: Callable[[Delays, Delays], NDArray[np.bool_]]) -> tuple[int, int] | None:
    """Return row and column of the first cell that is broken, in reading order; judged with the way back."""
    found = broken(values, values.T)
    if not found.any():
        return None
    row, column = divmod(int(found.argmax()), found.shape[1])
    return row, column


def read_only(values: ArrayLike, kind: type[Cells]) -> NDArray[Cells]:
    """Return values as a read-only array without -0.0: what was given where it is one already, else a copy."""
    if (
        isinstance(values, np.ndarray)
        and values.dtype == kind
        and not (values.flags.writeable or (values.dtype == np.float64 and _has_minus_zero(values)))
    ):
        return values
    array = np.array(values, dtype=kind)
    if array.dtype == np.float64:
        array += np.float64(0.0)
    array.setflags(write=False)
    return array


def _has_minus_zero(values: NDArray[np.generic]) -> bool:
    return bool((np.signbit(values) & (values == 0)).any())
