"""Compares the simulator's constants `map` and `group-by` with the readings that they were fitted to.

Run ``python benchmarks/simulator_readings.py [FILE.csv]``. It prints JSON: the errors of the bundled constants, and
those of constants fitted without the predicted readings, once for each round trip and each number of replicas.
"""

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from latency_map import LatencyMap
from testbed.simulator.fog import Fog
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import ExecutorSet
from testbed.simulator.spark.constants import SparkPhysics, read_physics
from testbed.simulator.validation.batches import BatchErrors, MeasuredBatch, batch_errors
from testbed.simulator.validation.refit import fit_constants

READINGS = Path(__file__).parents[1] / "tests" / "data" / "spark_saturation_readings.csv"
BUSY = 0.9
"""Above this CPU use of the machine, readings reflect the machine instead of the emulated nodes."""

FITTED = {
    "map": ("fixed_s", "task_s", "service_ms_per_row", "driver_round_trips", "wave_round_trips"),
    "group-by": ("fixed_s", "service_ms_per_row", "driver_round_trips", "state_round_trips"),
}
"""Constants that are fitted for each query; the others do not change."""

QUERIES = {"map": "map", "groupby": "group-by"}


def read_readings(file: Path) -> dict[str, list[tuple[MeasuredBatch, bool]]]:
    """Return the batches by constants, and whether the machine was busy; all nodes were one round trip apart."""
    measured = defaultdict(list)
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            names = ("driver", *(f"node{index}" for index in range(int(row["replicas"]))))
            rtt_ms = np.full((len(names), len(names)), float(row["nd_max_ms"]))
            np.fill_diagonal(rtt_ms, 0.0)
            delays = LatencyMap(names=names, rtt_ms=rtt_ms)
            fog = Fog({name: SimulatedNode(name=name) for name in names}, delays)
            batch = MeasuredBatch(
                executor_set=ExecutorSet.of(names[1:], "driver", fog, None),
                rows=float(row["batch_rows"]),
                seconds=float(row["batch_ms"]) / 1000,
                tasks=int(row["tasks"]),
            )
            measured[QUERIES[row["query"]]].append((batch, float(row["host_cpu"]) >= BUSY))
    return dict(measured)


def held_out_errors(
    physics: SparkPhysics, names: Sequence[str], measured: Sequence[MeasuredBatch]
) -> dict[str, BatchErrors]:
    """Fit without all batches of one round trip, or of one number of replicas, and predict these."""
    found = {}
    kinds = (lambda item: f"{1000 * item.executor_set.farthest_s:.0f} ms", lambda item: f"n = {item.replicas}")
    for kind in kinds:
        for left_out in sorted({kind(item) for item in measured}, key=lambda label: (len(label), label)):
            known = [item for item in measured if kind(item) != left_out]
            if len(known) >= len(names):
                fitted, _ = fit_constants(physics, names, known)
                found[left_out] = batch_errors(fitted, [item for item in measured if kind(item) == left_out])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=READINGS)
    found = {}
    for name, batches in read_readings(parser.parse_args().file).items():
        physics = read_physics(name)
        every, calm = [batch for batch, _ in batches], [batch for batch, busy in batches if not busy]
        held_out = held_out_errors(physics, FITTED[name], calm)
        found[name] = {
            "all": asdict(batch_errors(physics, every)),
            "calm": asdict(batch_errors(physics, calm)),
            "held_out": {label: asdict(errors) for label, errors in held_out.items()},
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
