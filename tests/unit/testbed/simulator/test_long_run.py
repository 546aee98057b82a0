"""An hour of the live loop with one fault of each kind."""

from dataclasses import replace
from pathlib import Path

from faulty_ports import Fault, Faults, FaultWindow
from long_run import long_run, long_run_scene

from gesscale.model.decision import Reason

HOUR_S = 3600.0


def test_an_hour_of_faults_loses_no_row_and_removes_no_replica(tmp_path: Path) -> None:
    # Nine faults of five minutes, a minute and a half apart: 9 x 390 s = 58.5 min.
    windows = [FaultWindow(fault, 90.0 + 390 * at, 390.0 * (at + 1)) for at, fault in enumerate(Fault)]
    hours: list[float] = []
    scene = replace(long_run_scene(HOUR_S, seed=3), min_period_s=None)  # a step a minute
    report = long_run(scene, Faults(windows), tmp_path / "knowledge.sqlite", hourly=hours.append)
    assert report.decisions == report.steps * 3
    assert report.rows_processed == report.rows_offered > 0
    assert report.doubtful_removals == []
    assert report.max_changing == 1  # the budget
    assert report.restarts == 1
    # A request that hangs adds its timeout of 5 s to the period of 60 s.
    assert report.longest_pause_s <= 65.0
    assert report.steps >= HOUR_S / 65
    assert {Reason.METRICS_MISSING, Reason.CLUSTER_UNAVAILABLE} <= report.reasons.keys()
    assert report.changes > 0
    assert len(hours) == 1
