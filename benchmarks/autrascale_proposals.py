"""Measures the time of one proposal of AuTraScale+'s latency step by the number of operators (V-F of its paper).

Run ``python benchmarks/autrascale_proposals.py [--runs 15]``. It prints JSON: processor time of one thread,
in seconds, median of the runs with minimum and maximum, and the median's ratio to the baseline, which is Algorithm 1
with two operators in the same run.

Each operator needs at least 2 replicas and may have 40; its batches take time in inverse proportion to them. Algorithm
1 fits a Gaussian process to the bootstrap samples and looks for the largest expected improvement. Algorithm 2 does so
from a process of another rate and three new samples.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from testbed.baselines.autrascale.search import (
    GaussianProcess,
    Replicas,
    SearchSpace,
    benefit,
    next_trial,
    transfer_posterior,
)

OPERATORS = (2, 4, 6, 8, 10)
MIN_REPLICAS, MAX_REPLICAS = 2, 40
UNIFORM, NEW_SAMPLES = 10, 3
BATCH_S, TARGET_S = 10.0, 6.0
"""Latency of an operator with the fewest replicas, and the target per operator (mean over a workflow); seconds."""
MARGIN, WEIGHT = 0.01, 0.8


def score(replicas: Replicas, cost: float) -> float:
    latency_s = cost * sum(BATCH_S * MIN_REPLICAS / count for count in replicas)
    return benefit(replicas, (MIN_REPLICAS,) * len(replicas), latency_s, TARGET_S * len(replicas), WEIGHT)


def scores(configurations: list[Replicas], cost: float = 1.0) -> np.ndarray:
    return np.array([score(replicas, cost) for replicas in configurations])


def algorithm_1(space: SearchSpace) -> None:
    samples = list(space.bootstrap(UNIFORM))
    belief = GaussianProcess.fitted(space.scaled(samples), scores(samples), 0)
    measured = list(zip(samples, scores(samples).tolist(), strict=True))
    assert next_trial(space, belief, measured, margin=MARGIN, rng=np.random.default_rng(0))


def algorithm_2(space: SearchSpace) -> None:
    old = list(space.bootstrap(UNIFORM))
    new = space.sample(NEW_SAMPLES, np.random.default_rng(1))
    belief = transfer_posterior(
        GaussianProcess.fitted(space.scaled(old), scores(old), 0),
        len(old),
        space.scaled(new),
        scores(new, cost=1.3),
        0,
        WEIGHT,
    )
    measured = list(zip(new, scores(new, cost=1.3).tolist(), strict=True))
    assert next_trial(space, belief, measured, margin=MARGIN, rng=np.random.default_rng(0))


def cpu_s(work: Callable[[SearchSpace], None], space: SearchSpace) -> float:
    began_s = time.process_time()
    work(space)
    return time.process_time() - began_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    asked = parser.parse_args()
    spaces = {count: SearchSpace((MIN_REPLICAS,) * count, (MAX_REPLICAS,) * count) for count in OPERATORS}
    algorithms = {"algorithm_1": algorithm_1, "algorithm_2": algorithm_2}
    took = {(name, count): [] for name in algorithms for count in OPERATORS}
    with threadpool_limits(1):
        for work in algorithms.values():
            work(spaces[2])  # imports and caches
        for _ in range(asked.runs):
            for (name, count), each in took.items():
                each.append(cpu_s(algorithms[name], spaces[count]))
    base = statistics.median(took["algorithm_1", 2])
    table = {
        name: {
            count: {
                "median_s": round(statistics.median(took[name, count]), 3),
                "least_s": round(min(took[name, count]), 3),
                "greatest_s": round(max(took[name, count]), 3),
                "ratio": round(statistics.median(took[name, count]) / base, 2),
            }
            for count in OPERATORS
        }
        for name in algorithms
    }
    print(json.dumps({"runs": asked.runs, **table}, indent=2))


if __name__ == "__main__":
    main()
