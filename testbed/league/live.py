"""Runs a case of the arena on the local cluster."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.arena.case import Case, CaseResult, case_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.worlds.scenes import world_of
from testbed.cluster.state import state_directory
from testbed.league.scoring import result_of_run
from testbed.league.settings import LeagueQuery
from testbed.live.nodes import ProgressLog
from testbed.live.record import write_records
from testbed.live.running import Setup
from testbed.live.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRunner:
    """Runs cases on nodes that are up, one after the other; a `testbed.arena.runs.running.CaseRunner`.

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
        scenario = replace(self.scenario, policy=case.policy)
        self.progress.log(f"{case.policy} on {case.workload}, repetition {case.seed + 1}")
        folder = self.runs / case_name((case.workload, case.policy, case.seed))
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
