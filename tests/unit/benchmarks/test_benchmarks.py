"""Benchmarks run for minutes and seldom; what they are made of is held to the code here, so that they do not rot."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_everything_that_it_imports_is_there(path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))
    assert callable(runpy.run_path(str(path))["main"])


def test_the_long_run_of_the_arena_is_an_experiment_with_one_case_for_each_policy():
    of = runpy.run_path(str(BENCHMARKS / "arena_speed.py"))
    experiment = of["long_run"](1)
    assert len(experiment.cases()) == len(experiment.policies)
    assert of["cpu_s"](experiment, "static") > 0


def test_what_daedalus_foretells_is_read_from_its_memos():
    of = runpy.run_path(str(BENCHMARKS / "daedalus_predictions.py"))
    experiment = of["read_experiment"]("standard").changed({"workloads": ["steps:10"]}, "test")
    table = of["look_at"](experiment, replace(experiment.cases()[0], policy="daedalus")).table()
    # Nine steps of ten minutes, a look each minute: the first minutes teach nothing, each change takes some away.
    assert 20 <= table["capacity_steps"] <= 90
    assert table["capacity_error_pct"]["off"]["0.5"] < 10
    assert table["changes"] >= 4
