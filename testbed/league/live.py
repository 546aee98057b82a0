"""Playing a case of the arena on the local cluster, and how busy the machine was."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from testbed.arena.case import Case, CaseResult, case_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.worlds.scenes import world_of
from testbed.cluster.state import state_directory
from testbed.league.scoring import result_of_run
from testbed.league.setting import LeagueQuery
from testbed.live.nodes import Stage
from testbed.live.record import write_records
from testbed.live.running import Setup
from testbed.live.scenario import Scenario

_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STOLEN = range(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTimes:
    """What the kernel has counted up to now.

    Attributes
    ----------
    load
        Processes that run or wait for a core, mean of the last minute.
    busy, idle, stolen
        Time of all cores, in the kernel's ticks; stolen by the host for other machines.
    ran, waited
        Nanoseconds in which this process's main thread has run, and has waited for a core.
    """

    load: float
    busy: int
    idle: int
    stolen: int
    ran: int
    waited: int

    @classmethod
    def now(cls, proc: Path = Path("/proc")) -> Self:
        """Read them.

        Parameters
        ----------
        proc
            Where the kernel tells them.
        """
        ticks = [int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1:]]
        ran, waited, _ = map(int, (proc / "self/schedstat").read_text().split())
        return cls(
            load=float((proc / "loadavg").read_text().split()[0]),
            busy=sum(ticks[each] for each in (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ)),
            idle=ticks[_IDLE] + ticks[_IOWAIT],
            stolen=ticks[_STOLEN],
            ran=ran,
            waited=waited,
        )

    def since(self, before: "MachineTimes") -> dict[str, float | None]:
        """Return what a run's result says of the machine, by name.

        Parameters
        ----------
        before
            As it was when the run began.

        Returns
        -------
        dict
            The cores, the load before and after, the shares of the cores' time that were busy and stolen, and the
            share of its time that the loop, when it had something to do, waited for a core; per cent.
        """
        busy, idle, stolen = self.busy - before.busy, self.idle - before.idle, self.stolen - before.stolen
        ran, waited = self.ran - before.ran, self.waited - before.waited
        return {
            "machine_cores": os.cpu_count(),
            "machine_load_before": before.load,
            "machine_load_after": self.load,
            "machine_busy_pct": _pct(busy, busy + idle + stolen),
            "machine_stolen_pct": _pct(stolen, busy + idle + stolen),
            "loop_waited_pct": _pct(waited, ran + waited),
        }


def _pct(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlay:
    """Plays cases on nodes that are up, one after the other; a `testbed.arena.runs.running.Play`.

    Each run has a driver, a checkpoint, a knowledge and scratch folders of its own: no state is carried over.

    Attributes
    ----------
    query: what runs
    scenario: what is played, but for the policy and the load, which are the case's
    runs: where the record of each run goes, in a folder of its own
    stage: prints what happens
    """

    query: LeagueQuery
    scenario: Scenario
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
        setup = Setup.prepare(scenario, folder, self.stage)
        before = MachineTimes.now()
        try:
            run = self.query.play(setup, load)
        finally:
            shutil.rmtree(state_directory(setup.topology.name) / "scratch", ignore_errors=True)
        busy = MachineTimes.now().since(before)
        (operator,) = scenario.operators
        write_records({operator.name: run.record}, folder)
        for bulky in (folder / "sink", *folder.glob("checkpoint*")):
            shutil.rmtree(bulky, ignore_errors=True)
        result = result_of_run(run, case, world, with_series=with_series)
        return replace(result, metrics={**result.metrics, "began_at_s": run.record.began_at_s, **busy})
