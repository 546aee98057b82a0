import pytest

from testbed.workloads.user_csv import rates_on_grid


def test_steps_within_a_piece_keep_its_rate_to_the_last_bit():
    assert rates_on_grid([0, 3, 5], [0.1, 0.7], 1).tolist() == [0.1, 0.1, 0.1, 0.7, 0.7]


def test_a_step_over_an_edge_has_the_mean_of_its_parts():
    # 0..2: 1 s at 4 and 1 s at 8; 2..4: 8
    assert rates_on_grid([0, 1, 4], [4, 8], 2).tolist() == [6.0, 8.0]


def test_a_step_over_many_pieces_keeps_their_rows():
    assert rates_on_grid([0, 1, 2, 3, 10], [1, 2, 3, 0], 5).tolist() == pytest.approx([6 / 5, 0.0])
