import math

import numpy as np
import pytest
from refusals import refused

from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    MissingDelayError,
    UnknownNodeError,
)

NAN = math.nan


def build(values, names="abc", *, unit=DelayUnit.MS, kind=DelayKind.RTT, asymmetry=Asymmetry.REFUSE):
    return LatencyMap.from_delays(tuple(names), values, unit=unit, kind=kind, asymmetry=asymmetry)


@pytest.fixture
def triangle() -> LatencyMap:
    return build([[0, 2, 9], [2, 0, 5], [9, 5, 0]])


@pytest.fixture
def gappy() -> LatencyMap:
    return build([[0, 2, NAN], [2, 0, 5], [NAN, 5, 0]])


@pytest.mark.parametrize(
    ("unit", "kind", "rtt_ms"),
    [
        (DelayUnit.US, DelayKind.RTT, 0.004),  # 4 us
        (DelayUnit.MS, DelayKind.RTT, 4.0),
        (DelayUnit.S, DelayKind.RTT, 4000.0),
        (DelayUnit.US, DelayKind.ONE_WAY, 0.008),  # there and back: twice 4 us
        (DelayUnit.MS, DelayKind.ONE_WAY, 8.0),
        (DelayUnit.S, DelayKind.ONE_WAY, 8000.0),
    ],
)
def test_delays_of_any_unit_and_kind_become_round_trips_in_ms(unit, kind, rtt_ms):
    pair = build([[0, 4], [4, 0]], "ab", unit=unit, kind=kind)
    assert pair.delay_ms("a", "b") == pytest.approx(rtt_ms, rel=1e-12)


def test_asymmetry_rules_take_the_larger_or_the_mean():
    values = [[0, 4], [3, 0]]
    assert build(values, "ab", asymmetry=Asymmetry.MAX).delay_ms("a", "b") == 4.0
    assert build(values, "ab", asymmetry=Asymmetry.MEAN).delay_ms("a", "b") == 3.5


@pytest.mark.parametrize(
    ("names", "values", "code", "fields"),
    [
        ("ab", [[0, -1], [-1, 0]], "map-delay-invalid", {"place": "a to b", "got": -1.0}),
        ("ab", [[0, math.inf], [math.inf, 0]], "map-delay-invalid", {"limit": 1e9, "unit": "ms", "got": math.inf}),
        ("ab", [[0, 1], [1, 3]], "map-diagonal-nonzero", {"place": "b to b", "got": 3.0}),
        ("ab", [[0, 1]], "map-shape-invalid", {"nodes": 2, "shape": "1 x 2"}),
        ("ab", [[0, 1], [1]], "map-matrix-invalid", {}),
        ("ab", [["0", "x"], ["x", "0"]], "map-matrix-invalid", {}),
        ("aa", [[0, 1], [1, 0]], "map-node-duplicate", {"place": "node 2", "name": "a"}),
        (("a", ""), [[0, 1], [1, 0]], "map-name-invalid", {"name": ""}),
        (("a", " b"), [[0, 1], [1, 0]], "map-name-invalid", {"name": " b"}),
        (("a", "b\n"), [[0, 1], [1, 0]], "map-name-invalid", {"name": "b\n"}),
        ("", np.zeros((0, 0)), "map-size-invalid", {"limit": 5000, "got": 0}),
    ],
)
def test_an_invalid_map_is_refused(names, values, code, fields):
    with refused(code, LatencyMapError, **fields):
        build(values, names)


@pytest.mark.parametrize("matrix", [[[0, NAN], [4, 0]], [[0, 4], [4, NAN]]])
def test_the_constructor_takes_complete_matrices_only(matrix):
    with refused("map-not-symmetric", LatencyMapError):
        LatencyMap(names=("a", "b"), rtt_ms=np.array(matrix, dtype=float))


def test_the_matrix_is_a_read_only_copy():
    mine = np.array([[0.0, 4.0], [4.0, 0.0]])
    pair = LatencyMap(names=("a", "b"), rtt_ms=mine)
    mine[0, 1] = 99.0
    assert pair.delay_ms("a", "b") == 4.0
    with pytest.raises(ValueError, match="read-only"):
        pair.rtt_ms[0, 1] = 1.0


def test_nd_max_is_the_largest_pair(triangle):
    assert triangle.nd_max_ms(["a", "b", "c"]) == 9.0
    assert triangle.nd_max_ms(["a", "b"]) == 2.0
    assert triangle.nd_max_ms({"c"}) == 0.0
    assert triangle.nd_max_ms([]) == 0.0


def test_nd_max_needs_every_pair(gappy):
    assert gappy.nd_max_ms(["a", "b"]) == 2.0
    with pytest.raises(MissingDelayError, match="a - c") as caught:
        gappy.nd_max_ms(["a", "b", "c"])
    assert caught.value.pairs == (("a", "c"),)


def test_unknown_nodes_are_named_with_what_there_is(triangle):
    with refused("map-node-unknown", UnknownNodeError, count=3, nodes=("a", "b", "c")) as caught:
        triangle.delay_ms("a", "z")
    assert caught.value.node == "z"
    with pytest.raises(UnknownNodeError):
        triangle.nd_max_ms(["z"])


def test_subset_keeps_the_order_asked_for(triangle):
    part = triangle.subset(["c", "a"])
    assert part.names == ("c", "a")
    assert part.delay_ms("a", "c") == 9.0
    assert "b" not in part
    assert len(part) == 2
    with refused("map-node-duplicate", LatencyMapError, name="a"):
        triangle.subset(["a", "a"])


def test_maps_are_equal_by_value(gappy, triangle):
    again = build([[0, 2, NAN], [2, 0, 5], [NAN, 5, 0]])
    assert gappy == again
    assert hash(gappy) == hash(again)
    assert gappy != triangle
    assert triangle != triangle.subset(["c", "b", "a"])
    assert triangle != "triangle"


def test_zero_has_one_sign():
    minus, plus = build([[0, -0.0], [-0.0, 0]], "ab"), build([[0, 0.0], [0.0, 0]], "ab")
    assert minus == plus
    assert hash(minus) == hash(plus)
    assert math.copysign(1, minus.nd_max_ms("ab")) == 1
