"""The live loop over a simulated cluster with injected faults; benchmarks/day_of_faults.py runs a day of it."""

import math
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from faulty_ports import (
    DOUBTFUL,
    TIMEOUT_S,
    Fault,
    Faults,
    FaultyClock,
    FaultyCluster,
    FaultyLatencies,
    FaultyMetrics,
    LyingReports,
)

from gesscale.knowledge.memory import KnowledgeLimits
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision
from gesscale.model.undone_changes import undone_changes
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.plan.change_budget import ChangeBudget, changing_now
from gesscale.policies.guarded import GuardedPolicy
from gesscale.policies.registry import policy_named
from latency_map import LatencyMap
from testbed.scoring.sample import Completion, Sample
from testbed.simulator.plant import Plant
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.simulator.simulation import SimulatedClock, assemble
from testbed.simulator.spark.constants import read_physics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload

_BEGAN_S = 1.8e9
_NODES = 8
_KEPT = KnowledgeLimits(decisions_per_operator=500, orders_per_operator=50)
_PHYSICS = replace(read_physics("map"), service_ms_per_row=2.0)


@dataclass(kw_only=True)
class LongRunReport:
    """The result of a long run."""

    operators: int
    steps: int = 0
    decisions: int = 0
    changes: int = 0
    undone_changes: int = 0
    max_changing: int = 0
    doubtful_removals: list[Decision] = field(default_factory=list)
    restarts: int = 0
    longest_pause_s: float = 0.0
    rows_offered: float = 0.0
    rows_processed: float = 0.0
    late_share: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)


def long_run_scene(duration_s: float, seed: int) -> Scene:
    """Return three operators on eight nodes under a load of days, with noise and a burst each hour or so."""
    rng = np.random.default_rng(seed)
    names = tuple(f"n{index}" for index in range(_NODES))
    places = rng.uniform(0.0, 60.0, (_NODES, 2))
    apart_ms = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    operators = ("clicks", "orders", "sensors")
    return Scene(
        workflow=Workflow(
            [
                Operator(name=name, driver_node=names[index], max_replicas=6, cap=BatchCap(rows_per_replica=6000))
                for index, name in enumerate(operators)
            ]
        ),
        nodes={name: SimulatedNode(name=name) for name in names},
        delays=LatencyMap(names=names, rtt_ms=apart_ms),
        workloads={
            name: Workload.of_rates(name, 60.0, _rates(rng, round(duration_s / 60), index / len(operators)))
            for index, name in enumerate(operators)
        },
        initial={name: (names[index],) for index, name in enumerate(operators)},
        min_period_s=5.0,
    )


def _rates(rng: np.random.Generator, minutes: int, shift: float) -> list[float]:
    """Return rows/s for each minute: a day from 150 to 1,350, noise of 5 %, bursts of five minutes by 700."""
    days = np.arange(minutes) / (24 * 60) + shift
    rates = (750.0 - 600.0 * np.cos(2 * math.pi * days)) * rng.normal(1.0, 0.05, minutes).clip(0.5, 1.5)
    for begin in np.flatnonzero(rng.random(minutes) < 1 / 60):
        rates[begin : begin + 5] += 700.0
    return [float(rate) for rate in rates]


