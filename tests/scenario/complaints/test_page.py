"""docs/evidence/complaints.md names every scenario, and only scenarios that are there."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (Path(__file__).parents[3] / "docs" / "evidence" / "complaints.md").read_text("utf-8")


def test_the_page_names_just_the_scenarios() -> None:
    named = set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE))
    there = {
        (file.name, test)
        for file in HERE.glob("test_*.py")
        if file != Path(__file__)
        for test in re.findall(r"^def (test_\w+)\(", file.read_text("utf-8"), re.MULTILINE)
    }
    assert named == there
