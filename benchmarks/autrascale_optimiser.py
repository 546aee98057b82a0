"""Counts the changes of AuTraScale+ by origin: throughput step, bootstrap, Bayesian optimisation, backlog step.

Run ``python benchmarks/autrascale_optimiser.py EXPERIMENT [--workload NAME]... [--variants NAME]... [--seeds 1]``. It
prints a line of JSON for each run of `autrascale`: its changes by origin, its vectors, each after the second
of its order, and its replicas at the end.
"""

import argparse
import json
from collections import Counter

from gesscale.model.decision import Decision
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.runner import run_case

ORIGINS = {
    "backlog step": "backlog",
    "by expected improvement, from another rate too": "transfer",
    "by expected improvement": "improvement",
    "a bootstrap sample with a good estimate": "estimate",
    "a bootstrap sample": "bootstrap",
    "the best trial": "best trial",
    "latency step": "other",
}


def origin(detail: str) -> str:
    return next((name for text, name in ORIGINS.items() if text in detail), "throughput")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment")
    parser.add_argument("--workload", action="append")
    parser.add_argument("--variants", action="append")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    experiment = read_experiment(given.experiment)
    experiment = experiment.model_copy(update={"policies": ("autrascale",)})
    for case in experiment.cases():
        wanted = given.variants is None or case.variant in given.variants
        loads = given.workload is None or any(case.workload.endswith(name) for name in given.workload)
        if not (wanted and loads and case.seed in experiment.seed_list[: given.seeds]):
            continue
        origins: Counter[str] = Counter()
        placed: dict[str, int] = {}
        vectors: list[tuple[int, ...]] = []

        def on_decisions(
            decisions: tuple[Decision, ...],
            origins: Counter[str] = origins,
            placed: dict[str, int] = placed,
            vectors: list[tuple[int, ...]] = vectors,
        ) -> None:
            if any(each.acted for each in decisions):
                origins[origin(decisions[0].analysis.detail)] += 1
            placed.update((each.operator, len(each.plan.placement)) for each in decisions)
            if not vectors or vectors[-1][1:] != tuple(placed.values()):
                vectors.append((round(decisions[0].at_s), *placed.values()))

        result = run_case(experiment, case, on_decisions=on_decisions)
        row = {"workload": case.workload.rsplit("/", 1)[-1], "variant": case.variant, "seed": case.seed}
        metrics = {name: result.metrics.get(name) for name in ("cost", "latency_p95_s", "final_replicas")}
        print(json.dumps({**row, "origins": dict(origins), "vectors": vectors, **metrics}), flush=True)


if __name__ == "__main__":
    main()
