"""The live runs that this project keeps can be read, reported and gone on with."""

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from testbed.arena.runs.results import read_results
from testbed.league.playing import LIVE, report_league
from testbed.live.nodes import Stage

KEPT = Path(__file__).parents[4] / "docs" / "evidence" / "live_league"


@pytest.mark.parametrize("folder", sorted(KEPT.iterdir()), ids=lambda folder: folder.name)
def test_kept_runs_are_reported_and_lost_no_row(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "league")
    report = report_league(tmp_path / "league", Stage(Console(file=io.StringIO())), price=10.0)
    assert report.live
    assert not report.faults
    assert all(run.metrics["rows_lost"] == run.metrics["rows_doubled"] == 0 for run in report.live)
    assert {entry.policy for entry in report.both.entries} == {run.case.policy for run in report.live}
    # a run is played once, and none of another league is among them
    experiment, live = read_results(folder / LIVE)
    assert len({run.case for run in live}) == len(live) <= len(experiment.cases())
