import numpy as np

from perfmodel.interval import beyond

SQUARE = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (1.0, 1.0), (1.0, 0.0))


def away(corners, *points):
    return beyond(corners, np.array(points)).tolist()


def test_points_in_a_hull_and_on_its_edge_are_not_beyond_it():
    assert away(SQUARE, (1.0, 1.5), (0.0, 0.0), (2.0, 1.0)) == [[0, 0], [0, 0], [0, 0]]


def test_the_way_leads_from_the_nearest_side_or_corner():
    assert away(SQUARE, (3.0, 1.0), (-1.0, -2.0), (1.5, 2.5)) == [[1, 0], [-1, -2], [0, 0.5]]


def test_points_in_a_row_have_a_hull_without_an_inside():
    row = ((0.0, 0.0), (1.0, 1.0), (2.0, 2.0))
    # (2, 0) is nearest to (1, 1), (3, 3) to the end.
    assert away(row, (2.0, 0.0), (3.0, 3.0), (1.5, 1.5)) == [[1, -1], [1, 1], [0, 0]]
