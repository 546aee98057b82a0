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
from testbed.demo.rides import prepare_rides
from testbed.demo.scenario import Scenario, prepare_settings
from testbed.demo.show import play_day
from testbed.demo.stage import Stage
from testbed.league.machine import MachineTimes
from testbed.league.scoring import LiveRun, result_of_run
from testbed.league.setting import demand_of, rides_s
from testbed.pipeline.ride_store import open_rides
from testbed.pipeline.schedule import ReplaySchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlay:
    """Plays cases on nodes that are up, one after the other; a `testbed.arena.runs.running.Play`.

    Each run has a driver, a checkpoint, a knowledge and scratch folders of its own: no state is carried over.

    Attributes
    ----------
    scenario
        What is played, but for the policy and the load, which are the case's.
    topology
        The nodes.
    runs
        Where the record of each run goes, in a folder of its own.
    stage
        Prints what happens.
    """

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
        demand = demand_of(load, self.scenario.copies)
        scenario = replace(self.scenario, policy=case.policy, rides_s=rides_s(demand))
        self.stage.say(f"{case.policy} on {case.workload}, repetition {case.seed + 1}")
        rides = prepare_rides(demand, 1.0, scenario.copies, self.stage.say)
        folder = self.runs / case_name((case.workload, case.policy, case.seed))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        settings = prepare_settings(scenario, self.topology, folder)
        before = MachineTimes.now()
        try:
            day = play_day(scenario, settings, self.topology, rides, folder, self.stage)
        finally:
            shutil.rmtree(state_directory(self.topology.name) / "scratch", ignore_errors=True)
        busy = MachineTimes.now().since(before)
        write_records(day.records, folder)
        for bulky in ("sink", *(f"checkpoint-{operator.name}" for operator in scenario.operators)):
            shutil.rmtree(folder / bulky, ignore_errors=True)
        (record,) = day.records.values()
        run = LiveRun(
            record=record,
            schedule=ReplaySchedule(
                pickup_s=open_rides(str(rides.folder)).pickup_s(),
                speed=scenario.speed,
                copies=scenario.copies,
                start_at_s=record.began_at_s,
            ),
            rows_doubled=day.sink.duplicated,
            rows_lost=max(0, record.processed_rows - day.sink.distinct),
        )
        result = result_of_run(run, case, world, with_series=with_series)
        return replace(result, metrics={**result.metrics, "began_at_s": record.began_at_s, **busy})
