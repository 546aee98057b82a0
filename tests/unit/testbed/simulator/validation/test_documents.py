"""The pages about the simulator say what is so."""

from pathlib import Path

import yaml
from constants_page import constants_page
from made_runs import RECORDS

from testbed.simulator.spark.constants import FOLDER

DOCS = Path(__file__).parents[5] / "docs"


def test_the_page_of_constants_is_what_the_files_say() -> None:
    page = (DOCS / "reference" / "simulator_constants.md").read_text("utf-8")
    command = "python tests/constants_page.py > docs/reference/simulator_constants.md"
    assert page == constants_page(), f"run: {command}"


def test_every_constant_of_spark_is_on_the_page_with_its_value() -> None:
    page = constants_page()
    for file in FOLDER.glob("*.yaml"):
        start = page.index(f"### `{file.stem}`")
        part = page[start : page.find("###", start + 1)]
        for name, figure in yaml.safe_load(file.read_text())["figures"].items():
            value = f"{figure['value']:g}"
            assert f"| `{name}` | {value} |" in part or f"`{name}` {value}" in part, (file.stem, name)


def test_every_record_has_its_line() -> None:
    lines = (RECORDS / "README.md").read_text("utf-8")
    assert [
        each.name for each in RECORDS.iterdir() if each.is_dir() and f"| `{each.name}/` |" not in lines
    ] == []
