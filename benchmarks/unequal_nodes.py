"""Measures the cost of unequal nodes for a map by the split of batches, on the local cluster: a Pi 3, a Pi 4 and a NUC.

One saturated query after the other on the same three executors, whose nodes have weights 0.5, 1 and 4, or, "equal",
1.83 each, with the same total. A line of JSON for each case; "cost" is its median batch over that of the equal nodes
with one task each, less one. Splits:

- "even-K": K equal tasks for each slot; "even-1" is Spark's default;
- "slots": executors of 1, 2 and 8 slots, in proportion to the weights, and an equal task for each;
- "weights": a task for each slot, as long as a node's weight; Spark assigns it to any slot, as a Python source cannot
  state a preferred location;
- "given" and "learned": `testbed.pipeline.schedule.split_by_speed` with given speeds, and with those observed in
  batches.

    python benchmarks/unequal_nodes.py --cases equal:even-1,unequal:even-1,unequal:learned --seconds 5 --rounds 2
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulated.nodes import append_result, driver_document, emulated_nodes

from testbed.cluster import processes
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.pipeline.replay import ReplayOptions, ReplayReader, RideRange, RideReplay
from testbed.pipeline.schedule import split_by_speed, split_rows

WEIGHTS = {"pi3": 0.5, "pi4": 1.0, "nuc": 4.0}
SLOTS = {"pi3": 1, "pi4": 2, "nuc": 8}
MAP = ",nuc,pi4,pi3\nnuc,0,8,20\npi4,8,0,12\npi3,20,12,0\n"
TOPOLOGY = (
    "name: unequal\nlatency: {file: map.csv, unit: ms, kind: rtt}\ndriver_node: nuc\nsubnet: 10.77.217.0/24\n"
    "node_classes: {nuc: nuc, pi4: pi4, pi3: pi3}\n"
)
PORT, SERVICE_S = 9108, 0.002
BATCHES, WITHIN_S = 4, 240.0


def split(way: str, start: int, end: int, learned_share: float) -> list[tuple[int, int]]:
    """Return the ranges of a batch's tasks."""
    total = sum(WEIGHTS.values())
    if way == "weights":
        edges = [start]
        for weight in WEIGHTS.values():
            edges.append(edges[-1] + round((end - start) * weight / total))
        return list(zip(edges[:-1], [*edges[1:-1], end], strict=True))
    if way == "slots":
        return split_rows(start, end, sum(SLOTS.values()))
    if way == "given":
        return split_by_speed(start, end, len(WEIGHTS), min(WEIGHTS.values()) / total)
    if way == "learned":
        return split_by_speed(start, end, len(WEIGHTS), learned_share)
    return split_rows(start, end, len(WEIGHTS) * int(way.removeprefix("even-")))


def source(way: str) -> type[RideReplay]:
    """Return the replay of rides with another split of batches."""

    class Reader(ReplayReader):
        def partitions(self, start: dict[str, int], end: dict[str, int]) -> Any:
            share = self._replicas.slowest_share() if way == "learned" else 1.0
            ranges = split(way, start["rows"], end["rows"], share)
            first_s = float(self._plan().pickup_s[0])
            return [RideRange(low, high, first_s) for low, high in ranges]

    class Source(RideReplay):
        @classmethod
        def name(cls) -> str:
            return f"rides-{way}"

        def streamReader(self, schema: Any) -> Reader:  # noqa: ARG002, N802 - Spark's signature
            return Reader(ReplayOptions.parse(self.name(), dict(self.options)))

    return Source


def work(is_equal: bool) -> Any:
    """Return the demo's map; "equal" nodes all have the time of the mean weight."""
    from testbed.pipeline.operator import WEIGHT_VARIABLE, append_nearest

    mean = sum(WEIGHTS.values()) / len(WEIGHTS)

    def append(frames: Any) -> Any:
        own = float(os.environ[WEIGHT_VARIABLE])
        yield from append_nearest(SERVICE_S * own / mean if is_equal else SERVICE_S)(frames)

    return append


