import numpy as np
import pytest

from latency_map import LatencyMap, Survey
from latency_map.summary import PlacementSummary, summarise, summarise_placement

NAN = float("nan")
# pairs: a-b 2 and 4, a-c 6 one way only, b-c 10 both ways and estimated, d has no pair
FAULTY = Survey(
    names=("a", "b", "c", "d"),
    rtt_ms=np.array([[1, 2, 6, NAN], [4, 0, 10, NAN], [NAN, 10, 0, NAN], [NAN, NAN, NAN, 0]]),
    estimated=np.array([[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=bool),
    measured_at_s=1000.0,
)
SOUND = LatencyMap(names=("c", "b", "a"), rtt_ms=np.array([[0, 5, 9], [5, 0, NAN], [9, NAN, 0.0]]))


def test_a_faulty_survey_is_summed_up_as_it_is():
    summary = summarise(FAULTY)
    assert (summary.nodes, summary.pairs, summary.missing_pairs, summary.one_way_pairs) == (4, 6, 3, 1)
    assert (summary.median_ms, summary.max_ms) == (6.0, 10.0)  # of 4, 6, 10
    assert summary.p95_ms == pytest.approx(9.6)  # 6 + 0.9 * 4
    assert summary.asymmetric_ratio == 0.5  # a-b of a-b and b-c
    assert summary.estimated_ratio == pytest.approx(1 / 3)


@pytest.mark.parametrize("nodes", [1, 3])
def test_unknown_figures_are_none(nodes):
    blank = summarise(Survey(names=tuple("abc"[:nodes]), rtt_ms=np.full((nodes, nodes), NAN)))
    assert blank.missing_pairs == blank.pairs == nodes * (nodes - 1) // 2
    assert (blank.median_ms, blank.p95_ms, blank.max_ms) == (None, None, None)
    assert (blank.asymmetric_ratio, blank.estimated_ratio) == (None, None)


def test_a_placement_is_as_wide_as_its_widest_pair():
    expected = PlacementSummary(members=("b", "c"), nd_max_ms=5.0, widest=("b", "c"))
    assert summarise_placement(SOUND, ["c", "b"]) == expected
    assert summarise_placement(SOUND, ["a", "c"]).widest == ("a", "c")


def test_a_placement_with_a_missing_delay_has_no_nd_max():
    placement = summarise_placement(SOUND, ["a", "b", "c"])
    assert placement.nd_max_ms is None
    assert [set(pair) for pair in placement.missing] == [{"a", "b"}]
