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
    values = values.compute() if hasattr(values, "compute") else values  # dask drops masks when NumPy converts it
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
        absent = np.array([type(cell).__name__ in _MISSING for cell in cells.flat], dtype=bool)
        missing = missing | absent.reshape(cells.shape)
        cells = _of_one_kind(np.where(missing, 0, cells))
    if cells.dtype.kind == "m" and np.datetime_data(cells.dtype)[0] not in _NO_LENGTH:
        cells = cells / np.timedelta64(1, unit.value)
    elif cells.dtype.kind not in "iuf":
        raise ValueError(f"got {cells.dtype}")
    delays: Delays = np.array(cells, dtype=np.float64)
    delays[missing] = np.nan
    return delays


def _of_one_kind(cells: NDArray[Any]) -> NDArray[Any]:
    """Return objects as numbers or as durations, of which the number 0 may be one."""
    present, wanted = cells.ravel().tolist(), _NUMBERS
    if any(isinstance(cell, _DURATIONS) for cell in present):
        wanted = _DURATIONS
        present = [np.timedelta64(0) if type(cell) in (int, float) and not cell else cell for cell in present]
    wrong = {type(cell) for cell in present if not isinstance(cell, wanted) or isinstance(cell, bool)}
    if wrong:
        raise ValueError(f"got {', '.join(sorted(each.__name__ for each in wrong))}")
    if wanted is _DURATIONS:
        present = [np.timedelta64(cell) for cell in present]
    return np.array(present).reshape(cells.shape)


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