def drive(cases: list[str], rows: int, folder: Path, rides: Path) -> None:
    """Run the cases in this process, the driver, each until its file marks the end."""
    from gesscale.spark import attach
    from testbed.pipeline.operator import OUTPUT_SCHEMA
    from testbed.pipeline.session import open_session

    spark = open_session("unequal")
    attachment = attach(spark, operator="unequal", port=PORT, cap_rows=rows)
    for number, case in enumerate(cases):
        nodes, way = case.split(":")
        made = source(way)
        spark.dataSource.register(made)
        options = {
            "path": rides, "copies": 200, "start_at": 0, "cap_rows": rows, "replicas_url": f"{attachment.url}/replicas"
        }  # fmt: skip
        read = spark.readStream.format(made.name()).options(**{k: str(v) for k, v in options.items()}).load()
        running = (
            read.mapInPandas(work(nodes == "equal"), OUTPUT_SCHEMA)
            .writeStream.queryName(f"case-{number}")
            .format("noop")
            .option("checkpointLocation", str(folder / f"case-{number}"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        while running.isActive and not (folder / f"case-{number}.over").exists():
            time.sleep(0.2)
        running.stop()
    spark.stop()


def measured(number: int, case: str, address: str) -> dict[str, Any]:
    """Wait for the batches of a case, and return their durations without the first ones."""
    first = 4 if case.endswith("learned") else 1
    deadline_s, batches = time.monotonic() + WITHIN_S, []
    while time.monotonic() < deadline_s and len(batches) < first + BATCHES:
        document = driver_document(address, PORT)
        batches = document["batches"] if document.get("query") == f"case-{number}" else []
        time.sleep(0.5)
    if len(batches) <= first:
        sys.exit(f"{case}: expected {first + BATCHES} batches within {WITHIN_S:g} s, got {len(batches)}")
    seconds = [batch["seconds"] for batch in batches[first : first + BATCHES]]
    last = batches[-1]["by_host"] or {}
    return {
        "median_s": round(statistics.median(seconds), 3),
        "least_s": min(seconds),
        "most_s": max(seconds),
        "rows": [work["rows"] for _, work in sorted(last.items())],
        "load": os.getloadavg()[0],
    }


def start_executors(spark: LocalSpark, slots: Mapping[str, int]) -> None:
    """Replace the executors by new ones, with these slots."""
    processes.stop(spark.running(Role.EXECUTOR), grace_s=5.0)
    nodes = tuple(replace(node, slots=slots.get(node.name, 1)) for node in spark.topology.nodes)
    new = replace(spark, topology=replace(spark.topology, nodes=nodes))
    new.await_replicas(new.start_replicas(list(WEIGHTS)), timeout_s=90.0)


def main() -> None:
    """Measure the cases, or run them as the driver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, help="NODES:SPLIT; NODES: equal or unequal")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of a batch on ideal nodes")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--drive", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    cases = given.cases.split(",") * given.rounds
    rows = round(given.seconds / SERVICE_S * sum(WEIGHTS.values()))
    if given.drive is not None:
        drive(cases, rows, *given.drive)
        return
    from testbed.demo.taxi import prepare_rides
    from testbed.live.scenario import RIDES
    from testbed.pipeline.rides import bundled_demand

    rides = prepare_rides(bundled_demand(), RIDES.share, RIDES.copies, lambda _: None).folder.resolve()
    with emulated_nodes(TOPOLOGY, MAP) as (topology, folder):
        spark = open_spark(topology, "unequal")
        words = ("--cases", given.cases, "--rounds", given.rounds, "--seconds", given.seconds)
        program = (Path(__file__).resolve(), *words, "--drive", folder, rides)
        path = str(Path(__file__).resolve().parents[1])
        spark.start_driver(tuple(map(str, program)), environment={"PYTHONPATH": path})
        spark.await_driver(120.0)
        have: Mapping[str, int] | None = None
        found: dict[str, list[dict[str, Any]]] = {}
        for number, case in enumerate(cases):
            slots = SLOTS if case.endswith(":slots") else {}
            if slots != have:
                start_executors(spark, have := slots)
            found.setdefault(case, []).append(measured(number, case, topology.driver.address))
            (folder / f"case-{number}.over").touch()
            sys.stderr.write(f"{case} {found[case][-1]}\n")
    equal_s = statistics.median(each["median_s"] for each in found.get("equal:even-1", [{"median_s": float("nan")}]))
    for case, rounds in found.items():
        median_s = statistics.median(each["median_s"] for each in rounds)
        append_result(
            {
                "case": case,
                "seconds": given.seconds,
                "median_s": median_s,
                "cost": round(median_s / equal_s - 1, 3),
                "rounds": rounds,
            },
            given.output,
        )


if __name__ == "__main__":
    main()
