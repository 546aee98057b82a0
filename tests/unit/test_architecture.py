"""The page on the architecture shows the imports as they are."""

from pathlib import Path

from architecture import PICTURE, picture

ROOT = Path(__file__).parents[2]


def test_the_picture_is_that_of_the_code():
    assert PICTURE.read_text("utf-8") == picture(), "run: python tests/architecture.py"


def test_what_the_page_names_is_there():
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    named = [each for each in text.split("`") if each.endswith((".py", "/")) and " " not in each]
    named = [
        each for each in named if each.startswith(("gesscale/", "testbed/", "latency_map/", "perfmodel/"))
    ]
    assert len(named) > 10
    assert [each for each in named if not (ROOT / each).exists()] == []
