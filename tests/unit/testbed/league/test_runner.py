"""A league resumes where it was interrupted, and repeats runs that the cluster has broken."""

import io
import re
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


def warnings(printed):
    return re.findall(r"warning\[([a-z0-9-]+)\]", printed.getvalue())


class Cluster:
    """Runs a case or breaks it; counts the starts of its nodes."""

    def __init__(self, *broken, busy=0):
        self.broken, self.runs, self.ups, self.busy = list(broken), [], 0, busy
        self.printed, self.loads = io.StringIO(), []

    def __call__(self, _experiment, case, **_options):
        self.runs.append((case.policy, case.seed))
        self.loads.append(case.workload)
        if self.broken and self.broken[0] == (case.policy, case.seed):
            self.broken.pop(0)
            raise ClusterError("driver-exited-early", operator="nearest")
        metrics = {"node_seconds": 60.0, "rows_lost": 0, "rows_doubled": 0}
        return CaseResult(case=case, metrics=metrics)

    @contextmanager
    def nodes(self):
        self.ups += 1
        if self.ups <= self.busy:
            raise ClusterError("cluster-not-up", cluster="edge8")
        yield

    def play(self, folder, attempts=2, runs=None, experiment=EXPERIMENT):
        progress = ProgressLog(Console(file=self.printed, width=300))
        return run_live(
            experiment, experiment.cases(), folder, self, progress, nodes=self.nodes, attempts=attempts, runs=runs
        )


def test_a_broken_run_is_reported_and_repeated(tmp_path):
    cluster = Cluster(("drs", 0))
    results = cluster.play(tmp_path / "live")
    assert cluster.runs == [("ds2", 0), ("drs", 0), ("ds2", 1), ("drs", 1), ("drs", 0)]
    assert [result.lost for result in results] == [""] * 4
    assert warnings(cluster.printed) == ["league-run-failed"]


def test_completed_runs_are_not_repeated(tmp_path):
    results = Cluster(("drs", 1)).play(tmp_path / "live", attempts=1)
    assert [result.case.policy for result in results if result.lost] == ["drs"]
    cluster = Cluster()
    assert len(cluster.play(tmp_path / "live")) == 4
    assert cluster.runs == [("drs", 1)]
    again = Cluster()
    again.play(tmp_path / "live")
    assert (again.runs, again.ups) == ([], 0)  # the nodes are not even started


def test_a_limited_number_of_runs_by_repetition(tmp_path):
    cluster = Cluster()
    cluster.play(tmp_path / "both", experiment=TWO_LOADS)
    assert cluster.runs == [("ds2", 0), ("drs", 0)] * 2 + [("ds2", 1), ("drs", 1)] * 2
    assert cluster.loads == ["steps", "steps", "spikes", "spikes"] * 2
    first, second, rest = Cluster(("drs", 0)), Cluster(), Cluster()
    assert len(first.play(tmp_path / "live", runs=2)) == 2
    assert first.runs == [("ds2", 0), ("drs", 0), ("drs", 0)]  # a broken one takes no other's turn
    assert len(second.play(tmp_path / "live", runs=1)) == 3
    assert second.runs == [("ds2", 1)]
    assert len(rest.play(tmp_path / "live")) == 4
    assert rest.runs == [("drs", 1)]


def test_nodes_that_cannot_be_used_are_tried_again(tmp_path):
    cluster = Cluster(busy=1)
    assert len(cluster.play(tmp_path / "live")) == 4
    assert warnings(cluster.printed) == ["cluster-not-up"]
    with refused("cluster-not-up"):
        Cluster(busy=2).play(tmp_path / "other")


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    settings = LeagueSettings(policies=("ds2",), loads=("steps",))
    with refused("results-folder-foreign", InputError, found=["thesis.txt"]):
        run_league(settings, tmp_path, ProgressLog(Console(file=io.StringIO())))
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


def test_a_load_beyond_the_capacity_is_reported_before_any_run(tmp_path):
    (tmp_path / "much.csv").write_text("t_s,rows_per_s\n0,9000\n600,9000\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.txt").write_text("mine")  # nothing runs
    printed = io.StringIO()
    settings = LeagueSettings(policies=("ds2",), loads=(str(tmp_path / "much.csv"),))
    with pytest.raises(InputError):
        run_league(settings, tmp_path / "results", ProgressLog(Console(file=printed, width=300)))
    assert {*warnings(printed)} == {"load-exceeds-capacity"}
    assert "9000" in printed.getvalue()
    assert "1813" in printed.getvalue()
    (tmp_path / "late.csv").write_text("t_s,rows_per_s\n0,0\n60,5\n120,5\n")
    settings = LeagueSettings(policies=("ds2",), loads=(str(tmp_path / "late.csv"),))
    with refused("load-starts-idle"):
        run_league(settings, tmp_path / "other", ProgressLog(Console(file=printed)))
