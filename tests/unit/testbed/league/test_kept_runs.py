"""The live runs that this project keeps can be read, and lost no row."""

from pathlib import Path

import pytest

from testbed.arena.runs.results import read_results
from testbed.league.runner import LIVE

KEPT = Path(__file__).parents[4] / "docs" / "evidence" / "data" / "live_league"


@pytest.mark.parametrize("folder", sorted(KEPT.iterdir()), ids=lambda folder: folder.name)
def test_stored_runs_are_exact_and_unique(folder):
    experiment, live = read_results(folder / LIVE)
    assert live
    assert all(run.metrics["rows_lost"] == run.metrics["rows_doubled"] == 0 for run in live)
    assert len({run.case for run in live}) == len(live) <= len(experiment.cases())
