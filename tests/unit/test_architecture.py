"""The page on the architecture shows the imports as they are."""

from pathlib import Path

from architecture import PICTURE, picture

ROOT = Path(__file__).parents[2]


def test_the_picture_is_that_of_the_code():
    assert PICTURE.read_text("utf-8") == picture(), "run: python tests/architecture.py"
