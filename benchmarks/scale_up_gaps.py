"""Measures the gap in the output at a scale-up, with and without a warm-up of the new executor, on the local cluster.

A saturated query on two emulated nodes gets a third replica, loses it, and gets it again, several times: its batches
are full and follow one another. A line of JSON for each case:

- "gap": the longest time between the ends of two batches from the order to the full rate, in normal batches;
- "full_rate_s": from the order to the start of the first batch with the new replica that is at most 1.2 normal batches
  long. A normal batch is the median of the last five before the order.

The cap on a batch grows with the replicas, so that the new one's first batch has rows for one replica more; or it is
fixed, as Kafka's ``maxOffsetsPerTrigger``, so that each replica then has fewer rows.

    python benchmarks/scale_up_gaps.py --cases map:none,map:daemon,map:plugin,map:both,map:both:fixed --rounds 3
"""

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from emulated.nodes import append_result, driver_document, emulated_nodes

from gesscale.spark.warm_up import DAEMON, DAEMON_SETTING, PLUGINS_SETTING
from testbed.cluster import processes
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.demo.taxi import prepare_rides
from testbed.live.job_runner import module_command
from testbed.live.scenario import RIDES
from testbed.pipeline.rides import bundled_demand

FIRST, ADDED = ("home", "near"), "far"
TOPOLOGY = "name: gaps\nlatency: {file: map.csv, unit: ms, kind: rtt}\ndriver_node: home\nsubnet: 10.77.218.0/24\n"
PORT = 9108
SETTLED, AFTER, LONGER = 5, 3, 1.2
WITHIN_S = 300.0

MEASURES: Mapping[str, Mapping[str, str]] = {
    "none": {PLUGINS_SETTING: ""},
    "daemon": {PLUGINS_SETTING: "", "spark.python.daemon.module": DAEMON},
    "plugin": {DAEMON_SETTING: ""},
    "both": {},  # the test bed's default
}


def cap(rows_per_replica: int, kind: str) -> dict[str, object]:
    """Return the options for a cap proportional to the replicas, or for a fixed one of the initial replicas."""
    kinds: dict[str, dict[str, object]] = {
        "grows": {"cap-rows-per-replica": rows_per_replica},
        "fixed": {"cap-rows": rows_per_replica * len(FIRST)},
    }
    return kinds[kind]


def program(query: str, cap_kind: str, folder: Path, **more: object) -> tuple[str, ...]:
    """Return the driver's program: the test bed's program with more rows than it can process.

    Parameters
    ----------
    query
        "map" or a query of Nexmark.
    cap_kind
        See `cap`.
    folder
        Folder for checkpoint and output.
    more
        Additional options.
    """
    if query == "map":
        rides = prepare_rides(bundled_demand(), RIDES.share, RIDES.copies, lambda _: None).folder
        options = {
            "rides": rides.resolve(), "copies": 200, "start-at-s": 0, "to": folder / "sink", "operator": "gaps",
            "checkpoint": folder / "checkpoint", "trigger-s": 2.0, "metrics-port": PORT,
            "service-ms-per-row": RIDES.operators[0].service_ms_per_row, **cap(RIDES.cap_rows, cap_kind),
        }  # fmt: skip
        words = ("testbed.pipeline", "stream")
    else:
        options = {
            "folder": folder, "events": 10_000_000, "service-ms-per-row": 8.0, "metrics-port": PORT,
            **cap(300, cap_kind),
        }  # fmt: skip
        words = ("testbed.nexmark", "stream", query)
    return (*module_command(*words, options={**options, **more}), "--linger")


def batches(address: str) -> list[dict[str, Any]]:
    """Return the batches with rows."""
    return [batch for batch in driver_document(address, PORT).get("batches", []) if batch["rows"]]


