"""Results that look like the arena's, from random walks: for tests of the page, without the simulator."""

import math
import random
from collections.abc import Sequence
from itertools import pairwise

from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment, experiment_of

POLICIES = ("thr-nlunaware", "thr-nlaware", "mdl-nlunaware", "gesscale")
WORKLOADS = ("nyc", "kanis-cosine")
PERIOD_S = 60.0
ROWS_PER_REPLICA = 200.0


def an_experiment(
    policies: Sequence[str] = POLICIES, workloads: Sequence[str] = WORKLOADS, seeds: int = 3, **settings: object
) -> Experiment:
    """Return an experiment with the paper's eight nodes."""
    document = {
        "name": "made",
        "title": "Policies compared",
        "policies": list(policies),
        "workloads": list(workloads),
        "seeds": seeds,
        "nodes": {"count": 8, "generated": {"low_ms": 0, "high_ms": 300, "per_seed": True}},
        **settings,
    }
    return experiment_of(document, "test")


def made_results(experiment: Experiment, samples: int = 96) -> list[CaseResult]:
    """Return a result for every case."""
    first = experiment.seed_list[0]
    return [_made_result(case, samples, with_series=case.seed == first) for case in experiment.cases()]


def _made_result(case: Case, samples: int, *, with_series: bool) -> CaseResult:
    world = random.Random(f"{case.workload} {case.seed}")
    policy = random.Random(f"{case.policy} {case.workload} {case.seed} {case.variant}")
    skill = 0.4 + 0.9 * random.Random(case.policy).random()
    trajectory = _trajectory(world, policy, skill, samples)
    errors = [s - d for s, d in zip(trajectory["supply_replicas"], trajectory["demand_replicas"], strict=True)]
    supply = trajectory["supply_replicas"]
    moves = sum(before != now for before, now in pairwise(supply))
    cost = sum(supply) * 288 / samples
    late = sum(rows > 60 * 600 for rows in trajectory["backlog_rows"]) * 288 * 60 / samples
    frontier = tuple(288 * (3.2 + 3 / (1 + move / 6)) for move in range(60))
    frontier_cost = frontier[moves]
    p50 = 5 + 4 * skill * policy.random()
    metrics: dict[str, float | int | bool | None] = {
        "accuracy_O": sum(max(0.0, e) for e in errors) / samples,
        "accuracy_U": sum(max(0.0, -e) for e in errors) / samples,
        "timeshare_O": 100 * sum(e > 0 for e in errors) / samples,
        "timeshare_U": 100 * sum(e < 0 for e in errors) / samples,
        "excess_time": 0.2 * skill * policy.random(),
        "reconfigurations": moves,
        "cost": cost,
        "drained": True,
        "latency_mean_s": 1.6 * p50,
        "latency_p50_s": p50,
        "latency_p95_s": p50 * (3 + 9 * skill),
        "latency_p99_s": p50 * (5 + 40 * skill),
        "lag_above_slo_s": late,
        "time_to_converge_s": 200 * skill,
        "node_seconds": 60 * cost,
        "avg_replicas": cost / 288,
        "max_replicas": 8,
        "final_replicas": 2,
        "scaling_actions": moves,
        "last_action_s": 17_000.0,
        "frontier_cost": frontier_cost,
        "above_frontier_pct": 100 * (cost / frontier_cost - 1),
    }
    series = {name: tuple(values) for name, values in trajectory.items()} if with_series else {}
    return CaseResult(case=case, metrics=metrics, series=series)


def _trajectory(world: random.Random, policy: random.Random, skill: float, samples: int) -> dict[str, list[float]]:
    names = ("t_s", "input_rows_per_s", "processed_rows_per_s", "demand_replicas", "supply_replicas")
    trajectory: dict[str, list[float]] = {name: [] for name in (*names, "serving_replicas", "backlog_rows")}
    supply, down, backlog = 1, 0, 0.0
    step_s = 288 * 60 / samples
    phase = world.random()
    for index in range(samples):
        wave = 0.55 - 0.45 * math.cos(2 * math.pi * (2 * index / samples + phase))
        rate = max(30.0, 1300 * wave + world.gauss(0, 15))
        demand = math.ceil(rate / ROWS_PER_REPLICA * 1.02)
        down = max(0, down - 1)
        if not down and supply != demand and policy.random() < 0.1 / skill:
            supply = max(1, min(8, supply + (1 if demand > supply else -1) * (2 if policy.random() > skill else 1)))
            down = max(1, samples // 144)
        serving = 0 if down else supply
        processed = min(rate + backlog / step_s, serving * 1.15 * ROWS_PER_REPLICA)
        backlog = max(0.0, backlog + step_s * (rate - processed))
        values = (index * step_s, rate, processed, demand, supply, serving, backlog)
        for name, value in zip(trajectory, values, strict=True):
            trajectory[name].append(float(value))
    return trajectory
