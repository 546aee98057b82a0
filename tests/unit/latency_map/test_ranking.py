import math

import pytest

from latency_map import (
    DelayKind,
    DelayUnit,
    LatencyMap,
    RankedNode,
    Ranking,
    UnknownNodeError,
    UnreachableNode,
    farthest,
    nearest,
)


@pytest.fixture
def street() -> LatencyMap:
    """Nodes d, p, q, r, s; the delays are chosen so that every tie rule decides once."""
    nan = math.nan
    values = [
        # d  p   q   r   s
        [0, 10, 10, 10, nan],
        [10, 0, 4, 6, 3],
        [10, 4, 0, 4, 1],
        [10, 6, 4, 0, 2],
        [nan, 3, 1, 2, 0],
    ]
    return LatencyMap.from_delays(tuple("dpqrs"), values, unit=DelayUnit.MS, kind=DelayKind.RTT)


def nodes(ranking: Ranking) -> list[str]:
    return [item.node for item in ranking.ranked]


def test_nearness_is_the_largest_delay_to_a_member(street):
    # to {p, q}: s max(3, 1) = 3, mean 2; r max(6, 4) = 6, mean 5
    assert nearest(street, ["p", "q"], ["r", "s"]).ranked == (
        RankedNode(node="s", distance_ms=3.0, mean_ms=2.0),
        RankedNode(node="r", distance_ms=6.0, mean_ms=5.0),
    )


def test_a_candidate_that_is_a_member_is_ranked_by_the_others(street):
    ranking = nearest(street, ["p", "q"], ["q"])
    assert ranking.ranked == (RankedNode(node="q", distance_ms=4.0, mean_ms=4.0),)


def test_candidates_of_unknown_delay_are_set_aside(street):
    ranking = nearest(street, ["d", "p"], ["s", "q"])
    assert nodes(ranking) == ["q"]
    assert ranking.unreachable == (UnreachableNode(node="s", missing_to=("d",)),)


@pytest.mark.parametrize("rank", [nearest, farthest])
def test_unknown_nodes_are_refused(street, rank):
    with pytest.raises(UnknownNodeError):
        rank(street, ["p"], ["zz"])
    with pytest.raises(UnknownNodeError):
        rank(street, ["zz"], ["p"])
