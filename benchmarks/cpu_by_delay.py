"""Measures the CPU that a driver reports, by delay, on the local cluster: two executors hash and count groups.

A line of JSON for each delay, means over the batches after the first two: seconds of a batch, and per executor the time
with a task, the reported CPU time, and the ratio of both.

    python benchmarks/cpu_by_delay.py --batches 3
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from emulated.nodes import append_result, driver_document, emulated_nodes

from testbed.cluster import processes
from testbed.cluster.processes import Role
from testbed.cluster.spark import open_spark
from testbed.pipeline.session import open_session

PLACES = {"1 ms": ("n1", "n2"), "300 ms": ("f1", "f2")}
MAP = (
    ",hub,n1,n2,f1,f2\nhub,0,1,1,300,300\nn1,1,0,1,300,300\nn2,1,1,0,300,300\n"
    "f1,300,300,300,0,300\nf2,300,300,300,300,0\n"
)
TOPOLOGY = (
    "name: cpudelay\nlatency: {file: map.csv, unit: ms, kind: rtt}\ndriver_node: hub\nsubnet: 10.77.218.0/24\n"
    "node_classes: {hub: nuc}\n"
)
PORT, ROWS, WITHIN_S = 9108, 40_000, 120.0


def drive(folder: Path) -> None:
    """Run the query in this process, the driver."""
    from gesscale.spark import attach

    spark = open_session("cpu")
    attach(spark, operator="cpu", port=PORT, cap_rows=ROWS)
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2).load()
    hashed = rows.selectExpr("aggregate(sequence(1, 600), value, (a, x) -> xxhash64(a, x)) AS value")
    groups = hashed.selectExpr("value % 10 AS key").groupBy("key").count()
    query = groups.writeStream.outputMode("update").format("noop").trigger(processingTime="0 seconds")
    query.option("checkpointLocation", str(folder / "query")).start().awaitTermination()


def measured(address: str, hosts: set[str], batches: int) -> dict[str, Any]:
    """Wait for the batches on two hosts alone, and return means without the first two."""
    deadline_s, found = time.monotonic() + WITHIN_S, []
    while time.monotonic() < deadline_s and len(found) < batches:
        time.sleep(0.5)
        seen = driver_document(address, PORT).get("batches", ())
        found = [each for each in seen if each["by_host"] and set(each["by_host"]) == hosts][2:]
    works = [work for each in found for work in each["by_host"].values()]
    if not works:
        sys.exit(f"expected {batches} batches with the work of replicas within {WITHIN_S:g} s")
    busy_s, cpu_s = (statistics.mean(work[name] for work in works) for name in ("busy_s", "cpu_s"))
    batch_s = statistics.mean(each["seconds"] for each in found)
    shares = [work["cpu_s"] / work["busy_s"] for work in works]
    return {
        "batches": len(found), "batch_s": round(batch_s, 2), "busy_s": round(busy_s, 3), "cpu_s": round(cpu_s, 3),
        "cpu_to_busy": round(cpu_s / busy_s, 3), "least": round(min(shares), 3), "most": round(max(shares), 3),
        "cpu_share": round(cpu_s / batch_s, 3), "load": os.getloadavg()[0],
    }  # fmt: skip


def main() -> None:
    """Measure, or run as the driver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive is not None:
        drive(given.drive)
        return
    with emulated_nodes(TOPOLOGY, MAP) as (topology, folder):
        spark = open_spark(topology, "cpu")
        program = (str(Path(__file__).resolve()), "--drive", str(folder))
        spark.start_driver(program, environment={"PYTHONPATH": str(Path(__file__).resolve().parents[1])})
        spark.await_driver(120.0)
        for delay, nodes in PLACES.items():
            before = spark.running(Role.EXECUTOR)
            spark.await_replicas(spark.start_replicas(list(nodes)), timeout_s=90.0)
            processes.stop(before, grace_s=5.0)
            hosts = {each.address for each in topology.nodes if each.name in nodes}
            append_result({"delay": delay, **measured(topology.driver.address, hosts, given.batches)}, given.output)


if __name__ == "__main__":
    main()
