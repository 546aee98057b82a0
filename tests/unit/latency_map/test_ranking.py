import math

import pytest

from latency_map import (
    DelayKind,
    DelayUnit,
    LatencyMap,
    UnknownNodeError,
    UnreachableNode,
    by_distance,
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


def ranked(found):
    return list(zip(found.names, found.distance_ms.tolist(), found.means_ms(), strict=True))


def test_nearness_is_the_largest_delay_to_a_member(street):
    # to {p, q}: s max(3, 1) = 3, mean 2; r max(6, 4) = 6, mean 5
    assert ranked(by_distance(street, ["p", "q"], ["r", "s"])) == [("s", 3.0, 2.0), ("r", 6.0, 5.0)]


def test_a_candidate_that_is_a_member_is_ranked_by_the_others(street):
    assert ranked(by_distance(street, ["p", "q"], ["q"])) == [("q", 4.0, 4.0)]


def test_candidates_of_unknown_delay_are_set_aside(street):
    found = by_distance(street, ["d", "p"], ["s", "q"])
    assert found.names == ("q",)
    assert found.unreachable == (UnreachableNode(node="s", missing_to=("d",)),)


def test_unknown_nodes_are_refused(street):
    with pytest.raises(UnknownNodeError):
        by_distance(street, ["p"], ["zz"])
    with pytest.raises(UnknownNodeError):
        by_distance(street, ["zz"], ["p"])
