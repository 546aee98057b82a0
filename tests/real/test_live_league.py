"""A league of one policy on emulated nodes: real Spark, scored, simulated beside it, and not played twice."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from testbed.arena.case import METRICS
from testbed.cluster import privilege, state
from testbed.demo.stage import Stage
from testbed.league.playing import play_league
from testbed.league.setting import LeagueSetting

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]


def test_a_run_is_scored_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    (tmp_path / "map.csv").write_text(",home,near,far\nhome,0,8,60\nnear,8,0,55\nfar,60,55,0\n")
    (tmp_path / "nodes.yaml").write_text(
        "name: oneday\nlatency: {file: map.csv, unit: ms, kind: rtt}\n"
        "driver_node: home\nsubnet: 10.77.215.0/24\n"
    )
    setting = LeagueSetting(
        policies=("ds2",),
        loads=("steps",),
        repetitions=1,
        length_s=60.0,
        topology=str(tmp_path / "nodes.yaml"),
    )
    results = tmp_path / "league"
    report = play_league(setting, results, Stage(Console(file=io.StringIO())))
    (result,) = report.live
    assert not result.lost
    assert set(METRICS) <= set(result.metrics)
    assert (result.metrics["drained"], result.metrics["rows_lost"], result.metrics["rows_doubled"]) == (
        True,
        0,
        0,
    )
    assert result.metrics["node_seconds"] >= 60.0  # one replica, for as long as the load
    (entry,) = report.both.entries
    assert (entry.live_rank, entry.simulated_rank) == (1, 1)
    record = results / "runs" / "steps-ds2-0"
    assert {path.name for path in record.iterdir()} >= {"batches.jsonl", "decisions.jsonl", "gesscale.yaml"}
    assert not (record / "sink").exists()
    said = io.StringIO()
    again = play_league(setting, results, Stage(Console(file=said)))
    assert again.live == report.live
    assert "bringing up" not in said.getvalue()
