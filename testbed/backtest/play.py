"""Plays a policy on the load of a recorded query: the simulator, with the laws that its batches show."""

import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from gesscale.common.errors import Problem
from gesscale.model.workflow import Operator, Workflow
from latency_map import LatencyMap
from testbed.arena.experiments.sections import RulesSection
from testbed.arena.policies.catalogue import build_policy
from testbed.arena.runner import RunScorer
from testbed.arena.worlds.scenes import World, change_effect
from testbed.backtest.law import FittedLaw, Learned
from testbed.backtest.recorded_query import RecordedQuery, Usage
from testbed.simulator.demand import best_placements
from testbed.simulator.scene import MetricTraits, Scene, SimulatedNode
from testbed.simulator.simulation import simulate
from testbed.simulator.spark.constants import SparkPhysics, read_physics
from testbed.simulator.spark.plant import SparkPlant

#: Constants that a log does not show: starts of executors, cold batches, failures.
_OTHER_CONSTANTS = "map"
_PERIOD_S, _MIN_PERIOD_S = 60.0, 5.0
#: Most replicas that are played unless more were recorded or given; the room above the peak of a cap that is proposed.
MAX_NEEDED, _SPARE = 16, 1.2
_UNDONE_WITHIN_S = 300.0
#: Of the noise; the same for each law, so that they differ by nothing else.
_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a backtest assumes besides the record."""

    policy: str = "gesscale"
    slo_s: float = 60.0
    min_replicas: int = 1
    max_replicas: int
    #: When the played time begins, seconds since the epoch.
    from_s: float


def play(query: RecordedQuery, learned: Learned, conditions: Conditions) -> list[Usage]:
    """Return what the load would have cost with a policy by each law, played on several processors."""
    runs = partial(_play, query, learned.noise, conditions)
    processes = min(len(learned.laws), len(os.sched_getaffinity(0)))
    if processes == 1:
        return [*map(runs, learned.laws)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return [*pool.map(runs, learned.laws)]


def _play(query: RecordedQuery, noise: float, conditions: Conditions, law: FittedLaw) -> Usage:
    world = _world(query, physics_of(law, noise, query.trigger_s), conditions)
    scorer = RunScorer(world, restart_is_supply=True)
    policy = build_policy(conditions.policy, world, RulesSection())
    ended_s = simulate(world.scene, world.plant, policy, scorer, seed=_SEED, best=world.best)
    (scores,) = scorer.scores(ended_s).values()
    return Usage(
        replicas=scores.cost * 60 / world.scene.duration_s,
        late_min=scores.lag_above_slo_s / 60,
        changes=float(scores.reconfigurations),
        replica_h=scores.cost / 60,
    )


def physics_of(law: FittedLaw, noise: float, trigger_s: float) -> SparkPhysics:
    """Return the physics of a law."""
    return replace(
        read_physics(_OTHER_CONSTANTS),
        trigger_s=trigger_s,
        service_ms_per_row=law.row_s * 1000,
        shared_ms_per_row=law.shared_row_s * 1000,
        fixed_s=law.fixed_s,
        task_s=0.0,
        batch_noise=noise,
    )


def _world(query: RecordedQuery, physics: SparkPhysics, conditions: Conditions) -> World:
    most = conditions.max_replicas
    width = len(str(most))
    nodes = tuple(f"node-{number:0{width}}" for number in range(1, most + 1))
    operator = Operator(
        name="query", driver_node=nodes[0], min_replicas=conditions.min_replicas, max_replicas=most, cap=query.cap
    )
    initial = min(most, max(conditions.min_replicas, query.replicas_at(conditions.from_s)))
    scene = Scene(
        workflow=Workflow([operator], conditions.slo_s),
        nodes={name: SimulatedNode(name=name) for name in nodes},
        delays=LatencyMap(names=nodes, rtt_ms=np.zeros((most, most))),
        workloads={"query": query.workload(conditions.from_s)},
        initial={"query": nodes[:initial]},
        metrics=MetricTraits(history_s=300.0),
        period_s=_PERIOD_S,
        min_period_s=_MIN_PERIOD_S,
    )
    plant = SparkPlant(scene, {"query": physics}, seed=_SEED)
    best = best_placements(scene, plant)
    return World(
        scene=scene, plant=plant, best=best, changes={"query": change_effect(physics)}, undone_within_s=_UNDONE_WITHIN_S
    )


def peak_rows_per_s(query: RecordedQuery) -> float:
    """Return the load of the busiest minute."""
    at_s, rows, _ = query.offered
    minutes = np.interp(np.arange(at_s[0], at_s[-1] + 60.0, 60.0), at_s, rows)
    return float(np.diff(minutes).max(initial=0.0)) / 60


def largest_useful(query: RecordedQuery, learned: Learned) -> int:
    """Return the most replicas to play: as many as it had, or as carry its peak by every law, up to `MAX_NEEDED`."""
    peak = peak_rows_per_s(query)
    needed = [
        next((n for n in range(1, MAX_NEEDED + 1) if law.mst_rows_per_s(n, query.trigger_s, query.cap) >= peak), 1)
        for law in learned.laws
    ]
    return max(*(len(batch.nodes) for batch in query.batches), *needed)


def cap_warnings(query: RecordedQuery, most: int) -> list[Problem]:
    """Return a warning if the cap on the rows of a batch allows less than the peak with any number of replicas."""
    peak, rows = peak_rows_per_s(query), 0 if query.cap is None else query.cap.at(most)
    if query.cap is None or rows >= peak * query.trigger_s:
        return []
    fields = {"rows": rows, "rows_per_s": rows / query.trigger_s, "peak_rows_per_s": peak}
    return [Problem("backtest-cap-limits", {**fields, "needed_rows": math.ceil(_SPARE * peak * query.trigger_s)})]
