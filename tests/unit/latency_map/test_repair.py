import math

import numpy as np
import pytest
from refusals import refused

from latency_map import LatencyMapError, Survey, UnknownNodeError
from latency_map.kinds import Fill, Symmetrise
from latency_map.quality.check import check
from latency_map.quality.repair import Repair, repair

NAN = math.nan

# a line a - b - c - d with 2, 3 and 4 ms; the rest is not measured
CHAIN = [[0, 2, NAN, NAN], [2, 0, 3, NAN], [NAN, 3, 0, 4], [NAN, NAN, 4, 0]]
FAULTY = [[0, 0, 9], [4, 1, 5], [7, NAN, 0]]


def survey(values, **more) -> Survey:
    return Survey(names=tuple("abcdefgh"[: len(values)]), rtt_ms=np.array(values, dtype=float), **more)


def assert_cells(repaired, values):
    np.testing.assert_array_equal(repaired.survey.rtt_ms, np.array(values, dtype=float))


@pytest.mark.parametrize(
    ("wanted", "values", "step", "cells", "largest"),
    [
        (Repair(zero_diagonal=True), [[0, 0, 9], [4, 0, 5], [7, NAN, 0]], "zero-diagonal", 1, "b 1 ms -> 0 ms"),
        (Repair(drop_zeros=True), [[0, NAN, 9], [4, 1, 5], [7, NAN, 0]], "drop-zeros", 1, "a to b 0 ms -> missing"),
        (
            # a - b 0 and 4, a - c 9 and 7, c - b only one way: three cells change, the last one most
            Repair(symmetrise=Symmetrise.MAX),
            [[0, 4, 9], [4, 1, 5], [9, 5, 0]],
            "symmetrise",
            3,
            "c to b missing -> 5 ms",
        ),
        (
            Repair(symmetrise=Symmetrise.MEAN),
            [[0, 2, 8], [2, 1, 5], [8, 5, 0]],
            "symmetrise",
            5,
            "c to b missing -> 5 ms",
        ),
        (Repair(drop=("b",)), [[0, 9], [7, 0]], "drop", 5, "left out: b"),  # 9 - 4 cells
    ],
)
def test_each_step_changes_its_cells(wanted, values, step, cells, largest):
    repaired = repair(survey(FAULTY), wanted)
    assert_cells(repaired, values)
    (change,) = repaired.changes
    assert (change.step, change.cells) == (step, cells)
    assert change.text.endswith(largest)
    assert repaired.survey.changes == (f"repair {step}: {change.text}",)


def test_gaps_are_filled_by_their_shortest_path_and_marked():
    repaired = repair(survey(CHAIN), Repair(fill=Fill.PATH))
    # a - c 2 + 3, b - d 3 + 4, a - d 2 + 3 + 4
    assert_cells(repaired, [[0, 2, 5, 9], [2, 0, 3, 7], [5, 3, 0, 4], [9, 7, 4, 0]])
    marked = [("a", "c"), ("a", "d"), ("b", "d")]
    names = repaired.survey.names
    cells = {(names[a], names[b]) for a, b in np.argwhere(np.triu(repaired.survey.estimated))}
    assert cells == set(marked)
    assert np.array_equal(repaired.survey.estimated, repaired.survey.estimated.T)
    assert repaired.changes[0].cells == 6


def test_zeros_are_dropped_before_directions_are_merged():
    # else the mean of a - b would be 2
    wanted = Repair(drop_zeros=True, symmetrise=Symmetrise.MEAN)
    repaired = repair(survey(FAULTY), wanted)
    assert_cells(repaired, [[0, 4, 8], [4, 1, 5], [8, 5, 0]])
    assert [change.step for change in repaired.changes] == ["drop-zeros", "symmetrise"]


def places(nodes: int) -> np.ndarray:
    points = np.random.default_rng(3).uniform(0, 100, (nodes, 2))
    rtt_ms = np.linalg.norm(points[:, None] - points, axis=2) + 5.0
    np.fill_diagonal(rtt_ms, 0.0)
    return rtt_ms


def named(rtt_ms, **more) -> Survey:
    return Survey(names=tuple(f"n{row:03}" for row in range(len(rtt_ms))), rtt_ms=rtt_ms, **more)


def test_gaps_are_filled_by_coordinates_with_the_error_to_expect():
    truth = places(30)
    rtt_ms = truth.copy()
    rtt_ms[3, 7] = rtt_ms[7, 3] = NAN
    repaired = repair(named(rtt_ms), Repair(fill=Fill.COORDINATES))
    assert repaired.survey.rtt_ms[3, 7] == pytest.approx(truth[3, 7], rel=0.05)
    assert repaired.survey.rtt_ms[7, 3] == repaired.survey.rtt_ms[3, 7]
    assert np.count_nonzero(repaired.survey.estimated) == 2
    text = repaired.changes[0].text
    assert " 43 known pairs " in text  # 10 % of 434
    assert "n003 to n007" in text


@pytest.mark.parametrize("fill", [Fill.PATH, Fill.COORDINATES])
def test_no_fill_bridges_islands_and_what_is_left_is_found(fill):
    islands = [[0, 2, NAN, NAN], [2, 0, NAN, NAN], [NAN, NAN, 0, 4], [NAN, NAN, 4, 0]]
    repaired = repair(survey(islands), Repair(fill=fill))
    assert repaired.changes == ()
    assert not check(repaired.survey).usable


def test_incomplete_nodes_go_the_most_incomplete_first():
    # a - d is missing, b - d, c - d and b - c too: d lacks three, then b and c lack one each, and c goes
    values = np.full((4, 4), 5.0)
    np.fill_diagonal(values, 0.0)
    for a, b in [(0, 3), (1, 3), (2, 3), (1, 2)]:
        values[a, b] = values[b, a] = NAN
    repaired = repair(survey(values), Repair(drop_incomplete=True))
    assert repaired.survey.names == ("a", "b")
    assert "2 of 4 nodes left out: c, d" in repaired.survey.changes[0]


def test_dropped_nodes_take_their_marks_along():
    rtt_ms = places(3)
    estimated = np.zeros((3, 3), dtype=bool)
    estimated[0, 2] = True
    left = repair(named(rtt_ms, estimated=estimated, measured_at_s=5.0, origin="here"), Repair(drop=("n001",))).survey
    assert left.names == ("n000", "n002")
    assert left.estimated.tolist() == [[False, True], [False, False]]
    assert (left.measured_at_s, left.origin) == (5.0, "here")


def test_symmetrised_estimates_stay_marked_and_dropped_ones_do_not():
    estimated = np.array([[False, True, False], [False, False, False], [False, False, False]])
    values = [[0, 3, 9], [4, 0, 5], [9, 5, 0]]
    both = repair(survey(values, estimated=estimated), Repair(symmetrise=Symmetrise.MAX)).survey
    assert both.estimated.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    none = repair(survey([[0, 0, 9], [4, 0, 5], [9, 5, 0]], estimated=estimated), Repair(drop_zeros=True)).survey
    assert not none.estimated.any()


@pytest.mark.parametrize(
    ("drop", "error", "code"),
    [(("z",), UnknownNodeError, "map-node-unknown"), (("a", "b", "c"), LatencyMapError, "repair-drops-everything")],
)
def test_nodes_that_cannot_be_dropped_are_refused(drop, error, code):
    with refused(code, error):
        repair(survey(FAULTY), Repair(drop=drop))
