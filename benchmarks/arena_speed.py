"""Measures the arena: time of a long simulation and of a whole comparison, and memory over simulated time.

Run ``python benchmarks/arena_speed.py [--runs 5] [--experiment edge] [--seeds 3]``; ``--seeds 0`` skips the
comparison, which takes minutes. It prints JSON: medians of the runs with minimum and maximum. Times of one simulation
are processor time, that of the comparison is wall time.

Baseline of the simulations: the same plant without decisions (policy ``static``), in the same run. The comparison
is a whole experiment, ``edge`` by default; it must end within 600 s on two cores with three seeds. Memory is the peak
of Python's allocations (tracemalloc) for 6, 12 and 24 simulated hours; flat means that the last is hardly more than
the first.
"""

import argparse
import json
import os
import statistics
import time
import tracemalloc
from collections.abc import Sequence

from gesscale.policies import policy_names
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.runner import run_case
from testbed.arena.runs.case_runner import run_locally

POLICIES = tuple(policy_names())
HOURS = 48


def long_run(hours: int) -> Experiment:
    """Return one operator on ten nodes, a period of 60 s, four long sines."""
    nodes = {"generated": {"kind": "uniform", "low_ms": 0, "high_ms": 300, "per_seed": False}, "count": 10}
    changes = {"name": "long", "workloads": [f"sine:{15 * hours}"], "nodes": nodes, "seeds": 1}
    return read_experiment("standard").changed(changes, "this benchmark")


def cpu_s(experiment: Experiment, policy: str) -> float:
    case = Case(workload=experiment.workloads[0], seed=experiment.seed_list[0], policy=policy)
    began_s = time.process_time()
    result = run_case(experiment, case)
    assert not result.lost, result.lost
    return time.process_time() - began_s


def spread(values: Sequence[float]) -> dict[str, float]:
    figures = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: round(value, 3) for name, value in figures.items()}


def simulations(runs: int) -> dict[str, object]:
    experiment = long_run(HOURS)
    for policy in POLICIES:
        cpu_s(experiment, policy)  # imports, files and caches
    took = {policy: [] for policy in POLICIES}
    for _ in range(runs):
        for policy in POLICIES:
            took[policy].append(cpu_s(experiment, policy))
    base = statistics.median(took["static"])
    return {
        policy: {"cpu_s": spread(each), "ratio_to_static": round(statistics.median(each) / base, 2)}
        for policy, each in took.items()
    }


def memory_mb(policy: str) -> dict[str, float]:
    most = {}
    for hours in (6, 12, 24):
        experiment = long_run(hours)
        cpu_s(experiment, policy)
        tracemalloc.start()
        cpu_s(experiment, policy)
        most[f"{hours} h"] = round(tracemalloc.get_traced_memory()[1] / 1e6, 2)
        tracemalloc.stop()
    return most


def comparison(name: str, seeds: int) -> dict[str, object]:
    experiment = read_experiment(name).changed({"seeds": seeds}, "this benchmark")
    lost: list[CaseResult] = []
    cases = experiment.cases()
    began_s = time.perf_counter()
    run_locally(
        experiment,
        cases,
        jobs=os.cpu_count() or 1,
        done=lambda result: lost.append(result) if result.lost else None,
        run_case=run_case,
    )
    took_s = time.perf_counter() - began_s
    return {
        "policies": len(experiment.policies),
        "workloads": len(experiment.workloads),
        "seeds": seeds,
        "cases": len(cases),
        "lost": len(lost),
        "seconds": round(took_s, 1),
        "seconds_per_case_and_core": round(took_s * (os.cpu_count() or 1) / len(cases), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--experiment", default="edge")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    result: dict[str, object] = {
        "simulated_hours": HOURS,
        "runs": asked.runs,
        "simulations": simulations(asked.runs),
        "most_memory_mb": {policy: memory_mb(policy) for policy in ("static", "gesscale")},
    }
    if asked.seeds:
        result["comparison"] = comparison(asked.experiment, asked.seeds)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
