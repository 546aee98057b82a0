"""Measures how often the 90 % interval of each law contains the truth of a placement that was never held before.

Run ``python benchmarks/model_coverage.py [--seeds 40] [--placements 10]``. It prints JSON: for each source and law the
predictions, the share within the interval, below and above it, the mean and median absolute error and the median half
width, per cent. Sources:

- ``map``, ``group-by``: operators with the simulator's batches walk over placements on maps of 1 to 300 ms, mostly the
  nearest nodes of another number of replicas, sometimes others. Each runs 10 to 40 batches, saturated in a third of the
  cases. The truth is the rate of full batches without noise.
- ``recorded``: the warm batches of tests/data/records; the truth is the time of the batches of a new placement.
- ``readings map``, ``readings groupby``: the points of tests/data/spark_saturation_readings.csv in random orders.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from gesscale.cli.model_readings import fitted, point_of, read_readings
from gesscale.model.observation import Batch
from gesscale.policies.gesscale.analysis.capacity import max_trips_ms
from latency_map import DelayKind, DelayUnit, LatencyMap
from latency_map.generate import Clusters, Span, generate_clustered, node_names
from perfmodel import BatchEvidence, BatchSample, CapacityModel, Points, Reading, fit_model, learned
from testbed.simulator.fog import Fog
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import ExecutorSet, factors, mean_batch_s, run_batch
from testbed.simulator.spark.constants import SparkPhysics, read_physics
from testbed.simulator.validation.recorded_run import read_run

DATA = Path(__file__).parents[1] / "tests" / "data"
NODES, CAP_ROWS, TRIGGER_S = 8, 3000, 2.0
PHYSICS = ("map", "group-by")
WHERE = ("batch_rows=12000", "tasks=replicas", "host_cpu<0.9")

#: Truth, low, mid and high of a prediction.
Prediction = tuple[float, float, float, float]
Found = defaultdict[str, list[Prediction]]


def walk(physics: SparkPhysics, seed: int, placements: int, found: Found) -> None:
    """Walk over placements; predict each new one before its first batch."""
    rng = np.random.default_rng(seed)
    names = node_names(NODES)
    apart = Span(low_ms=1, high_ms=300)
    rtt_ms = generate_clustered(rng, NODES, Clusters(count=4, within=apart, between=apart))
    delays = LatencyMap.from_delays(names, rtt_ms, unit=DelayUnit.MS, kind=DelayKind.RTT)
    fog = Fog({name: SimulatedNode(name=name) for name in names}, delays)
    nearest = [names[at] for at in np.argsort(delays.rtt_ms[0])]
    readings: list[Reading] = []
    evidence, at_s, count, held = BatchEvidence(), 0.0, 1, set()
    for _ in range(placements):
        count = int(np.clip(count + rng.integers(-2, 3), 1, NODES))
        nodes = tuple(sorted(nearest[:count] if rng.random() < 0.7 else rng.permutation(names)[:count].tolist()))
        executors = ExecutorSet.of(nodes, names[0], fog)
        cap = CAP_ROWS * count
        driver_ms, pair_ms = 1000 * executors.farthest_s, 1000 * executors.apart_s
        point = Points.of(count, driver_ms, pair_ms=pair_ms, cap_rows=cap, trigger_s=TRIGGER_S)
        if nodes not in held:
            note(
                fit_model(readings, evidence), point, cap / max(TRIGGER_S, mean_batch_s(physics, executors, cap)), found
            )
        held.add(nodes)
        saturated = bool(rng.random() < 0.35)
        batch_factors, task_factors = factors(rng, physics.batch_noise), factors(rng, physics.task_noise)
        samples = []
        for _ in range(int(rng.integers(10, 40))):
            size = cap if saturated else float(round(cap * rng.uniform(0.1, 0.8)))
            seconds = run_batch(
                physics, executors, size, batch_factor=next(batch_factors), task_factors=task_factors,
                first_slot=int(rng.integers(count)),
            ).seconds  # fmt: skip
            at_s += max(seconds, TRIGGER_S)
            samples.append(BatchSample(size, seconds, count, count, driver_ms, pair_ms, at_s))
        evidence = learned(evidence, samples)
        if saturated:
            rate = sum(each.rows for each in samples) / sum(each.seconds for each in samples)
            readings.append(Reading(replicas=count, nd_max_ms=max(driver_ms, pair_ms), rows_per_s=rate, at_s=at_s))


def play(folder: Path, found: Found) -> None:
    """Learn from the batches of a recorded run; predict the mean batch of each new placement, as if it were the cap."""
    run = read_run(folder)
    evidence, held = BatchEvidence(), set()
    for nodes, group in groupby(run.warm_batches, lambda batch: batch.nodes):
        batches = list(group)
        driver_ms, pair_ms = max_trips_ms(nodes, run.operator.driver_node, run.delays)
        if nodes not in held and len(batches) >= 3:
            rows, seconds = means(batches)
            point = Points.of(len(nodes), driver_ms, pair_ms=pair_ms, cap_rows=rows, trigger_s=0.0)
            note(fit_model([], evidence), point, rows / seconds, found)
        held.add(nodes)
        conditions = len(nodes), len(nodes), driver_ms, pair_ms
        evidence = learned(evidence, (BatchSample(b.rows, b.seconds, *conditions, b.ended_at_s) for b in batches))


def means(batches: list[Batch]) -> tuple[float, float]:
    """Return the mean rows and seconds of batches, weighted by their rows."""
    rows, seconds = (np.array([getattr(batch, name) for batch in batches], dtype=float) for name in ("rows", "seconds"))
    return float(np.average(rows, weights=rows)), float(np.average(seconds, weights=rows))


def deal(query: str, seeds: int, found: Found) -> None:
    """Take the readings of a query in random orders; predict each from the third on."""
    where = [f"query={query}", *WHERE]
    readings, _ = read_readings(DATA / "spark_saturation_readings.csv", where, [])
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(readings)).tolist()
        for count in range(2, len(order)):
            each = readings[order[count]]
            model = fitted([readings[at] for at in order[:count]], "auto")
            note(model, point_of(each.replicas, each.nd_max_ms, None, each.batch_rows), each.rows_per_s, found)


def note(model: CapacityModel | None, point: Points, truth: float, found: Found) -> None:
    """Append a prediction of each law, of Eq. 1 if it has two conditions, and of the law in use."""
    if model is None:
        return
    for name, law in (("eq1", model.eq1), ("batch-time", model.batch_time), ("in use", model.used)):
        if law is not None and (law is not model.eq1 or len(model.eq1.conditions) > 1):
            estimate = law.predict(point).at(0)
            found[name].append((truth, estimate.low, estimate.mid, estimate.high))


def figures(found: list[Prediction]) -> dict[str, float]:
    """Return the figures of one law."""
    truth, low, mid, high = np.array(found).T
    errors = np.abs(mid / truth - 1)
    shares = {
        "within_pct": ((low <= truth) & (truth <= high)).mean(),
        "below_pct": (truth < low).mean(),
        "above_pct": (truth > high).mean(),
        "error_mean_pct": errors.mean(),
        "error_median_pct": np.median(errors),
        "half_width_median_pct": np.median((high - low) / 2 / mid.clip(1)),
    }
    return {"predictions": len(truth), **{name: round(100 * float(share), 1) for name, share in shares.items()}}


def sources(seeds: int, placements: int) -> Iterator[tuple[str, Found]]:
    """Yield each source with its predictions."""
    for name in PHYSICS:
        found: Found = defaultdict(list)
        for seed in range(seeds):
            walk(read_physics(name), seed, placements, found)
        yield name, found
    found = defaultdict(list)
    for folder in sorted(path.parent for path in DATA.glob("records/*/batches.jsonl")):
        play(folder, found)
    yield "recorded", found
    for query in ("map", "groupby"):
        found = defaultdict(list)
        deal(query, seeds // 2, found)
        yield f"readings {query}", found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--placements", type=int, default=10)
    asked = parser.parse_args()
    found = {
        source: {law: figures(each) for law, each in laws.items()}
        for source, laws in sources(asked.seeds, asked.placements)
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
