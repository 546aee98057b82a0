"""A league goes on where it was stopped, and plays again what the cluster has broken."""

import io
from contextlib import contextmanager

import pytest
from arena_results import an_experiment
from refusals import refused
from rich.console import Console

from gesscale.errors import ClusterError, InputError
from testbed.arena.case import CaseResult
from testbed.league.runner import run_league, run_live, write_league_report
from testbed.league.settings import LeagueSettings
from testbed.live.nodes import ProgressLog

EXPERIMENT = an_experiment(policies=["ds2", "drs"], workloads=["steps"], seeds=2)
TWO_LOADS = an_experiment(policies=["ds2", "drs"], workloads=["steps", "spikes"], seeds=2)


class Cluster:
    """Plays a case unless it is to break it; counts how often its nodes come up."""

    def __init__(self, *broken, busy=0):
        self.broken, self.played, self.ups, self.busy = list(broken), [], 0, busy
        self.said, self.loads = io.StringIO(), []

    def __call__(self, _experiment, case, **_options):
        self.played.append((case.policy, case.seed))
        self.loads.append(case.workload)
        if self.broken and self.broken[0] == (case.policy, case.seed):
            self.broken.pop(0)
            raise ClusterError("the driver of operator 'nearest' has ended before its day was over")
        metrics = {"node_seconds": 60.0, "rows_lost": 0, "rows_doubled": 0}
        return CaseResult(case=case, metrics=metrics)

    @contextmanager
    def nodes(self):
        self.ups += 1
        if self.ups <= self.busy:
            raise ClusterError("pairs of nodes stay off the latency map")
        yield

    def play(self, folder, attempts=2, runs=None, experiment=EXPERIMENT):
        progress = ProgressLog(Console(file=self.said, width=300))
        return run_live(experiment, folder, self, progress, nodes=self.nodes, attempts=attempts, runs=runs)


def test_what_the_cluster_broke_is_said_and_played_again(tmp_path):
    cluster = Cluster(("drs", 0))
    results = cluster.play(tmp_path / "live")
    assert cluster.played == [("ds2", 0), ("drs", 0), ("ds2", 1), ("drs", 1), ("drs", 0)]
    assert [result.lost for result in results] == [""] * 4
    assert "drs on steps, repetition 1: the arena failed, not the policy: ClusterError" in cluster.said.getvalue()


def test_what_is_done_is_not_played_again(tmp_path):
    results = Cluster(("drs", 1)).play(tmp_path / "live", attempts=1)
    assert [result.case.policy for result in results if result.lost] == ["drs"]
    cluster = Cluster()
    assert len(cluster.play(tmp_path / "live")) == 4
    assert cluster.played == [("drs", 1)]
    again = Cluster()
    again.play(tmp_path / "live")
    assert (again.played, again.ups) == ([], 0)  # nodes do not even come up


def test_so_many_runs_are_played_now_and_the_rest_later_a_whole_repetition_first(tmp_path):
    cluster = Cluster()
    cluster.play(tmp_path / "both", experiment=TWO_LOADS)
    assert cluster.played == [("ds2", 0), ("drs", 0)] * 2 + [("ds2", 1), ("drs", 1)] * 2
    assert cluster.loads == ["steps", "steps", "spikes", "spikes"] * 2
    first, second, rest = Cluster(("drs", 0)), Cluster(), Cluster()
    assert len(first.play(tmp_path / "live", runs=2)) == 2
    assert first.played == [("ds2", 0), ("drs", 0), ("drs", 0)]  # a broken one takes no other's turn
    assert len(second.play(tmp_path / "live", runs=1)) == 3
    assert second.played == [("ds2", 1)]
    assert len(rest.play(tmp_path / "live")) == 4
    assert rest.played == [("drs", 1)]


def test_nodes_that_cannot_be_used_are_tried_again(tmp_path):
    cluster = Cluster(busy=1)
    assert len(cluster.play(tmp_path / "live")) == 4
    assert "the nodes cannot be used: pairs of nodes stay off the latency map" in cluster.said.getvalue()
    with pytest.raises(ClusterError, match="stay off the latency map"):
        Cluster(busy=2).play(tmp_path / "other")


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    setting = LeagueSettings(policies=("ds2",), loads=("steps",))
    with refused("results-folder-foreign", InputError, found=["thesis.txt"]):
        run_league(setting, tmp_path, ProgressLog(Console(file=io.StringIO())))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_report_needs_the_runs_alone(tmp_path):
    Cluster().play(tmp_path / "live", runs=3)
    (tmp_path / "simulated").mkdir()
    report = write_league_report(tmp_path, ProgressLog(Console(file=io.StringIO())), price=10.0)
    assert [result.case for result in report.live] == [*EXPERIMENT.cases()[:3]]
    page = (tmp_path / "league.md").read_text()
    assert "| ds2 | 2 |" in page
    assert "| drs | 1 |" in page
    assert (tmp_path / "league.json").exists()
    with refused("results-missing", InputError):
        write_league_report(tmp_path / "nothing", ProgressLog(Console(file=io.StringIO())), price=10.0)


def test_a_load_beyond_the_cluster_is_said_before_anything_is_played(tmp_path):
    (tmp_path / "much.csv").write_text("t_s,rows_per_s\n0,9000\n600,9000\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.txt").write_text("mine")  # nothing is played
    said = io.StringIO()
    setting = LeagueSettings(policies=("ds2",), loads=(str(tmp_path / "much.csv"),))
    with pytest.raises(InputError):
        run_league(setting, tmp_path / "results", ProgressLog(Console(file=said, width=300)))
    assert "its peak is 9000 rows/s, and 5 replicas carry at most 1813" in said.getvalue()
    (tmp_path / "late.csv").write_text("t_s,rows_per_s\n0,0\n60,5\n120,5\n")
    setting = LeagueSettings(policies=("ds2",), loads=(str(tmp_path / "late.csv"),))
    with pytest.raises(InputError, match="begins with rows"):
        run_league(setting, tmp_path / "other", ProgressLog(Console(file=said)))
