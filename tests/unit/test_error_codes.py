"""Each code that is raised or logged is in a catalogue, with the fields that its sentence needs."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from gesscale.common.errors import CatalogueEntry, catalogue

ROOT = Path(__file__).parents[2]
PACKAGES = ("gesscale", "latency_map", "perfmodel", "testbed")
#: Functions whose first literal argument is a code; errors that are raised by class are found by their name.
REPORTERS = {"Problem", "log_problem"}


def uses(package: str) -> Iterator[tuple[str, str, set[str] | None]]:
    """Yield file and line, code, and the names of its fields; None for those passed as a mapping."""
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if not (name in REPORTERS or name.endswith(("Error", "_error"))):
                continue
            code = next((a.value for a in node.args if isinstance(a, ast.Constant) and a.value in catalogue()), None)
            if code is not None:
                names = {keyword.arg for keyword in node.keywords}
                yield (
                    f"{file.relative_to(ROOT)}:{node.lineno}",
                    code,
                    None if None in names or name == "Problem" else names,
                )


def placeholders(entry: CatalogueEntry) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(entry.message) if name}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_raised_code_has_the_fields_of_its_sentence(package):
    short = {
        f"{place} {code}: {sorted(missing)}"
        for place, code, names in uses(package)
        if names is not None and (missing := placeholders(catalogue()[code]) - names)
    }
    assert not short


def test_no_code_is_in_two_packages():
    codes = [code for package in PACKAGES for code in tomllib.loads((ROOT / package / "errors.toml").read_text())]
    assert sorted(codes) == sorted(set(codes))


def test_each_code_is_used_and_explained():
    text = "\n".join(file.read_text() for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    unused = [code for code in catalogue() if f'"{code}"' not in text]
    assert unused == []
    assert all(each.message and each.meaning and each.action for each in catalogue().values())
