"""A run of a live league on emulated nodes: real Spark, scored, kept, and not run twice."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from testbed.arena.case import METRICS, CaseResult
from testbed.arena.names import ChosenNodes
from testbed.cluster.topology import read_topology
from testbed.league.runner import LiveRunner, run_live
from testbed.league.settings import LeagueSettings, league_query
from testbed.live.nodes import ProgressLog, edge_nodes

pytestmark = pytest.mark.real


def test_a_run_is_scored_and_kept(three_nodes: Callable[[str, int], str], tmp_path: Path) -> None:
    (tmp_path / "calm.csv").write_text("t_s,rows_per_s\n0,30\n60,60\n")  # a replica does 300 at least
    settings = LeagueSettings(
        policies=("ds2",),
        loads=(str(tmp_path / "calm.csv"),),
        repetitions=1,
        query="rides",
        nodes=(ChosenNodes.NEAREST,),
        length_s=90.0,
        topology=three_nodes("oneday", 215),
    )
    topology = read_topology(settings.topology)
    printed = io.StringIO()
    progress = ProgressLog(Console(file=printed))

    def run_league() -> tuple[CaseResult, ...]:
        runner = LiveRunner(
            query=league_query(settings.query), scenario=settings.scenario, runs=tmp_path / "runs", progress=progress
        )
        return run_live(
            settings.experiment,
            settings.cases,
            tmp_path / "live",
            runner,
            progress,
            nodes=lambda: edge_nodes(topology, progress),
            attempts=3,
        )

    (result,) = run_league()
    assert not result.lost
    metrics = result.metrics
    assert set(METRICS) <= set(metrics)
    assert (metrics["drained"], metrics["rows_lost"], metrics["rows_doubled"]) == (True, 0, 0)
    assert metrics["node_seconds"] >= 90.0  # one replica, for as long as the load
    (record,) = (tmp_path / "runs").iterdir()
    assert {path.name for path in record.iterdir()} >= {"batches.jsonl", "decisions.jsonl", "gesscale.yaml"}
    assert not (record / "sink").exists()
    printed.truncate(0)
    assert run_league() == (result,)
    assert printed.getvalue() == ""
