import pytest

from gesscale.spark.offsets import sum_of_leaves, total_rows


@pytest.mark.parametrize(
    ("offset", "rows"),
    [
        ('{"rides": {"0": 123, "1": 77}}', 200.0),
        ('{"a": {"0": 1}, "b": {"0": 2, "1": 3}}', 6.0),
        ('{"rows": 0}', 0.0),
        ('[{"n": 1}, 2]', 3.0),
        ('{"done": true, "rows": 4}', 4.0),  # a truth value is no count
    ],
)
def test_numbers_of_an_offset_add_up(offset, rows):
    assert sum_of_leaves(offset) == rows


@pytest.mark.parametrize("offset", ["None", "null", "", '{"file": "a"}', "{}"])
def test_an_offset_without_a_number_tells_no_rows(offset):
    assert sum_of_leaves(offset) is None


def test_sources_add_up_and_one_that_does_not_tell_spoils_the_sum():
    assert total_rows(['{"rows": 5}', '{"t": {"0": 7}}'], sum_of_leaves) == 12.0
    assert total_rows(['{"rows": 5}', "None"], sum_of_leaves) is None
    assert total_rows([], sum_of_leaves) is None
