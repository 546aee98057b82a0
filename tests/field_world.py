"""The loop over a simulated query whose driver writes Spark's progress reports; one replica does 98 rows/s.

A batch of r rows on n replicas takes 0.32 s + 10 ms r / n, with 3 % noise; a new replica serves after 8 s; eight nodes
are 5 ms apart, and the delay costs nothing.
"""

from collections.abc import Callable
from dataclasses import replace

from spark_scenes import Notes, equal_delays, nodes

from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.policies import GuardedPolicy, policy_named
from testbed.simulator.scene import MetricTraits, Scene
from testbed.simulator.simulation import assemble
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload
from tests.spark_progress import ProgressReports, SimulatedSource

PHYSICS = SparkPhysics(
    trigger_s=2.0,
    service_ms_per_row=10.0,
    fixed_s=0.3,
    task_s=0.02,
    driver_round_trips=0.0,
    start_s=8.0,
    batch_noise=0.03,
)

CAP = BatchCap(rows=4000)


def steady(rows_per_s: float, hours: float) -> Workload:
    return Workload.of_rates("steady", 60.0, [rows_per_s] * round(hours * 60))


def bursts(rows_per_s: float, every_s: float, hours: float) -> Workload:
    """Return rows that come within one second of each interval; the mean is ``rows_per_s``."""
    steps = round(every_s)
    one = [rows_per_s * every_s] + [0.0] * (steps - 1)
    return Workload.of_rates("bursts", 1.0, one * round(hours * 3600 / steps))


def scene_of(load: Workload, *, cap: BatchCap | None = CAP, replicas: int = 1, **more: object) -> Scene:
    scene = Scene(
        workflow=Workflow([Operator(name="op", driver_node="n0", max_replicas=8, cap=cap)]),
        nodes=nodes(8),
        delays=equal_delays(8, 5.0),
        workloads={"op": load},
        initial={"op": tuple(f"n{index}" for index in range(replicas))},
        metrics=MetricTraits(window_s=60.0, history_s=300.0, stale_after_s=180.0),
        period_s=60.0,
        min_period_s=5.0,
        drain_limit_s=60.0,
    )
    return replace(scene, **more)  # type: ignore[arg-type] # fields of Scene


def play(
    scene: Scene,
    *,
    policy: str = "gesscale",
    physics: SparkPhysics = PHYSICS,
    source: SimulatedSource | None = None,
    wrap: Callable[[ProgressReports], ProgressReports] = lambda reports: reports,
    seed: int = 1,
) -> Notes:
    """Run a policy through a scene."""
    notes = Notes()
    plant = SparkPlant(scene, {"op": physics}, seed=seed)
    reports = ProgressReports(plant, {"op": source or SimulatedSource()}, trigger_s=physics.trigger_s)
    named = GuardedPolicy(policy_named(policy, scene.workflow, PolicyOptions()))
    loop, clock = assemble(scene, plant, named, notes, seed=seed, reports=wrap(reports))
    loop.run(clock, scene.period_s, notes.on_decisions, immediately=True, min_period_s=scene.min_period_s)
    return notes


def resizes(notes: Notes, from_s: float = 0.0) -> list[tuple[float, int, int]]:
    return [
        (each.at_s, len(each.plan.before), len(each.plan.placement))
        for each in notes.decisions
        if each.acted and each.at_s >= from_s
    ]


def replicas_of(notes: Notes, from_s: float, until_s: float) -> set[int]:
    """Return the numbers of replicas in a span of time."""
    return {each.supply_replicas for each in notes.samples["op"] if from_s <= each.t_s < until_s}


def longest_wait_s(notes: Notes, from_s: float = 0.0) -> float:
    """Return the age of the oldest row that reached the sink after an instant, when it did."""
    return max(each.at_s - each.offered_from_s for each in notes.completions if each.at_s >= from_s)
