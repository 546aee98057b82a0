"""Simulates the cost of unequal nodes relative to equal ones of the same total speed, by the split of batches.

Six nodes: two like a Pi 3 (half the speed of a Pi 4), two like a Pi 4, two like a NUC (four times); equal ones have
1.83 each. "slots": executors of 1, 2 and 8 slots, as the speeds are, and an equal task for each. The same loads, in
rows per second, for all. A line of JSON for each case: the cost at a price of 10 and its parts, as means over loads and
seeds, and the ratio to equal nodes with even batches. "priced": as "slots", with prices; "blind": the same,
but the policy takes all prices as 1.

    python benchmarks/unequal_simulated.py --policies gesscale --seeds 100
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any
from unittest import mock

from gesscale.ports import ClusterState
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.runner import run_case
from testbed.arena.worlds.scenes import world_of

LOADS = "nyc:any,spikes,kanis-random,steps"
PEAK_ROWS_PER_S = 1500
WEIGHTS = {"edge1": 1.0, "edge2": 0.5, "edge3": 4.0, "edge4": 0.5, "edge5": 4.0, "edge6": 1.0}
SLOTS = {node: round(2 * weight) for node, weight in WEIGHTS.items()}
PRICES = {node: {0.5: 0.7, 1.0: 1.0, 4.0: 6.0}[weight] for node, weight in WEIGHTS.items()}
MEAN = sum(WEIGHTS.values()) / len(WEIGHTS)
NODES: Mapping[str, dict[str, Any]] = {
    "equal": {"nodes.weights": dict.fromkeys(WEIGHTS, MEAN)},
    "known": {"nodes.weights": WEIGHTS},
    "slots": {"nodes.weights": WEIGHTS, "nodes.slots": SLOTS},
    **{key: {"nodes.weights": WEIGHTS, "nodes.slots": SLOTS, "nodes.prices": PRICES} for key in ("priced", "blind")},
    "unknown": {"nodes.weights": WEIGHTS, "nodes.reported_weights": dict.fromkeys(WEIGHTS, 1.0)},
}
SPLITS: Mapping[str, dict[str, float]] = {"even": {}, "by speed": {"tasks_by_speed": 1}, "24 tasks": {"partitions": 24}}


def run_costs(
    nodes: str, split: str, policy: str, loads: list[str], seeds: list[int]
) -> list[tuple[float, float, float]]:
    """Return replica-minutes, late minutes and changes of every run."""
    changes = {
        "nodes.count": len(WEIGHTS), "operators.operator.max_replicas": len(WEIGHTS), "variants": {}, **NODES[nodes],
        "operators.operator.constants": SPLITS[split],
    }  # fmt: skip
    found = []
    for load in loads:
        for seed in seeds:
            case = Case(workload=load, seed=seed, policy=policy)
            plain = read_experiment("adversity").changed({**changes, "workloads": [load], "load_factor": 1.0})
            peak = max(world_of(plain, case).scene.workloads["operator"].rows_per_s)
            with mock.patch.object(ClusterState, "prices", {}) if nodes == "blind" else nullcontext():
                metrics = run_case(plain.changed({"load_factor": PEAK_ROWS_PER_S / peak}), case).metrics
            found.append(
                (
                    float(metrics["node_seconds"]) / 60,
                    float(metrics["lag_above_slo_s"]) / 60,
                    float(metrics["reconfigurations"]),
                )
            )
    return found


def main() -> None:
    """Run every case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default="gesscale")
    parser.add_argument("--loads", default=LOADS)
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--cases", default="", help="NODES:SPLIT,...; all by default")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    for policy in given.policies.split(","):
        equal = 0.0
        known = ((nodes, split) for nodes in ("known", "unknown") for split in SPLITS)
        cases = (("equal", "even"), *((nodes, "even") for nodes in ("slots", "priced", "blind")), *known)
        for nodes, split in (case for case in cases if ":".join(case) in given.cases.split(",") or not given.cases):
            runs = run_costs(nodes, split, policy, given.loads.split(","), seeds)
            replicas, late, changes = (statistics.mean(column) for column in zip(*runs, strict=True))
            cost = replicas + 10 * late + changes
            equal = equal or cost
            figures = {"replica_min": replicas, "late_min": late, "changes": changes, "total_cost": cost}
            line = {"policy": policy, "nodes": nodes, "split": split, **figures, "ratio": cost / equal}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
