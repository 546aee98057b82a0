"""Choosing nodes that hold enough together, instead of a number of nodes."""

import math
from functools import partial

import pytest

from latency_map import (
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    Method,
    NoChoiceError,
    least_nd_max_subset,
)

greedy_nd_max_subset = partial(least_nd_max_subset, method=Method.GREEDY, max_steps=0)

# a big node g lies 9 from the small ones, which lie 2 apart of each other
NAMES = ("g", "p", "q", "r")
DELAYS = [[0, 9, 9, 9], [9, 0, 2, 2], [9, 2, 0, 2], [9, 2, 2, 0]]
WEIGHTS = {"g": 8, "p": 1, "q": 1.5, "r": 2}


@pytest.fixture
def yard() -> LatencyMap:
    return LatencyMap.from_delays(NAMES, DELAYS, unit=DelayUnit.MS, kind=DelayKind.RTT)


@pytest.mark.parametrize(
    ("capacity", "nodes"),
    [
        (8, ("g",)),  # alone it holds 8, and one node has no delay
        (4.5, ("g",)),
        (8.5, ("g", "r")),  # 9 ms in any case: the heaviest first
        (9.5, ("g", "r")),  # 8 + 2
        (10.5, ("g", "q", "r")),  # 8 + 2 = 10 does not do, and then q before p
        (12.5, ("g", "p", "q", "r")),
    ],
)
def test_the_nodes_hold_what_is_asked_and_none_could_be_spared(yard, capacity, nodes):
    assert least_nd_max_subset(yard, capacity, weights=WEIGHTS).nodes == nodes


def test_small_nodes_close_together_are_better_than_a_big_one_far_off(yard):
    # with p: g holds 8 but lies 9 off, q and r hold 3.5 and lie 2 off
    choice = least_nd_max_subset(yard, 4.5, weights=WEIGHTS, keep=["p"])
    assert (choice.nodes, choice.nd_max_ms) == (("p", "q", "r"), 2.0)


def test_decimal_digits_count_as_they_are_written(yard):
    # in binary fractions 0.7 + 0.1 + 0.2 is less than 1
    weights = {"g": 0, "p": 0.7, "q": 0.1, "r": 0.2}
    assert least_nd_max_subset(yard, 1.0, weights=weights).nodes == ("p", "q", "r")


def test_less_than_a_thousandth_is_never_rounded_in_favour_of_a_node(yard):
    # p alone holds 1, which is less than 1.0004; and 0.9999 counts as 0.999
    options = {"candidates": ["p", "q"]}
    assert least_nd_max_subset(yard, 1.0004, weights={"p": 1, "q": 0.5}, **options).nodes == ("p", "q")
    assert least_nd_max_subset(yard, 1, weights={"p": 0.9999, "q": 0.5}, **options).nodes == ("p", "q")


@pytest.mark.parametrize(
    ("capacity", "weights", "message"),
    [
        (0, WEIGHTS, "size of more than 0, got 0"),
        (math.nan, WEIGHTS, "size of more than 0, got nan"),
        (math.inf, WEIGHTS, "size: expected a weight of 0 to 1e[+]12, got inf"),
        (1, {"g": 1}, "expected a weight for every node to choose from, got none for p, q, r"),
        (1, {**WEIGHTS, "q": -1}, "node q: expected a weight of 0"),
        (1, {**WEIGHTS, "q": math.nan}, "node q: expected a weight of 0"),
    ],
)
def test_wrong_weights_are_refused(yard, capacity, weights, message):
    with pytest.raises(LatencyMapError, match=message) as caught:
        least_nd_max_subset(yard, capacity, weights=weights)
    assert not isinstance(caught.value, NoChoiceError)


def test_no_set_where_all_nodes_hold_too_little(yard):
    with pytest.raises(NoChoiceError, match=r"nodes that hold at least 13 together.*got 4 that hold 12.5"):
        least_nd_max_subset(yard, 13, weights=WEIGHTS)
