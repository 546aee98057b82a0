"""A policy under the loop, over a plant: the ports, the clock, and who looks on."""

from collections.abc import Mapping

import numpy as np

from gesscale.knowledge.keeping import KnowledgeLimits
from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.ports import Policy
from testbed.simulator.clock import SimulatedClock
from testbed.simulator.cluster import SimulatedCluster
from testbed.simulator.demand import BestPlacements, best_placements
from testbed.simulator.monitor import FixedLatencies, SimulatedMetrics
from testbed.simulator.observer import Observer
from testbed.simulator.plant import Plant, Reports
from testbed.simulator.scene import Scene

__all__ = ["Observer", "assemble", "simulate"]

_REMEMBERED = KnowledgeLimits(decisions_per_operator=1, models_per_operator=1)
"""What policies recall is kept as everywhere; decisions and models are the observer's to keep."""


def simulate(
    scene: Scene,
    plant: Plant,
    policy: Policy,
    observer: Observer,
    *,
    seed: int,
    best: Mapping[str, BestPlacements] | None = None,
) -> float:
    """Run a policy from the first row until all are processed.

    Parameters
    ----------
    scene
        What the plant was built from.
    plant
        At time 0.
    policy
        Under the loop of `gesscale.loop`, on simulated time.
    observer
        Gets every sample, completion and decision, in the order of time.
    seed
        Of what Monitor misses (gaps, jitter).
    best
        The best placements, for who runs many policies on one scene; found here where they are not given.

    Returns
    -------
    float
        When the run ended, seconds since its beginning.
    """
    loop, clock = assemble(scene, plant, policy, observer, seed=seed, best=best)
    loop.run(
        clock,
        scene.period_s,
        observer.decided,
        least_period_s=scene.least_period_s,
        at_once=scene.least_period_s is not None,  # so that a policy can ask from the beginning
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
    """Put a loop over a plant together, for who wants other ports than `simulate` has.

    Parameters
    ----------
    scene, plant, policy, observer, seed, best
        As for `simulate`.
    reports
        What the plant tells of itself, where that is not the truth.

    Returns
    -------
    tuple of ControlLoop and SimulatedClock
        The clock lets the plant work, and tells the observer.
    """
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
        latencies=FixedLatencies(scene.delays),
        policy=policy,
        cluster=cluster,
        knowledge=MemoryKnowledge(_REMEMBERED),
        acts=True,
        rescale_timeout_s=scene.rescale_timeout_s,
    )
    return loop, clock
