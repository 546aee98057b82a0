import math
from functools import partial

import numpy as np
import pytest
from refusals import refused

from latency_map import (
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    Method,
    NoChoiceError,
    NodeChoice,
    UnknownNodeError,
    min_nd_max_subset,
)

greedy_nd_max_subset = partial(min_nd_max_subset, method=Method.GREEDY, max_steps=0)


def make_map(names, pairs, *, default=math.nan):
    values = np.full((len(names), len(names)), default)
    for (a, b), delay in pairs.items():
        values[names.index(a), names.index(b)] = values[names.index(b), names.index(a)] = delay
    np.fill_diagonal(values, 0.0)
    return LatencyMap.from_delays(tuple(names), values, unit=DelayUnit.MS, kind=DelayKind.RTT)


@pytest.fixture
def trap() -> LatencyMap:
    """The nearest pair a, b lies far from the rest; c, d, e lie 5 apart of each other."""
    pairs = {("a", "b"): 1, ("c", "d"): 5, ("c", "e"): 5, ("d", "e"): 5, ("a", "c"): 8, ("a", "d"): 9}
    return make_map("abcde", pairs, default=20.0)


def random_map(count: int, seed: int, *, levels: int = 0, missing: float = 0.0) -> LatencyMap:
    """Random round trips: any, or of few levels so that there are ties; a share of them missing."""
    rng = np.random.default_rng(seed)
    values = (
        rng.integers(1, levels + 1, (count, count)).astype(float) if levels else rng.uniform(1, 300, (count, count))
    )
    values[rng.random((count, count)) < missing] = math.nan
    values = np.triu(values, 1)
    names = tuple(f"n{index:02}" for index in rng.permutation(count))
    return LatencyMap.from_delays(names, values + values.T, unit=DelayUnit.MS, kind=DelayKind.RTT)


def test_the_best_set_may_leave_out_the_nearest_pair(trap):
    assert min_nd_max_subset(trap, 3) == NodeChoice(nodes=("c", "d", "e"), nd_max_ms=5.0, gap_ms=0.0)
    assert min_nd_max_subset(trap, 2) == NodeChoice(nodes=("a", "b"), nd_max_ms=1.0, gap_ms=0.0)


def test_kept_nodes_are_in_the_set_and_count_towards_its_size(trap):
    # with a: {a, c, d} has max(8, 9, 5) = 9; any set with b or e and a has 20
    assert min_nd_max_subset(trap, 3, keep=["a"]).nodes == ("a", "c", "d")
    assert min_nd_max_subset(trap, 2, keep=["a", "e"]) == NodeChoice(nodes=("a", "e"), nd_max_ms=20, gap_ms=0)


def test_only_candidates_are_chosen(trap):
    # without b, the nearest pair is gone
    assert min_nd_max_subset(trap, 2, candidates="acde").nodes == ("c", "d")


@pytest.mark.parametrize("size", [8, 30])
def test_sixty_candidates_of_random_delays_are_solved_exactly(size):
    choice = min_nd_max_subset(random_map(60, seed=1), size)
    assert choice.optimal
    assert len(choice.nodes) == size


def test_a_stopped_search_reports_its_gap():
    latencies = random_map(40, seed=3)
    exact = min_nd_max_subset(latencies, 12)
    stopped = min_nd_max_subset(latencies, 12, max_steps=12)
    assert not stopped.optimal
    assert 0 <= stopped.nd_max_ms - exact.nd_max_ms <= stopped.gap_ms
    assert stopped.nd_max_ms <= greedy_nd_max_subset(latencies, 12).nd_max_ms


@pytest.mark.parametrize(
    ("count", "asked", "taken"),
    [
        (60, Method.AUTO, Method.EXACT),
        (61, Method.AUTO, Method.GREEDY),
        (61, Method.EXACT, Method.EXACT),
        (60, Method.GREEDY, Method.GREEDY),
    ],
)
def test_more_than_sixty_candidates_are_chosen_greedily(count, asked, taken):
    assert min_nd_max_subset(random_map(count, seed=1), 3, method=asked).method is taken


def test_greedy_adds_the_nearest_to_those_kept(trap):
    # from a: b (1), then c, d and e are all 20 from b: c by name
    assert greedy_nd_max_subset(trap, 3, keep=["a"]).nodes == ("a", "b", "c")


def test_no_set_where_too_few_know_each_other():
    latencies = make_map("abcd", {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1, ("d", "a"): 1})
    with refused("choice-impossible", NoChoiceError, size=3):
        min_nd_max_subset(latencies, 3)
    with refused("map-delay-missing", NoChoiceError, pairs=["a - c"]):
        min_nd_max_subset(latencies, 2, keep=["a", "c"])


@pytest.mark.parametrize("candidates", [["a", "b"], []])
def test_no_set_where_too_few_are_offered(trap, candidates):
    with refused("choice-candidates-missing", NoChoiceError, size=3):
        min_nd_max_subset(trap, 3, candidates=candidates)


@pytest.mark.parametrize(("size", "keep"), [(0, []), (1, ["a", "b"])])
def test_a_size_below_that_of_the_nodes_kept_is_refused(trap, size, keep):
    with refused("choice-size-invalid", LatencyMapError, got=size) as caught:
        min_nd_max_subset(trap, size, keep=keep)
    assert not isinstance(caught.value, NoChoiceError)


@pytest.mark.parametrize("option", ["keep", "candidates"])
def test_unknown_nodes_are_refused(trap, option):
    with pytest.raises(UnknownNodeError):
        min_nd_max_subset(trap, 2, **{option: ["zz"]})
