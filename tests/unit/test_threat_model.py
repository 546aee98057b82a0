"""What the threat model and the security policy name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "explanation" / "threat_model.md", ROOT / "SECURITY.md")
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGES[0].read_text("utf-8"))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_test_that_the_threat_model_names_exists(file: str, test: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert not test or f"def {test}(" in text


def test_every_threat_names_a_test() -> None:
    rows = [line for line in PAGES[0].read_text("utf-8").splitlines() if line.startswith("| ")]
    threats = [row for row in rows if not row.startswith(("| threat |", "|---"))]
    assert len(threats) > 20
    assert [row for row in threats if "`tests/" not in row] == []
