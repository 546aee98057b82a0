"""Scenes, plants and observers for the tests of the simulator."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gesscale.model.decision import Decision
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from latency_map import LatencyMap
from testbed.scoring.sample import Completion, Sample
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.simulator.simulation import simulate
from testbed.simulator.spark.constants import SparkPhysics, read_physics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload

QUIET = SparkPhysics(
    trigger_s=10.0, service_ms_per_row=2.0, fixed_s=0.2, task_s=0.1, driver_round_trips=4.0, start_s=5.0
)
"""No noise, never cold: a batch of r rows on n replicas at a round trip of d takes 0.3 + 0.002 r / n + 4 d s."""


def nodes(count: int) -> dict[str, SimulatedNode]:
    return {f"n{index}": SimulatedNode(name=f"n{index}") for index in range(count)}


def equal_delays(count: int, rtt_ms: float) -> LatencyMap:
    matrix = rtt_ms * (1 - np.eye(count))
    return LatencyMap(names=tuple(f"n{index}" for index in range(count)), rtt_ms=matrix)


def drawn_delays(count: int, seed: int, max_ms: float = 300.0) -> LatencyMap:
    upper = np.triu(np.random.default_rng(seed).uniform(0, max_ms, (count, count)), 1)
    return LatencyMap(names=tuple(f"n{index}" for index in range(count)), rtt_ms=upper + upper.T)


def steady(rate: float, duration_s: float, step_s: float = 10.0) -> Workload:
    return Workload.of_rates("steady", step_s, [rate] * round(duration_s / step_s))


def wave(low: float, high: float, duration_s: float, cycle_s: float, step_s: float = 60.0) -> Workload:
    rates = [
        (low + high) / 2 - (high - low) / 2 * math.cos(2 * math.pi * step * step_s / cycle_s)
        for step in range(round(duration_s / step_s))
    ]
    return Workload.of_rates("wave", step_s, rates)


def one_operator(workload: Workload, *, delays: LatencyMap, most: int = 8, rows: int = 6000, **more: object) -> Scene:
    """Return operator ``op``: driver and first replica on n0, ``rows`` a batch for each replica."""
    operator = Operator(name="op", driver_node="n0", max_replicas=most, cap=BatchCap(rows_per_replica=rows))
    scene = Scene(
        workflow=Workflow([operator]),
        nodes=nodes(len(delays)),
        delays=delays,
        workloads={"op": workload},
        initial={"op": ("n0",)},
    )
    return replace(scene, **more)  # type: ignore[arg-type] # fields of Scene


def chain(workload: Workload, *, delays: LatencyMap, ratio: float = 0.5, **more: object) -> Scene:
    """Return ``first`` -> ``second``; the first emits ``ratio`` rows per row."""
    workflow = Workflow(
        [
            Operator(name="first", driver_node="n0", cap=BatchCap(rows_per_replica=6000)),
            Operator(name="second", driver_node="n1", upstream=("first",), cap=BatchCap(rows_per_replica=6000)),
        ]
    )
    scene = Scene(
        workflow=workflow,
        nodes=nodes(len(delays)),
        delays=delays,
        workloads={"first": workload},
        initial={"first": ("n0",), "second": ("n1",)},
        selectivity={"first": ratio},
    )
    return replace(scene, **more)  # type: ignore[arg-type] # fields of Scene


@dataclass
class Notes:
    """Keeps all that an observer receives."""

    samples: dict[str, list[Sample]] = field(default_factory=dict)
    completions: list[Completion] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def on_sample(self, operator: str, sample: Sample) -> None:
        self.samples.setdefault(operator, []).append(sample)

    def on_completion(self, completion: Completion) -> None:
        self.completions.append(completion)

    def on_decisions(self, decisions: tuple[Decision, ...]) -> None:
        self.decisions.extend(decisions)


def physics_of(scene: Scene, physics: SparkPhysics | None = None) -> Mapping[str, SparkPhysics]:
    chosen = physics or replace(read_physics("map"), service_ms_per_row=2.0)
    return dict.fromkeys(scene.workflow.operators, chosen)


def run_scene(
    scene: Scene, policy: str, *, seed: int = 1, physics: SparkPhysics | None = None, rules: PolicyOptions | None = None
) -> Notes:
    """Run a policy through a scene on Spark."""
    notes = Notes()
    plant = SparkPlant(scene, physics_of(scene, physics), seed=seed)
    named = policy_named(policy, scene.workflow, rules or PolicyOptions())
    simulate(scene, plant, named, notes, seed=seed)
    return notes
