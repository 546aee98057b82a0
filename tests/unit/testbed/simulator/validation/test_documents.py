"""The pages about the simulator match its files."""

from pathlib import Path

from constants_page import constants_page
from made_runs import RECORDS

DOCS = Path(__file__).parents[5] / "docs"


def test_the_page_of_constants_equals_the_files() -> None:
    page = (DOCS / "reference" / "simulator_constants.md").read_text("utf-8")
    assert page == constants_page()  # else run tests/constants_page.py


def test_every_record_has_its_line() -> None:
    lines = (RECORDS / "README.md").read_text("utf-8")
    assert [each.name for each in RECORDS.iterdir() if each.is_dir() and f"| `{each.name}/` |" not in lines] == []
