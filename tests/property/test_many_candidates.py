"""What is done with many candidates at once is what was done with each by itself."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gesscale.plan.node_ranking import nd_max_ms, nd_max_with_each_ms
from latency_map import DelayKind, DelayUnit, LatencyMap, rank_by_distance

NAMES = tuple(f"n{index:02d}" for index in range(30))
ROUND_TRIPS_MS = (0.0, 3.0, 3.0, 7.0, 20.0, 90.0, 400.0, math.nan)  # few, so that many nodes are equally far


@st.composite
def maps(draw: st.DrawFn) -> LatencyMap:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    weights = np.array([*[1.0] * 7, draw(st.sampled_from([0.0, 0.3]))])
    upper = np.triu(rng.choice(ROUND_TRIPS_MS, (30, 30), p=weights / weights.sum()), 1)
    values = upper + upper.T
    np.fill_diagonal(values, 0.0)
    return LatencyMap.from_delays(NAMES, values, unit=DelayUnit.MS, kind=DelayKind.RTT)


def distances_ms(delays, node, members):
    """The largest and the mean round trip to the other members."""
    others = [delays.delay_ms(node, each) for each in members if each != node]
    return max(others, default=0.0), math.fsum(others) / len(others) if others else 0.0


some_nodes = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True).map(tuple)


@given(maps(), some_nodes, st.booleans())
def test_nodes_are_ranked_by_distance_then_mean_then_name(delays, members, farthest_first):
    reachable = [node for node in NAMES if all(delays.delay_ms(node, each) is not None for each in members)]
    sign = -1 if farthest_first else 1
    apart_ms = {node: distances_ms(delays, node, members) for node in reachable}
    expected = sorted(reachable, key=lambda node: (sign * apart_ms[node][0], sign * apart_ms[node][1], node))
    found = rank_by_distance(delays, members, NAMES, farthest_first=farthest_first)
    assert found.names == tuple(expected)
    assert found.distance_ms.tolist() == [apart_ms[node][0] for node in expected]
    assert found.means_ms() == [apart_ms[node][1] for node in expected]
    assert [each.node for each in found.unreachable] == [node for node in NAMES if node not in reachable]


@given(maps(), st.one_of(st.just(()), some_nodes), st.sampled_from([*NAMES, "stranger"]))
def test_nd_max_with_each_node_is_that_of_the_larger_placement(delays, placement, driver_node):
    free = tuple(node for node in (*NAMES, "stranger", "unheard-of") if node not in placement)
    expected = [nd_max_ms(delays, (*placement, node), driver_node) for node in free]
    found = nd_max_with_each_ms(delays, placement, driver_node, free).tolist()
    assert [None if math.isnan(each) else each for each in found] == expected
