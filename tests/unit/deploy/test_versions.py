"""The version stands in pyproject.toml; what cannot read it there must say the same."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
STATED = re.compile(
    r"gesscale-(?:controller|agent|taxi|\$target):([\w.]+)|newTag: (\S+)|-t gesscale:([\w.]+)"
    r"|gesscale-([\d.]+)-py3|gesscale-chart-([\d.]+)\.tgz|gesscale-(?:k3s|agent|controller)-([\d.]+)-a"
)
COPIES = [
    *(ROOT / "deploy").rglob("*.yaml"),
    *(ROOT / "deploy").rglob("*.conf"),
    ROOT / "deploy" / "images" / "Dockerfile",
    ROOT / "docs" / "howto" / "k3s.md",
    ROOT / "examples" / "k3s" / "README.md",
    ROOT / "docs" / "howto" / "packages.md",
]


@pytest.mark.parametrize("file", COPIES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_copy_of_the_version_is_that_of_the_project(file):
    found = {next(filter(None, each)) for each in STATED.findall(file.read_text("utf-8"))}
    assert found <= {VERSION}


def test_the_pattern_finds_what_it_is_for():
    texts = "\n".join(file.read_text("utf-8") for file in COPIES)
    # three kustomizations, spark.conf, the Dockerfile, two in one guide and more in another
    assert len(STATED.findall(texts)) >= 9
