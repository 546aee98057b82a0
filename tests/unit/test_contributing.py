"""What CONTRIBUTING.md names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_every_file_and_folder_that_the_guide_names_exists():
    named = {name for name in re.findall(r"`(?:\./)?([\w.]+(?:/[\w.]+)+/?)`", GUIDE) if "NAME" not in name}
    linked = set(re.findall(r"\]\(([^)#:]+)\)", GUIDE))
    assert len(named) > 20
    assert {name for name in named | linked if not (ROOT / name).exists()} == set()


def test_every_target_of_make_that_the_guide_names_exists():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {"check", "test"} <= set(re.findall(r"\bmake (\w+)", GUIDE)) <= targets
