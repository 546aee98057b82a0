"""A folder of results may be continued; a folder with other files is rejected, and nothing in it changes."""

import pytest
from refusals import refused

from testbed.results_folder import check_results_folder


@pytest.mark.parametrize("present", [(), ("begun.part",), ("ours.json",), ("ours.json", "thesis.txt")])
def test_an_empty_folder_and_one_with_our_mark_are_accepted(tmp_path, present):
    for name in present:
        (tmp_path / name).touch()
    check_results_folder(tmp_path, mark="ours.json", leftovers=("begun.part",))


def test_a_folder_that_does_not_exist_is_accepted(tmp_path):
    check_results_folder(tmp_path / "new", mark="ours.json")


def test_a_folder_with_other_files_is_rejected_and_names_them(tmp_path):
    for name in ("begun.part", "d", "c", "b", "a"):
        (tmp_path / name).touch()
    with refused("results-folder-foreign", expected="ours.json", found=["a", "b", "c", "d"]):
        check_results_folder(tmp_path, mark="ours.json", leftovers=("begun.part",))


def test_a_file_is_rejected(tmp_path):
    (tmp_path / "file").touch()
    with refused("results-not-directory"):
        check_results_folder(tmp_path / "file", mark="ours.json")
