"""Choosing nodes that hold enough together, instead of a number of nodes."""

import math
from functools import partial
from itertools import combinations

import numpy as np
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


def random_question(seed, *, count=8):
    """A map with ties and gaps, weights with ties and zeros, and two groups that must be apart."""
    rng = np.random.default_rng(seed)
    values = np.triu(rng.integers(1, 8, (count, count)).astype(float), 1)
    values[rng.random((count, count)) < 0.05] = math.nan
    values = np.triu(values, 1)
    names = tuple(f"n{index}" for index in range(count))
    latencies = LatencyMap.from_delays(names, values + values.T, unit=DelayUnit.MS, kind=DelayKind.RTT)
    weights = dict(zip(names, (rng.integers(0, 7, count) / 2).tolist(), strict=True))
    groups = [names[:2], tuple(rng.choice(names, 3, replace=False).tolist())]
    return latencies, weights, groups


def by_trying_all(latencies, capacity, weights, keep, apart):
    """The least NDmax of a set that holds enough; None where there is none."""
    found = []
    for size in range(1, len(latencies) + 1):
        for nodes in combinations(latencies.names, size):
            together = any(len((set(nodes) - set(keep)) & set(group)) > 1 for group in apart)
            joined = any(
                set(nodes) & set(keep) & set(group) and (set(nodes) - set(keep)) & set(group)
                for group in apart
            )
            enough = sum(weights[node] for node in nodes) >= capacity and set(keep) <= set(nodes)
            if enough and not together and not joined and not latencies.missing(nodes):
                found.append(latencies.nd_max_ms(nodes))
    return min(found, default=None)


def superfluous(choice, weights, capacity, keep):
    held = sum(weights[node] for node in choice.nodes)
    return [node for node in choice.nodes if node not in keep and held - weights[node] >= capacity]


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


def test_nodes_that_are_kept_stay_though_they_hold_too_much(yard):
    assert least_nd_max_subset(yard, 1, weights=WEIGHTS, keep=["g", "p"]).nodes == ("g", "p")


def test_weights_of_one_are_a_number_of_nodes(yard):
    ones = dict.fromkeys(NAMES, 1)
    assert least_nd_max_subset(yard, 3, weights=ones) == least_nd_max_subset(yard, 3)


def test_decimal_digits_count_as_they_are_written(yard):
    # in binary fractions 0.7 + 0.1 + 0.2 is less than 1
    weights = {"g": 0, "p": 0.7, "q": 0.1, "r": 0.2}
    assert least_nd_max_subset(yard, 1.0, weights=weights).nodes == ("p", "q", "r")


def test_less_than_a_thousandth_is_never_rounded_in_favour_of_a_node(yard):
    # p alone holds 1, which is less than 1.0004; and 0.9999 counts as 0.999
    options = {"candidates": ["p", "q"]}
    assert least_nd_max_subset(yard, 1.0004, weights={"p": 1, "q": 0.5}, **options).nodes == ("p", "q")
    assert least_nd_max_subset(yard, 1, weights={"p": 0.9999, "q": 0.5}, **options).nodes == ("p", "q")


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kept", [0, 2])
def test_exact_is_what_trying_all_subsets_finds(seed, kept):
    latencies, weights, apart = random_question(seed)
    keep = latencies.names[3 : 3 + kept]
    capacity = 2.5 + seed % 5
    least = None if latencies.missing(keep) else by_trying_all(latencies, capacity, weights, keep, apart)
    options = {"weights": weights, "keep": keep, "apart": apart}
    if least is None:
        with pytest.raises(NoChoiceError):
            least_nd_max_subset(latencies, capacity, **options)
        return
    choice = least_nd_max_subset(latencies, capacity, **options)
    assert (choice.nd_max_ms, choice.optimal) == (least, True)
    assert sum(weights[node] for node in choice.nodes) >= capacity
    assert latencies.nd_max_ms(choice.nodes) == least
    assert not superfluous(choice, weights, capacity, keep)


@pytest.mark.parametrize("seed", range(60))
def test_the_gap_of_greedy_covers_the_best_set_and_none_of_its_nodes_could_be_spared(seed):
    latencies, weights, apart = random_question(seed)
    capacity = 2.5 + seed % 5
    try:
        greedy = greedy_nd_max_subset(latencies, capacity, weights=weights, apart=apart)
    except NoChoiceError:
        return
    least = by_trying_all(latencies, capacity, weights, (), apart)
    assert 0 <= greedy.nd_max_ms - least <= greedy.gap_ms
    assert not superfluous(greedy, weights, capacity, ())


@pytest.mark.parametrize("max_steps", [0, 20, 200, 2000])
def test_a_search_that_is_stopped_is_within_its_gap_of_the_best(max_steps):
    rng = np.random.default_rng(7)
    values = np.triu(rng.uniform(1, 300, (40, 40)), 1)
    names = tuple(f"n{index:02}" for index in range(40))
    latencies = LatencyMap.from_delays(names, values + values.T, unit=DelayUnit.MS, kind=DelayKind.RTT)
    weights = dict(zip(names, rng.uniform(1, 4, 40).tolist(), strict=True))
    exact = least_nd_max_subset(latencies, 25, weights=weights)
    stopped = least_nd_max_subset(latencies, 25, weights=weights, max_steps=max_steps)
    assert exact.optimal
    assert 0 <= stopped.nd_max_ms - exact.nd_max_ms <= stopped.gap_ms
    assert stopped.method is Method.EXACT


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
