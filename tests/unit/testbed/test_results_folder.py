"""A folder of results is gone on with; one of somebody else is refused, and nothing in it is touched."""

import pytest

from gesscale.errors import InputError
from testbed.results_folder import check_ours


@pytest.mark.parametrize("held", [(), ("begun.part",), ("ours.json",), ("ours.json", "thesis.txt")])
def test_an_empty_folder_a_begun_one_and_ours_are_gone_on_with(tmp_path, held):
    for name in held:
        (tmp_path / name).touch()
    check_ours(tmp_path, mark="ours.json", holds="of ours", leftovers=("begun.part",))


def test_one_that_does_not_exist_is_fine(tmp_path):
    check_ours(tmp_path / "new", mark="ours.json", holds="of ours")


def test_one_of_somebody_else_is_refused_with_what_it_holds(tmp_path):
    for name in ("begun.part", "d", "c", "b", "a"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"or one of ours, this holds something else: a, b, c; name another$"):
        check_ours(tmp_path, mark="ours.json", holds="of ours", leftovers=("begun.part",))


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="expected a folder, this is a file"):
        check_ours(tmp_path / "file", mark="ours.json", holds="of ours")
