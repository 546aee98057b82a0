"""Playing a case of the arena on the local cluster."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.arena.case import Case, CaseResult, case_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.worlds.scenes import world_of
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.demo.record import write_records
from testbed.demo.scenario import Scenario, prepare_settings
from testbed.demo.stage import Stage
from testbed.league.machine import MachineTimes
from testbed.league.queries import Day, LeagueQuery
from testbed.league.scoring import result_of_run


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlay:
    """Plays cases on nodes that are up, one after the other; a `testbed.arena.runs.running.Play`.

    Each run has a driver, a checkpoint, a knowledge and scratch folders of its own: no state is carried over.

    Attributes
    ----------
    query
        What runs.
    scenario
        What is played, but for the policy and the load, which are the case's.
    topology
        The nodes.
    runs
        Where the record of each run goes, in a folder of its own.
    stage
        Prints what happens.
    """

    query: LeagueQuery
    scenario: Scenario
    topology: Topology
    runs: Path
    stage: Stage

    def __call__(self, experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
        """Play a case; the record of an earlier try goes.

        Raises
        ------
        GesscaleError
            Where the cluster cannot play it, or what it has recorded cannot be scored.
        """
        world = world_of(experiment, case)
        (load,) = world.scene.workloads.values()
        scenario = replace(self.scenario, policy=case.policy)
        self.stage.say(f"{case.policy} on {case.workload}, repetition {case.seed + 1}")
        folder = self.runs / case_name((case.workload, case.policy, case.seed))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        settings = prepare_settings(scenario, self.topology, folder)
        day = Day(
            scenario=scenario,
            settings=settings,
            topology=self.topology,
            load=load,
            folder=folder,
            stage=self.stage,
        )
        before = MachineTimes.now()
        try:
            run = self.query.play(day)
        finally:
            shutil.rmtree(state_directory(self.topology.name) / "scratch", ignore_errors=True)
        busy = MachineTimes.now().since(before)
        (operator,) = scenario.operators
        write_records({operator.name: run.record}, folder)
        for bulky in (folder / "sink", *folder.glob("checkpoint*")):
            shutil.rmtree(bulky, ignore_errors=True)
        result = result_of_run(run, case, world, with_series=with_series)
        return replace(result, metrics={**result.metrics, "began_at_s": run.record.began_at_s, **busy})
