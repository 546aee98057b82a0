"""A live league from beginning to end: simulated first, then live, then compared; goes on where it was stopped.

RESULTS/simulated    what ``gesscale arena run --results`` leaves, of the simulated cases
RESULTS/live         the same of the live ones, so that the arena's commands read it, too
RESULTS/runs         the record of each live run
RESULTS/league.md    the report, and league.json
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from gesscale.errors import ClusterError, InputError
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.runner import check_experiment, run_case
from testbed.arena.runs.results import ResultsFolder, open_results, read_results
from testbed.arena.runs.running import CaseRunner, run_locally
from testbed.arena.worlds.scenes import world_of
from testbed.cluster import lifecycle
from testbed.cluster.topology import Topology, read_topology
from testbed.league.live import LiveRunner
from testbed.league.report import LeagueReport
from testbed.league.settings import LeagueSettings, league_query
from testbed.live.nodes import ProgressLog, edge_nodes, verify_delays
from testbed.results_folder import claim_results_folder

LIVE, SIMULATED, RUNS = "live", "simulated", "runs"


def run_league(
    settings: LeagueSettings, results: Path, progress: ProgressLog, *, attempts: int = 1, runs: int | None = None
) -> LeagueReport:
    """Play what is missing of a league, and write its report.

    Parameters
    ----------
    runs
        At most so many runs are played live now; None: all that are missing.

    Raises
    ------
    GesscaleError
        If something is named that there is not, the folder holds something else, or the nodes cannot be had.
    """
    experiment = settings.experiment
    check_experiment(experiment)
    _check_loads(experiment, progress)
    claim_results_folder(results, mark=LIVE, leftovers=(SIMULATED,))
    simulated = _simulated(experiment, results, progress)
    topology = read_topology(settings.topology)
    live = run_live(
        experiment,
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
    """Report on the live runs that are there: their cases are simulated again, and nothing is played.

    Raises
    ------
    InputError
        If the folder holds no live runs.
    """
    experiment, live = read_results(results / LIVE)
    progress.log(f"{len(live)} of {len(experiment.cases())} runs are there")
    simulated = _simulated(experiment, results, progress, fresh=True)
    report = LeagueReport(experiment=experiment, live=live, simulated=simulated, price=price)
    report.write(results)
    return report


def _simulated(
    experiment: Experiment, results: Path, progress: ProgressLog, *, fresh: bool = False
) -> tuple[CaseResult, ...]:
    with open_results(results / SIMULATED, experiment, fresh=fresh) as kept:
        progress.log(f"simulating {len(kept.missing)} of {len(experiment.cases())} cases")
        _play(experiment, kept, kept.missing, run_case, progress)
        return kept.results


def _check_loads(experiment: Experiment, progress: ProgressLog) -> None:
    """Check that every load can be offered, and say where it is more than the replicas can carry."""
    for case in experiment.cases():
        if case.policy != experiment.policies[0]:
            continue
        world = world_of(experiment, case)
        ((operator, load),) = world.scene.workloads.items()
        if load.rows_per_s[0] == 0:
            raise InputError(
                f"workload {load.name}: expected a load that begins with rows, as a live day does, got 0 rows/s"
            )
        most = world.scene.workflow.operators[operator].max_replicas
        carried = max(world.best[operator][replicas][0] for replicas in range(1, most + 1))
        if load.peak_rows_per_s > carried:
            progress.log(
                f"{case.workload}: its peak is {load.peak_rows_per_s:.0f} rows/s, and {most} replicas carry at most "
                f"{carried:.0f}: rows will wait whatever a policy does"
            )


@contextmanager
def _nodes(topology: Topology, progress: ProgressLog) -> Iterator[None]:
    """Have the nodes of a topology, with delays as its map says; what a killed command left on them goes."""
    lifecycle.down(topology.name)
    with edge_nodes(topology, progress):
        verify_delays(topology, progress)
        yield


def run_live(
    experiment: Experiment,
    folder: Path,
    by: CaseRunner,
    progress: ProgressLog,
    *,
    nodes: Callable[[], AbstractContextManager[None]],
    attempts: int,
    runs: int | None = None,
) -> tuple[CaseResult, ...]:
    """Play what is missing live, a whole repetition before the next; the nodes stay up between runs.

    Parameters
    ----------
    runs
        At most so many runs are played now; None: all that are missing.

    Raises
    ------
    ClusterError
        If the nodes cannot be used at the last attempt.
    """
    chosen: Sequence[Case] | None = None
    for attempt in range(attempts):
        with open_results(folder, experiment) as kept:
            if chosen is None:
                chosen = sorted(kept.missing, key=lambda case: case.seed)[:runs]
            cases = [case for case in chosen if case in kept.missing]
            if not cases:
                return kept.results
            progress.log(f"playing {len(cases)} of {len(experiment.cases())} cases live")
            try:
                with nodes():
                    _play(experiment, kept, cases, by, progress)
            except ClusterError as fault:
                if attempt + 1 == attempts:
                    raise
                progress.log(f"the nodes cannot be used: {fault}")
    return read_results(folder)[1]


def _play(
    experiment: Experiment, kept: ResultsFolder, cases: Sequence[Case], by: CaseRunner, progress: ProgressLog
) -> None:
    def done(result: CaseResult) -> None:
        kept.add(result)
        if result.lost:
            case = result.case
            progress.log(f"{case.policy} on {case.workload}, repetition {case.seed + 1}: {result.lost}")

    run_locally(experiment, cases, jobs=1, done=done, run_case=by)
    if not kept.missing:
        kept.finish()
