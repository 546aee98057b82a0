"""A run of a live league on emulated nodes: real Spark, scored, kept, and not played twice."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from testbed.arena.case import METRICS, CaseResult
from testbed.cluster import privilege, state
from testbed.cluster.topology import read_topology
from testbed.league.live import LivePlay
from testbed.league.playing import play_live
from testbed.league.setting import LeagueSetting, league_query
from testbed.live.nodes import Stage, edge_nodes

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
    (tmp_path / "calm.csv").write_text("t_s,rows_per_s\n0,30\n60,60\n")  # a replica does 300 at least
    setting = LeagueSetting(
        policies=("ds2",),
        loads=(str(tmp_path / "calm.csv"),),
        repetitions=1,
        length_s=90.0,
        topology=str(tmp_path / "nodes.yaml"),
    )
    topology = read_topology(setting.topology)
    said = io.StringIO()
    stage = Stage(Console(file=said))

    def played() -> tuple[CaseResult, ...]:
        by = LivePlay(
            query=league_query(setting.query),
            scenario=setting.scenario,
            topology=topology,
            runs=tmp_path / "runs",
            stage=stage,
        )
        return play_live(
            setting.experiment,
            tmp_path / "live",
            by,
            stage,
            nodes=lambda: edge_nodes(topology, setting.topology, stage),
            attempts=3,
        )

    (result,) = played()
    assert not result.lost
    metrics = result.metrics
    assert set(METRICS) <= set(metrics)
    assert (metrics["drained"], metrics["rows_lost"], metrics["rows_doubled"]) == (True, 0, 0)
    assert metrics["node_seconds"] >= 90.0  # one replica, for as long as the load
    (record,) = (tmp_path / "runs").iterdir()
    assert {path.name for path in record.iterdir()} >= {"batches.jsonl", "decisions.jsonl", "gesscale.yaml"}
    assert not (record / "sink").exists()
    said.truncate(0)
    assert played() == (result,)
    assert "bringing up" not in said.getvalue()
