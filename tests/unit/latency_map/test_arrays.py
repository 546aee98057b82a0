"""Delays in arrays, lists and tables: each cell keeps its meaning, or the values are refused."""

import math
from datetime import timedelta
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from latency_map import DelayKind, DelayUnit, LatencyMap, LatencyMapError, Survey
from latency_map.arrays import as_delays

NAMES = ("a", "b")
NAN = math.nan
#: Nanoseconds in a unit of `numpy.timedelta64`.
NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}


def square(cell):
    return [[0, cell], [cell, 0]]


def assert_delays(values, expected, unit=DelayUnit.MS):
    assert np.array_equal(as_delays(values, NAMES, unit), square(expected), equal_nan=True)


class Table:
    """A table as pandas has it: an array with labels."""

    def __init__(self, values, index, columns):
        self.values, self.index, self.columns = values, index, columns

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class Lazy:
    """As dask has it: NumPy gets the cells under the mask (dask/dask#2301)."""

    def __init__(self, values):
        self.compute = lambda: values

    def __array__(self, dtype=None, copy=None):
        return self.compute().data


class Quantity(np.ndarray):
    """As of astropy and pint: numbers with a unit that NumPy drops."""

    unit = "s"


class NAType:
    """As pandas.NA: neither equal to itself nor a truth value."""

    def __bool__(self):
        raise TypeError

    def __eq__(self, other):
        return self

    def __hash__(self):
        return 0


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e6)), min_size=9, max_size=9), st.sampled_from("ifO"))
def test_masked_cells_are_missing_whatever_the_type(cells, kind):
    dtype = {"i": np.int32, "f": np.float64, "O": object}[kind]
    mask = np.array([cell is None for cell in cells]).reshape(3, 3)
    data = np.array([9999 if cell is None else cell for cell in cells], dtype=dtype).reshape(3, 3)
    expected = np.where(mask, NAN, data.astype(float))
    masked = np.ma.array(data, mask=mask)
    for values in (masked, list(masked), masked.tolist(), Lazy(masked)):
        assert np.array_equal(as_delays(values, "abc"), expected, equal_nan=True)


@pytest.mark.parametrize(("code", "unit"), list(product(NANOSECONDS, DelayUnit)))
def test_durations_are_converted_to_the_unit(code, unit):
    # three units of the array in the unit of the delays
    expected = 3 * NANOSECONDS[code] / NANOSECONDS[unit]
    array = np.array(square(3), dtype=f"timedelta64[{code}]")
    objects = [[0, np.timedelta64(3, code)], [np.timedelta64(3, code), 0]]
    for values in (array, objects, np.ma.array(array)):
        assert as_delays(values, NAMES, unit) == pytest.approx(np.array(square(expected)))
    gap = as_delays(np.array(square("NaT"), dtype="timedelta64[ms]"), NAMES, unit)
    assert np.isnan(gap[0, 1])


def test_durations_of_python_and_missing_cells_of_pandas_are_read():
    assert_delays([[timedelta(0), timedelta(milliseconds=5)], [timedelta(milliseconds=5), 0]], 5000, DelayUnit.US)
    for gap in (None, NAN, np.ma.masked, NAType()):
        assert_delays(square(gap), NAN)
        assert_delays(np.array([[0, None], [None, 0]], dtype=object), NAN)


def test_labels_of_a_table_must_be_the_nodes_in_their_order():
    assert_delays(Table(square(5), ["a", "b"], ["a", "b"]), 5)
    assert_delays(Table(square(5), [0, 1], [0, 1]), 5)
    for index, columns, axis in ((["b", "a"], ["a", "b"], "index"), (["a", "b"], [1, 0], "columns")):
        with refused("map-labels-differ", LatencyMapError, axis=axis):
            as_delays(Table(square(5), index, columns), NAMES)


WRONG = {
    "text": "5",
    "bytes": b"5",
    "truth value": True,
    "imaginary": 5j,
    "decimal": Decimal(5),
    "month": np.timedelta64(5, "M"),
    "no unit": np.timedelta64(5),
    "instant": np.datetime64("2026-01-01"),
    "too large": 10**400,
    "list": [1, 2, 3],
}


@pytest.mark.parametrize("cell", WRONG.values(), ids=WRONG)
def test_other_cells_are_refused_alone_and_among_numbers(cell):
    mixed = np.empty((2, 2), dtype=object)
    mixed[:] = 0.0
    mixed[0, 1] = cell
    for values in (square(cell), mixed, mixed.tolist(), [[0, 7.5], [cell, 0]]):
        with refused("map-matrix-invalid", LatencyMapError):
            as_delays(values, NAMES)


@pytest.mark.parametrize(
    "dtype", ["U1", "S1", "bool", "complex128", "datetime64[s]", "timedelta64[Y]", "timedelta64", "V8"]
)
def test_arrays_of_another_type_are_refused(dtype):
    with refused("map-matrix-invalid", LatencyMapError):
        as_delays(np.zeros((2, 2)).astype("int64").astype(dtype), NAMES)


def test_a_unit_that_would_be_lost_is_refused():
    with refused("map-matrix-invalid", LatencyMapError):
        as_delays(np.array(square(0.005)).view(Quantity), NAMES)


@pytest.mark.parametrize("values", [None, 5, {}, [], [0, 1], square(1)[:1], np.zeros((3, 3)), (_ for _ in "ab")])
def test_another_shape_is_refused(values):
    with pytest.raises(LatencyMapError) as caught:
        as_delays(values, NAMES)
    assert caught.value.code in ("map-shape-invalid", "map-matrix-invalid")


def test_maps_and_surveys_take_masks_durations_and_no_other_names():
    masked = np.ma.masked_equal(np.array(square(9999.0)), 9999)
    lasting = np.array(square(5000), dtype="timedelta64[us]")
    for values, expected in ((masked, NAN), (lasting, 5.0)):
        maps = (
            Survey(names=NAMES, rtt_ms=values),
            LatencyMap(names=NAMES, rtt_ms=values),
            LatencyMap.from_delays(NAMES, values, unit=DelayUnit.S, kind=DelayKind.RTT),
        )
        for each in maps:
            assert np.array_equal(each.rtt_ms, square(expected), equal_nan=True)
    with refused("map-name-invalid", LatencyMapError):
        LatencyMap(names=(1, 2), rtt_ms=square(5))


@pytest.mark.parametrize(
    "build",
    [
        lambda names: LatencyMap.from_delays(names, square(5), unit="ms", kind="rtt"),
        lambda names: Survey(names=names, rtt_ms=square(5)),
    ],
)
@pytest.mark.parametrize("kind", [set, frozenset])
def test_names_without_an_order_are_refused(build, kind):
    assert build(dict.fromkeys(NAMES).keys()).names == NAMES
    with refused("map-names-unordered", LatencyMapError):
        build(kind(NAMES))


@pytest.mark.parametrize(
    "marks", [[["False"] * 2] * 2, [[0.0, 1.0]] * 2, np.ma.masked_equal([[True, False]] * 2, value=True)]
)
def test_marks_of_estimates_are_true_or_false(marks):
    with refused("map-value-invalid", LatencyMapError, place="estimated"):
        Survey(names=NAMES, rtt_ms=square(5), estimated=marks)
