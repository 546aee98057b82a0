import pytest

from testbed.workloads.user_csv import rates_on_grid


def test_a_step_over_many_pieces_keeps_their_rows():
    assert rates_on_grid([0, 1, 2, 3, 10], [1, 2, 3, 0], 5).tolist() == pytest.approx([6 / 5, 0.0])
