"""Runs a live league: simulates the cases, runs them live, and compares the results; resumes an interrupted league.

RESULTS/simulated    results of the simulated cases, as ``gesscale arena run --results`` writes them
RESULTS/live         results of the live cases in the same form, for the arena's commands
RESULTS/runs         the record of each live run
RESULTS/league.md    the report, and league.json
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.errors import ClusterError, InputError
from testbed.arena.case import Case, CaseResult, case_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.runner import check_experiment, run_case
from testbed.arena.runs.case_runner import CaseRunner, run_locally
from testbed.arena.runs.results import ResultsFolder, open_results, read_results
from testbed.arena.worlds.scenes import world_of
from testbed.cluster import lifecycle
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology, read_topology
from testbed.league.report import LeagueReport
from testbed.league.settings import LeagueQuery, LeagueSettings, league_query
from testbed.live.job_runner import Setup
from testbed.live.nodes import ProgressLog, edge_nodes, verify_delays
from testbed.live.record import write_records
from testbed.live.scenario import Scenario
from testbed.live.scoring import result_of_run
from testbed.results_folder import claim_results_folder

LIVE, SIMULATED, RUNS = "live", "simulated", "runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRunner:
    """Runs cases on nodes that are up, one after the other; a `testbed.arena.runs.case_runner.CaseRunner`.

    Each run has a new driver, checkpoint, knowledge and scratch folders: no state is carried over.

    Attributes
    ----------
    query: the query
    scenario: of the run; policy and load come from the case
    runs: parent of the folders with the runs' records
    progress: prints the steps
    """

    query: LeagueQuery
    scenario: Scenario
    runs: Path
    progress: ProgressLog

    def __call__(self, experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
        """Run a case; delete the record of an earlier attempt.

        Raises
        ------
        GesscaleError
            If the run fails, or its record cannot be scored.
        """
        world = world_of(experiment, case)
        (load,) = world.scene.workloads.values()
        choice = experiment.variant(case.variant).rules.node_choice
        scenario = replace(self.scenario, policy=case.policy, node_choice=choice)
        self.progress.log(f"{case.policy}, {choice} nodes, on {case.workload}, repetition {case.seed + 1}")
        folder = self.runs / case_name((case.workload, case.policy, choice, case.seed))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        setup = Setup.prepare(scenario, folder, self.progress)
        load_before = os.getloadavg()[0]
        try:
            run = self.query.run(setup, load)
        finally:
            shutil.rmtree(state_directory(setup.topology.name) / "scratch", ignore_errors=True)
        (operator,) = scenario.operators
        write_records({operator.name: run.record}, folder)
        for bulky in (folder / "sink", *folder.glob("checkpoint*")):
            shutil.rmtree(bulky, ignore_errors=True)
        result = result_of_run(run, case, world, with_series=with_series)
        metrics = {"began_at_s": run.record.began_at_s, "machine_load_before": load_before}
        return replace(result, metrics={**result.metrics, **metrics})


def run_league(
    settings: LeagueSettings, results: Path, progress: ProgressLog, *, attempts: int = 1, runs: int | None = None
) -> LeagueReport:
    """Run the missing cases of a league, and write its report.

    Parameters
    ----------
    runs
        Maximum number of live runs; None means all missing ones.

    Raises
    ------
    GesscaleError
        If a name is unknown, the folder contains something else, or the nodes cannot be started.
    """
    experiment = settings.experiment
    check_experiment(experiment)
    _check_loads(experiment, progress)
    claim_results_folder(results, mark=LIVE, leftovers=(SIMULATED,))
    cases = settings.cases
    simulated = _simulated(experiment, cases, results, progress)
    topology = read_topology(settings.topology)
    live = run_live(
        experiment,
        cases,
        results / LIVE,
        LiveRunner(
            query=league_query(settings.query), scenario=settings.scenario, runs=results / RUNS, progress=progress
        ),
        progress,
        nodes=lambda: _nodes(topology, progress),
        attempts=attempts,
        runs=runs,
    )
    report = LeagueReport(experiment=experiment, live=live, simulated=simulated, price=settings.late_minute_price)
    report.write(results)
    return report


def write_league_report(results: Path, progress: ProgressLog, *, price: float) -> LeagueReport:
    """Report on the completed live runs: simulate their cases again, without running anything live.

    Raises
    ------
    InputError
        If the folder has no live runs.
    """
    experiment, live = read_results(results / LIVE)
    progress.log(f"{len(live)} of {len(experiment.cases())} live runs are complete")
    simulated = _simulated(experiment, [each.case for each in live], results, progress, fresh=True)
    report = LeagueReport(experiment=experiment, live=live, simulated=simulated, price=price)
    report.write(results)
    return report


def _simulated(
    experiment: Experiment, cases: Collection[Case], results: Path, progress: ProgressLog, *, fresh: bool = False
) -> tuple[CaseResult, ...]:
    with open_results(results / SIMULATED, experiment, fresh=fresh) as kept:
        missing = [case for case in kept.missing if case in cases]
        progress.log(f"simulating {len(missing)} of {len(cases)} cases")
        _run_cases(experiment, kept, missing, run_case, progress)
        return kept.results


def _check_loads(experiment: Experiment, progress: ProgressLog) -> None:
    """Check that every load can be offered, and warn if it exceeds the capacity of the replicas."""
    for case in experiment.cases():
        if case.policy != experiment.policies[0] or case.variant != experiment.variant_names[0]:
            continue
        world = world_of(experiment, case)
        ((operator, load),) = world.scene.workloads.items()
        if load.rows_per_s[0] == 0:
            raise InputError("load-starts-idle", workload=load.name)
        most = world.scene.workflow.operators[operator].max_replicas
        capacity = max(world.best[operator][replicas][0] for replicas in range(1, most + 1))
        if load.peak_rows_per_s > capacity:
            fields = {"workload": case.workload, "replicas": most}
            rates = {"peak_rows_per_s": round(load.peak_rows_per_s), "capacity_rows_per_s": round(capacity)}
            progress.warn(Problem("load-exceeds-capacity", {**fields, **rates}))


@contextmanager
def _nodes(topology: Topology, progress: ProgressLog) -> Iterator[None]:
    """Keep the nodes of a topology up within the context, with verified delays, after removing leftovers."""
    lifecycle.down(topology.name)
    with edge_nodes(topology, progress):
        verify_delays(topology, progress)
        yield


def run_live(
    experiment: Experiment,
    cases: Collection[Case],
    folder: Path,
    run_case_live: CaseRunner,
    progress: ProgressLog,
    *,
    nodes: Callable[[], AbstractContextManager[None]],
    attempts: int,
    runs: int | None = None,
) -> tuple[CaseResult, ...]:
    """Run the missing cases live, one repetition after the other; the nodes stay up between runs.

    Parameters
    ----------
    runs
        Maximum number of runs; None means all missing ones.

    Raises
    ------
    ClusterError
        If the nodes cannot be used in the last attempt.
    """
    chosen: Sequence[Case] | None = None
    for attempt in range(attempts):
        with open_results(folder, experiment) as kept:
            missing = [case for case in kept.missing if case in cases]
            if chosen is None:
                chosen = sorted(missing, key=lambda case: case.seed)[:runs]
            to_run = [case for case in chosen if case in missing]
            if not to_run:
                return kept.results
            progress.log(f"running {len(to_run)} of {len(cases)} cases live")
            try:
                with nodes():
                    _run_cases(experiment, kept, to_run, run_case_live, progress)
            except ClusterError as error:
                if attempt + 1 == attempts:
                    raise
                progress.warn(error.problem)
    return read_results(folder)[1]


def _run_cases(
    experiment: Experiment, results: ResultsFolder, cases: Sequence[Case], runner: CaseRunner, progress: ProgressLog
) -> None:
    def done(result: CaseResult) -> None:
        results.add(result)
        if result.lost:
            case = result.case
            fields = {"policy": case.policy, "workload": case.workload, "repetition": case.seed + 1}
            progress.warn(Problem("league-run-failed", {**fields, "cause": result.lost}))

    run_locally(experiment, cases, jobs=1, done=done, run_case=runner)
    results.finish()
