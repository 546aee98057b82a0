"""Runs a policy in the control loop over a simulated plant."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.ports import Policy
from testbed.scoring.sample import Sample
from testbed.simulator.demand import BestPlacements, best_placements
from testbed.simulator.monitor import MeasuredLatencies, SimulatedCluster, SimulatedMetrics
from testbed.simulator.plant import Observer, Plant, Reports, Tally
from testbed.simulator.scene import CpuAccount, Scene

#: Tolerance of the end in rows, as an engine may count in fractions.
_ROUNDING = 0.5


@dataclass(kw_only=True, eq=False)
class SimulatedClock:
    """The loop's port `gesscale.ports.Clock` over a plant; the run begins at 0."""

    #: Scene of the plant.
    scene: Scene
    #: Simulated while the loop waits.
    plant: Plant
    #: Source of the ordered changes.
    cluster: SimulatedCluster
    #: Receives the counters of every sample.
    metrics: SimulatedMetrics
    #: Source of the demand by operator.
    best: Mapping[str, BestPlacements]
    #: Receives the samples and the rows that reached a sink.
    observer: Observer
    #: Random delays of steps.
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self._now_s = 0.0
        self._steps = 0
        self._duration_s = self.scene.duration_s
        self._sample_s = self.scene.sample_s
        self._shares = {name: tuple(self.scene.source_shares(name).items()) for name in self.scene.workflow.operators}
        self._loads = tuple(self.scene.workloads.items())
        self._waiting_is_cpu = self.scene.metrics.cpu is CpuAccount.WORK_AND_WAITING
        self._needed = {name: self.best[name].smallest_for for name in self._shares}
        self._offered_rows = dict.fromkeys(self.scene.workloads, 0.0)
        self._tallies: dict[str, Tally] = {}
        self._tally()

    def now_s(self) -> float:
        """Return seconds since the measurement began."""
        return self._now_s

    def wait_until(self, at_s: float) -> bool:
        """Simulate until an instant, plus a random delay if the scene has jitter."""
        until_s = at_s + self.scene.metrics.jitter_s * self.rng.random()
        if self.cluster.has_orders:
            self._tally()  # orders count from now on
        sample_s = self._sample_s
        while self._now_s < until_s and not self._is_over():
            while self._steps * sample_s <= self._now_s:
                self._steps += 1
            self._advance(min(until_s, self._steps * sample_s))
        return not self._is_over()

    def _advance(self, until_s: float) -> None:
        before, observer = self._tallies, self.observer
        from_s, self._now_s = self._now_s, until_s
        lasted_s = until_s - from_s
        self.plant.advance(until_s)
        self._tally()
        fresh = self._fresh_rows(until_s)
        has_orders = self.cluster.has_orders
        for name, tally in before.items():
            rows = 0.0
            for source, share in self._shares[name]:
                rows += share * fresh[source]
            after = self._tallies[name]
            cpu_s = after.work_s - tally.work_s
            if self._waiting_is_cpu:
                cpu_s += after.waiting_s - tally.waiting_s
            sample = Sample(  # positional, for speed
                from_s,
                self._needed[name](rows / lasted_s)[0],
                tally.supply_replicas,
                tally.serving_replicas,
                (after.offered_rows - tally.offered_rows) / lasted_s,
                (after.processed_rows - tally.processed_rows) / lasted_s,
                self.cluster.take_orders(name) if has_orders else 0,
                tally.supply_price,
                (after.lost_rows - tally.lost_rows) / lasted_s,
                cpu_s / lasted_s,
                tally.emitted_lag_s,
            )
            observer.on_sample(name, sample)
        for completion in self.plant.completions():
            observer.on_completion(completion)

    def _fresh_rows(self, until_s: float) -> dict[str, float]:
        """Return the rows that each source has offered since the last call."""
        fresh = {}
        for name, load in self._loads:
            offered_rows = load.offered_rows(until_s)
            fresh[name] = offered_rows - self._offered_rows[name]
            self._offered_rows[name] = offered_rows
        return fresh

    def _tally(self) -> None:
        self._tallies = {}
        for name in self._shares:
            self._tallies[name] = tally = self.plant.tally(name)
            self.metrics.note(name, self._now_s, tally)

    def _is_over(self) -> bool:
        if self._now_s < self._duration_s:
            return False
        if self._now_s >= self._duration_s + self.scene.drain_limit_s:
            return True
        return all(
            math.isclose(tally.processed_rows + tally.lost_rows, tally.offered_rows, rel_tol=0.0, abs_tol=_ROUNDING)
            for tally in self._tallies.values()
        )


#: Memory of the loop; the observer stores decisions and models.


def simulate(
    scene: Scene,
    plant: Plant,
    policy: Policy,
    observer: Observer,
    *,
    seed: int,
    best: Mapping[str, BestPlacements] | None = None,
) -> float:
    """Run a policy from the first row until all are processed."""
    loop, clock = assemble(scene, plant, policy, observer, seed=seed, best=best)
    loop.run(
        clock,
        scene.period_s,
        observer.on_decisions,
        min_period_s=scene.min_period_s,
        immediately=scene.min_period_s is not None,  # so that a policy can request a step from the start
    )
    return clock.now_s()


def assemble(
    scene: Scene,
    plant: Plant,
    policy: Policy,
    observer: Observer,
    *,
    seed: int,
    best: Mapping[str, BestPlacements] | None = None,
    reports: Reports | None = None,
) -> tuple[ControlLoop, SimulatedClock]:
    """Assemble a loop over a plant, for callers that need other ports than `simulate`."""
    gaps, jitter = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    cluster = SimulatedCluster(plant, executors_per_node=scene.executors_per_node)
    metrics = SimulatedMetrics(reports or plant, tuple(scene.workflow.operators), scene.metrics, gaps)
    clock = SimulatedClock(
        scene=scene,
        plant=plant,
        cluster=cluster,
        metrics=metrics,
        best=best_placements(scene, plant) if best is None else best,
        observer=observer,
        rng=jitter,
    )
    loop = ControlLoop(
        metrics=metrics,
        latencies=MeasuredLatencies(scene),
        policy=policy,
        cluster=cluster,
        knowledge=MemoryKnowledge(),
        acts=True,
        rescale_timeout_s=scene.rescale_timeout_s,
    )
    return loop, clock
