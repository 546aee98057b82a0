"""What warming a new replica gains: the longest output gap at a scale-up, in normal batches of the same run.

    python benchmarks/warm_replicas.py --measure none --measure daemon --measure plugin --measure all

Each measure has a query of its own on emulated nodes, at a steady load. A replica is added and removed some times.
The JVM of a new replica competes for the machine's cores; the emulated capacity (a service time per row)
does not show that.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from gesscale.spark.warm_up import warm_up_settings
from testbed.cluster import lifecycle, state
from testbed.cluster.processes import Role, stop
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import read_topology

MEASURES = ("none", "archive", "daemon", "plugin", "all")
PROGRAM = """
import json, sys, time
from pyspark.sql import SparkSession

def work(frames):
    for frame in frames:
        time.sleep(len(frame) * 0.005)
        yield frame

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 400).option("numPartitions", 4).load()
query = rows.mapInPandas(work, rows.schema).writeStream.format("noop").trigger(processingTime="2 seconds").start()
seen = -1
while query.isActive:
    for each in query.recentProgress:
        if each["batchId"] > seen:
            seen = each["batchId"]
            print("BATCH", json.dumps([seen, time.time(), each["durationMs"]["triggerExecution"] / 1000]), flush=True)
    time.sleep(0.05)
"""


def settings_of(measure: str) -> dict[str, str]:
    every = warm_up_settings()
    if measure in {"none", "archive"}:
        return {}
    names = {
        "daemon": {"spark.python.daemon.module"},
        "plugin": every.keys() - {"spark.python.daemon.module"},
    }
    return {name: value for name, value in every.items() if name in names.get(measure, every.keys())}


def batches(log: Path) -> list[tuple[int, float, float]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [tuple(json.loads(line.split(" ", 1)[1])) for line in lines if line.startswith("BATCH ")]


def await_batches(log: Path, more: int, limit_s: float = 60.0) -> None:
    wanted, deadline = len(batches(log)) + more, time.monotonic() + limit_s
    while len(batches(log)) < wanted and time.monotonic() < deadline:
        time.sleep(0.2)


def scale_up(spark: LocalSpark, log: Path) -> dict[str, float]:
    before = batches(log)
    normal_s = statistics.median(
        later[1] - sooner[1] for sooner, later in zip(before[-6:], before[-5:], strict=False)
    )
    ordered = time.time()
    started = spark.start_replicas(["b"])
    spark.await_replicas(started)
    registered = time.time()
    await_batches(log, 5)
    ends = [end for _, end, _ in batches(log) if end > ordered - 2 * normal_s]
    gap = max(later - sooner for sooner, later in pairwise(ends))
    stop(started, grace_s=5.0)
    await_batches(log, 4)
    return {"gap_ratio": gap / normal_s, "normal_s": normal_s, "registered_s": registered - ordered}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="append", choices=MEASURES)
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    for measure in arguments.measure or MEASURES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            os.environ[state.STATE_ROOT] = str(folder / "state")
            os.environ["XDG_CACHE_HOME"] = (
                str(folder)
                if measure not in {"archive", "all"}
                else os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
            )
            (folder / "map.csv").write_text(",a,b\na,0,3\nb,3,0\n")
            (folder / "topology.yaml").write_text(
                "name: warm\nlatency: {file: map.csv, unit: ms, kind: rtt}\ndriver_node: a\nsubnet: 10.77.213.0/24\n"
            )
            (folder / "program.py").write_text(PROGRAM)
            topology = read_topology(str(folder / "topology.yaml"))
            lifecycle.up(topology, source="benchmark")
            try:
                spark = open_spark(topology, "warm")
                spark.start_driver((str(folder / "program.py"),), settings=settings_of(measure))
                spark.await_driver(90)
                spark.await_replicas(spark.start_replicas(["a"]))
                log = spark.log(Role.DRIVER, "a")
                await_batches(log, 8, 90)
                for _ in range(arguments.times):
                    print(json.dumps({"measure": measure, **scale_up(spark, log)}), flush=True)
                said = spark.log(Role.EXECUTOR, "b").read_text().splitlines()
                print(*[line for line in said if "gesscale" in line][:6], sep="\n", flush=True)
                print(*[line for line in log.read_text().splitlines() if "rror" in line][:5], sep="\n")
            finally:
                lifecycle.down("warm")


if __name__ == "__main__":
    main()
