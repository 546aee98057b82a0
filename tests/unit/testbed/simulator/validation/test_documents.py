"""The pages about the simulator say what is so."""

from pathlib import Path

from constants_page import constants_page
from made_runs import RECORDS

DOCS = Path(__file__).parents[5] / "docs"


def test_the_page_of_constants_is_what_the_files_say() -> None:
    page = (DOCS / "reference" / "simulator_constants.md").read_text("utf-8")
    command = "python tests/constants_page.py > docs/reference/simulator_constants.md"
    assert page == constants_page(), f"run: {command}"


def test_every_record_has_its_line() -> None:
    lines = (RECORDS / "README.md").read_text("utf-8")
    assert [each.name for each in RECORDS.iterdir() if each.is_dir() and f"| `{each.name}/` |" not in lines] == []