def long_run(
    scene: Scene,
    faults: Faults,
    knowledge_file: Path,
    *,
    policy: str = "gesscale",
    max_changing_operators: int | None = 1,
    seed: int = 0,
    hourly: Callable[[float], None] = lambda _: None,
) -> LongRunReport:
    """Run the loop over a plant until the load has ended and all rows are processed."""
    plant = SparkPlant(scene, dict.fromkeys(scene.workflow.operators, _PHYSICS), seed=seed)
    watch = _Watch(plant, scene.workflow.operators, faults, hourly)
    bare, plant_clock = assemble(
        scene,
        plant,
        policy_named(policy, scene.workflow, PolicyOptions()),
        watch,
        seed=seed,
        reports=LyingReports(plant, faults),
    )
    wired = _wired(bare, faults, plant_clock)
    restarted_s = -math.inf
    while True:
        clock = FaultyClock(plant_clock, faults, began_s=_BEGAN_S, restart_after_s=restarted_s)
        with SqliteKnowledge(knowledge_file, now_s=clock.now_s(), limits=_KEPT) as knowledge:
            loop = replace(
                wired,
                policy=GuardedPolicy(policy_named(policy, scene.workflow, PolicyOptions())),
                knowledge=knowledge,
                budget=ChangeBudget(max_changing_operators),
            )
            watch.take_over(loop, plant_clock)
            loop.run(clock, scene.period_s, watch.on_decisions, immediately=True, min_period_s=scene.min_period_s)
        restarted_s = plant_clock.now_s()
        if not faults.active(restarted_s, Fault.RESTART):
            return watch.finished()
        watch.report.restarts += 1


def _wired(loop: ControlLoop, faults: Faults, clock: SimulatedClock) -> ControlLoop:
    def hang() -> None:
        clock.wait_until(clock.now_s() + TIMEOUT_S)

    return replace(
        loop,
        metrics=FaultyMetrics(loop.metrics, faults, clock.now_s, hang),
        latencies=FaultyLatencies(loop.latencies, faults, clock.now_s),
        cluster=FaultyCluster(loop.cluster, faults, clock.now_s),
    )


class _Watch:
    """Counts events; only the report and the list of changes grow with time."""

    def __init__(
        self, plant: Plant, operators: Collection[str], faults: Faults, hourly: Callable[[float], None]
    ) -> None:
        self.report = LongRunReport(operators=len(operators))
        self._plant, self._operators, self._faults, self._hourly = plant, operators, faults, hourly
        self._hours = self._samples = self._late = 0
        self._resizes: dict[str, list[tuple[float, int]]] = {name: [] for name in operators}
        self._last_step_s: float | None = None

    def take_over(self, loop: ControlLoop, clock: SimulatedClock) -> None:
        """Watch the loop that starts now."""
        self._loop, self._clock = loop, clock

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Count the backlog."""
        tally = self._plant.tally(operator)
        self._samples += 1
        self._late += tally.offered_rows - tally.processed_rows > 60.0 * max(sample.input_rows_per_s, 1.0)
        hours = int(sample.t_s // 3600)
        if hours > self._hours:
            self._hours = hours
            self._hourly(sample.t_s)

    def on_completion(self, completion: Completion) -> None:
        """Store nothing: the tallies have the sums."""

    def on_decisions(self, decisions: tuple[Decision, ...]) -> None:
        """Count a step."""
        report, now_s = self.report, self._clock.now_s()
        report.steps += 1
        report.decisions += len(decisions)
        if self._last_step_s is not None:
            report.longest_pause_s = max(report.longest_pause_s, now_s - self._last_step_s)
        self._last_step_s = now_s
        for decision in decisions:
            report.reasons[decision.plan.reason] += 1
            if decision.acted:
                self._changed(decision, now_s)
        known = self._loop.knowledge.recall(decisions[0].at_s)
        changing = changing_now(self._operators, known, decisions[0].at_s, self._loop.rescale_timeout_s)
        report.max_changing = max(report.max_changing, len(changing))

    def _changed(self, decision: Decision, now_s: float) -> None:
        self.report.changes += 1
        if decision.outcome.removed and self._faults.active(now_s, *DOUBTFUL):
            self.report.doubtful_removals.append(decision)
        added = len(decision.outcome.added) - len(decision.outcome.removed)
        self._resizes[decision.operator].append((now_s, added))

    def finished(self) -> LongRunReport:
        """Return the report with the sums of the plant."""
        self.report.undone_changes = sum(len(undone_changes(each)) for each in self._resizes.values())
        tallies = [self._plant.tally(name) for name in self._operators]
        self.report.rows_offered = sum(each.offered_rows for each in tallies)
        self.report.rows_processed = sum(each.processed_rows for each in tallies)
        self.report.late_share = self._late / max(self._samples, 1)
        return self.report