def watched(address: str, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """Wait for enough batches and return them; after the timeout, those so far."""
    deadline_s, seen = time.monotonic() + WITHIN_S, []
    while time.monotonic() < deadline_s:
        seen = batches(address)
        if enough(seen):
            break
        time.sleep(0.3)
    return seen


def scale_up(address: str, new: str, order: Callable[[], object], *, settled_after_s: float) -> dict[str, Any]:
    """Order a replica on a host while batches are normal, and measure the effect.

    Parameters
    ----------
    address
        Address of the driver.
    new
        Host, with the driver's name for it.
    order
        Function that orders it and returns at once.
    settled_after_s
        Time before which batches are ignored.
    """

    def normal(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in seen if each["started_at_s"] > settled_after_s and new not in each["hosts"]]

    before = normal(watched(address, lambda seen: len(normal(seen)) > SETTLED))[-SETTLED - 1 :]
    if len(before) <= SETTLED:
        sys.exit(
            f"expected {SETTLED + 1} normal batches within {WITHIN_S:g} s, got {len(before)}: is this machine busy?"
        )
    normal_s = statistics.median(each["ended_at_s"] - last["ended_at_s"] for last, each in pairwise(before))
    ordered_at_s = time.time()
    order()

    def worked(batch: dict[str, Any]) -> bool:
        return batch["ended_at_s"] > ordered_at_s and (batch["by_host"] or {}).get(new, {}).get("rows", 0) > 0

    def full(seen: list[dict[str, Any]]) -> list[int]:
        return [
            number
            for number, (last, each) in enumerate(pairwise(seen), 1)
            if worked(each) and each["ended_at_s"] - last["ended_at_s"] <= LONGER * normal_s
        ]

    seen = watched(address, lambda seen: bool(full(seen)) and len(seen) > full(seen)[0] + AFTER)
    if not full(seen):
        sys.exit(f"{new} came to no full rate within {WITHIN_S:g} s: is this machine busy?")
    first = full(seen)[0]
    gaps = [
        each["ended_at_s"] - last["ended_at_s"]
        for last, each in pairwise(seen[: first + 1])
        if each["ended_at_s"] > ordered_at_s
    ]
    return {
        "normal_s": round(normal_s, 2),
        "gap_s": round(max(gaps), 2),
        "gap": round(max(gaps) / normal_s, 2),
        "first_rows_s": round(next(filter(worked, seen))["started_at_s"] - ordered_at_s, 2),
        "full_rate_s": round(seen[first]["started_at_s"] - ordered_at_s, 2),
        "load": round(os.getloadavg()[0], 1),
    }


def rounds_on(spark: LocalSpark, rounds: int) -> Iterator[dict[str, Any]]:
    """Add and remove the replica, several times."""
    new, settled_after_s = spark.topology.node(ADDED).address, time.time() + 12.0  # both replicas have worked
    for _ in range(rounds):
        yield scale_up(
            spark.topology.driver.address, new, lambda: spark.start_replicas([ADDED]), settled_after_s=settled_after_s
        )
        executors = [each for each in spark.running(Role.EXECUTOR) if each.mark.node == ADDED]
        processes.ask(executors, signal.SIGPWR)
        deadline_s = time.monotonic() + 30
        while time.monotonic() < deadline_s and set(executors) & set(spark.running(Role.EXECUTOR)):
            time.sleep(0.3)
        settled_after_s = time.time() + 3.0


def summary(case: Mapping[str, str], rounds: list[dict[str, Any]], output: Path | None) -> None:
    """Print a case, and add it to a file."""
    medians = {name: statistics.median(each[name] for each in rounds) for name in ("gap", "full_rate_s")}
    append_result({**case, **medians, "rounds": rounds}, output)


def main() -> None:
    """Measure the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cases",
        required=True,
        help="comma-separated QUERY:WARM_UP[:fixed]: map or a query of Nexmark; none, daemon, plugin or both; "
        "fixed for a cap that does not change with the replicas",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="file to which results are appended")
    given = parser.parse_args()
    for number, case in enumerate(given.cases.split(",")):
        query, measure, *more = case.split(":")
        cap_kind = more[0] if more else "grows"
        with emulated_nodes(TOPOLOGY) as (topology, folder):
            spark = open_spark(topology, f"gaps{number}")
            spark.start_driver(program(query, cap_kind, folder), settings=MEASURES[measure])
            spark.await_driver(120.0)
            spark.await_replicas(spark.start_replicas(FIRST), timeout_s=90.0)
            rounds = list(rounds_on(spark, given.rounds))
            spark.stop_driver()
        summary({"query": query, "measure": measure, "cap": cap_kind}, rounds, given.output)


if __name__ == "__main__":
    main()
