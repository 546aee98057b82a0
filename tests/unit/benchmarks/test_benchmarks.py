"""Benchmarks run for minutes and seldom; what they import is held to the code here, so that they do not rot."""

import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_everything_that_it_imports_is_there(path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])  # as `python FILE` has it
    assert callable(runpy.run_path(str(path))["main"])
