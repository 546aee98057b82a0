"""Simulated time: waiting lets the plant work, and takes samples of it."""

import math
from collections.abc import Mapping

import numpy as np

from testbed.scoring.sample import Sample
from testbed.simulator.cluster import SimulatedCluster
from testbed.simulator.demand import BestPlacements
from testbed.simulator.monitor import SimulatedMetrics
from testbed.simulator.observer import Observer
from testbed.simulator.plant import Plant, Tally
from testbed.simulator.scene import Scene

_ROUNDING = 0.5
"""Rows; an engine that counts in fractions never ends at a whole number exactly."""


class SimulatedClock:
    """The loop's port `gesscale.ports.Clock` over a plant; the run begins at 0.

    Parameters
    ----------
    scene
        What the plant was built from.
    plant
        Works while the loop waits.
    cluster
        Tells which changes were ordered.
    metrics
        Told the counters of every sample.
    best
        Tells the demand, by operator.
    observer
        Told the samples and the rows that reached a sink.
    rng
        Draws by how much a step is late.
    """

    def __init__(
        self,
        *,
        scene: Scene,
        plant: Plant,
        cluster: SimulatedCluster,
        metrics: SimulatedMetrics,
        best: Mapping[str, BestPlacements],
        observer: Observer,
        rng: np.random.Generator,
    ) -> None:
        self._scene = scene
        self._plant = plant
        self._cluster = cluster
        self._metrics = metrics
        self._best = best
        self._observer = observer
        self._rng = rng
        self._now_s = 0.0
        self._steps = 0
        self._duration_s = scene.duration_s
        self._sample_s = scene.sample_s
        self._shares = {name: tuple(scene.source_shares(name).items()) for name in scene.workflow.operators}
        self._loads = tuple(scene.workloads.items())
        self._offered_rows = dict.fromkeys(scene.workloads, 0.0)
        self._tallies: dict[str, Tally] = {}
        self._tally()

    def now_s(self) -> float:
        """Return seconds since the measurement began."""
        return self._now_s

    def wait_until(self, at_s: float) -> bool:
        """Let the plant work until an instant, or a little later where the scene says that steps are late.

        Returns
        -------
        bool
            False once the input has ended and every row is processed, or the time to drain is over.
        """
        until_s = at_s + self._scene.metrics.jitter_s * self._rng.random()
        if self._cluster.has_orders:
            self._tally()  # what was ordered counts from now on
        sample_s = self._sample_s
        while self._now_s < until_s and not self._is_over():
            while self._steps * sample_s <= self._now_s:
                self._steps += 1
            self._advance(min(until_s, self._steps * sample_s))
        return not self._is_over()

    def _advance(self, until_s: float) -> None:
        before, observer = self._tallies, self._observer
        from_s, self._now_s = self._now_s, until_s
        lasted_s = until_s - from_s
        self._plant.advance(until_s)
        self._tally()
        fresh = self._fresh_rows(until_s)
        has_orders = self._cluster.has_orders
        for name, tally in before.items():
            rows = 0.0
            for source, share in self._shares[name]:
                rows += share * fresh[source]
            after = self._tallies[name]
            sample = Sample(
                t_s=from_s,
                demand_replicas=self._best[name].least(rows / lasted_s)[0],
                supply_replicas=tally.supply_replicas,
                serving_replicas=tally.serving_replicas,
                input_rows_per_s=(after.offered_rows - tally.offered_rows) / lasted_s,
                processed_rows_per_s=(after.processed_rows - tally.processed_rows) / lasted_s,
                reconfigurations=self._cluster.take_orders(name) if has_orders else 0,
            )
            observer.sampled(name, sample)
        for completion in self._plant.completions():
            observer.completed(completion)

    def _fresh_rows(self, until_s: float) -> dict[str, float]:
        """Return what each source has offered since the last call."""
        fresh = {}
        for name, load in self._loads:
            offered_rows = load.offered_rows(until_s)
            fresh[name] = offered_rows - self._offered_rows[name]
            self._offered_rows[name] = offered_rows
        return fresh

    def _tally(self) -> None:
        self._tallies = {name: self._plant.tally(name) for name in self._shares}
        for name, tally in self._tallies.items():
            self._metrics.note(name, self._now_s, tally)

    def _is_over(self) -> bool:
        if self._now_s < self._duration_s:
            return False
        if self._now_s >= self._duration_s + self._scene.drain_limit_s:
            return True
        return all(
            math.isclose(tally.processed_rows, tally.offered_rows, rel_tol=0.0, abs_tol=_ROUNDING)
            for tally in self._tallies.values()
        )
