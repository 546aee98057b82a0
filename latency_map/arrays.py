"""Delays in the arrays, lists and tables of callers: masked cells, durations, missing values.

Conversion by NumPy alone drops a mask, the unit of a duration and an imaginary part, and takes True for 1 and the text
"5" for 5. Here each cell keeps its meaning or is refused.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError
from latency_map.kinds import DelayUnit

Cells = TypeVar("Cells", bound=np.generic)

#: Classes of a missing cell, by name so that pandas need not be imported.
_MISSING = {"NoneType", "NAType", "NaTType", "MaskedConstant"}
_NUMBERS: tuple[type, ...] = (int, float, np.integer, np.floating)
_DURATIONS: tuple[type, ...] = (timedelta, np.timedelta64)
#: Units of `numpy.timedelta64` without a fixed length, and none.
_NO_LENGTH = {"Y", "M", "generic"}


def as_delays(values: ArrayLike, names: Sequence[str], unit: DelayUnit = DelayUnit.MS) -> Delays:
    """Return the delays of a caller as an array of numbers of a unit.

    Parameters
    ----------
    values
        Shape ``(n, n)`` for n names: numbers of the unit, or durations, which are converted to it. Masked cells, None,
        NaT and NA are missing. The labels of a table of pandas must be the names or the numbers from 0.

    Returns
    -------
    array of shape ``(n, n)``
        NaN where missing; the same array if it is one of 64-bit floats.

    Raises
    ------
    LatencyMapError
        The shape or the labels do not fit, or a cell is something else, such as a text.
    """
    _check_labels(values, names)
    if type(values) is np.ndarray and values.dtype == np.float64:
        delays: Delays = values
    else:
        try:
            if not hasattr(values, "columns") and (hasattr(values, "unit") or hasattr(values, "units")):
                raise ValueError(f"the unit of {type(values).__name__} would be lost")
            delays = _numbers(np.ma.array(values, dtype=object if isinstance(values, list | tuple) else None), unit)
        except (TypeError, ValueError, OverflowError) as error:
            raise LatencyMapError("map-matrix-invalid", cause=" ".join(str(error).split())) from None
    if delays.shape != (len(names), len(names)):
        raise LatencyMapError("map-shape-invalid", nodes=len(names), shape=" x ".join(map(str, delays.shape)))
    return delays


def _check_labels(values: object, names: Sequence[str]) -> None:
    """Reject a table whose rows or columns are not the nodes in their order."""
    for axis in ("index", "columns"):
        labels: Any = getattr(values, axis, None)
        if labels is None or callable(labels):  # no table
            continue
        found = list(labels)
        if found not in (list(range(len(names))), list(names)):
            raise LatencyMapError("map-labels-differ", axis=axis, expected=list(names), got=list(map(str, found)))


def _numbers(array: "np.ma.MaskedArray[Any, Any]", unit: DelayUnit) -> Delays:
    cells, missing = array.data, np.ma.getmaskarray(array)
    if cells.dtype == object:
        cells, missing = _of_one_kind(cells, missing)
    if cells.dtype.kind == "m":
        _check_length(cells.dtype)
        cells = cells / np.timedelta64(1, unit.value)
    elif cells.dtype.kind not in "iuf":
        raise ValueError(f"got {cells.dtype}")
    delays: Delays = np.array(cells, dtype=np.float64)
    delays[missing] = np.nan
    return delays


def _of_one_kind(cells: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return objects as numbers or as durations, and where there is none."""
    absent = [type(cell).__name__ in _MISSING for cell in cells.flat]
    missing = missing | np.array(absent, dtype=bool).reshape(cells.shape)
    present = [0 if gone else cell for cell, gone in zip(cells.flat, missing.flat, strict=True)]
    kinds = {type(cell) for cell in present}
    if any(issubclass(kind, _DURATIONS) for kind in kinds):
        present = [np.timedelta64(0, "ns") if _is_zero(cell) else cell for cell in present]
        for each in {cell.dtype for cell in present if isinstance(cell, np.timedelta64) and not np.isnat(cell)}:
            _check_length(each)
        kinds, wanted, dtype = {type(cell) for cell in present}, _DURATIONS, "timedelta64[ns]"
    else:
        wanted, dtype = _NUMBERS, "float64"
    wrong = sorted(kind.__name__ for kind in kinds if not issubclass(kind, wanted) or issubclass(kind, bool))
    if wrong:
        raise ValueError(f"got {', '.join(wrong)}")
    return np.array(present, dtype=dtype).reshape(cells.shape), missing


def _check_length(dtype: np.dtype[Any]) -> None:
    if np.datetime_data(dtype)[0] in _NO_LENGTH:
        raise ValueError(f"{dtype} has no fixed length")


def _is_zero(cell: object) -> bool:
    """Return whether a cell is the number 0, which needs no unit."""
    return isinstance(cell, _NUMBERS) and not isinstance(cell, bool) and cell == 0


def read_only(values: ArrayLike, kind: type[Cells]) -> NDArray[Cells]:
    """Return values as a read-only array without -0.0; copy them unless they are one already."""
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
