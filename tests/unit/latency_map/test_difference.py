import numpy as np
import pytest

from latency_map import LatencyMapError, Survey
from latency_map.difference import DelayChange, Tolerance, compare, effect_on

NAN = float("nan")


def survey(names, rows):
    return Survey(names=tuple(names), rtt_ms=np.array(rows, dtype=float))


BEFORE = survey("abc", [[0, 10, 100], [10, 0, NAN], [100, NAN, 0]])


def test_changes_come_largest_first_and_once_where_both_directions_agree():
    after = survey("abc", [[0, 12, 103], [11, 0, NAN], [103, NAN, 0]])
    difference = compare(BEFORE, after)
    assert difference.changed == (
        DelayChange(a="a", b="c", before_ms=100, after_ms=103),
        DelayChange(a="a", b="b", before_ms=10, after_ms=12),
        DelayChange(a="b", b="a", before_ms=10, after_ms=11),
    )
    assert (difference.compared, difference.median_abs_ms, difference.max_abs_ms) == (3, 2.0, 3.0)
    assert not difference.equal


def test_nodes_and_pairs_that_come_and_go_are_named():
    after = survey("bcd", [[0, 7, 1], [7, 0, NAN], [1, NAN, 0]])
    difference = compare(BEFORE, after)
    assert (difference.added, difference.removed) == (("d",), ("a",))
    assert difference.found == (DelayChange(a="b", b="c", before_ms=None, after_ms=7),)
    assert compare(after, BEFORE).lost == (DelayChange(a="b", b="c", before_ms=7, after_ms=None),)
    assert difference.compared == 0
    assert difference.median_abs_ms is None
    assert not difference.equal


@pytest.mark.parametrize(
    ("tolerance", "changed"),
    [
        (Tolerance(), {"ab", "ac"}),
        (Tolerance(ms=2), {"ac"}),  # 10 to 12 is within 2 ms
        (Tolerance(ms=3), set()),
        (Tolerance(ratio=0.03), {"ab"}),  # 100 to 103 is within 3 %
        (Tolerance(ms=2, ratio=0.03), set()),  # the larger bound counts for each pair
    ],
)
def test_the_larger_bound_of_the_tolerance_counts(tolerance, changed):
    after = survey("abc", [[0, 12, 103], [12, 0, NAN], [103, NAN, 0]])
    difference = compare(BEFORE, after, tolerance)
    assert {change.a + change.b for change in difference.changed} == changed
    assert difference.equal == (not changed)


@pytest.mark.parametrize("bounds", [{"ms": -1.0}, {"ratio": NAN}, {"ms": float("inf")}])
def test_a_tolerance_that_is_no_bound_is_refused(bounds):
    with pytest.raises(LatencyMapError, match="tolerance"):
        Tolerance(**bounds)


def test_the_effect_on_a_placement_is_said():
    old = survey("abcd", [[0, 5, 9, 8], [5, 0, 9, 7], [9, 9, 0, 1], [8, 7, 1, 0]])
    new = survey("abcd", [[0, 6, 2, 8], [6, 0, 3, 7], [2, 3, 0, 1], [8, 7, 1, 0]])
    effect = effect_on(old, new, ["b", "a"])
    assert (effect.before.nd_max_ms, effect.after.nd_max_ms) == (5.0, 6.0)
    assert (effect.nearest_before, effect.nearest_after) == ("d", "c")  # at most 8 before, 3 after
