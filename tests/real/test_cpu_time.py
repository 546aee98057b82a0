"""CPU time of tasks on a real Spark: work in the JVM counts, sleeping does not."""

import json
import statistics
import subprocess
import sys

import pytest

pytestmark = pytest.mark.real

PROGRAM = """
import json, time
from urllib.request import urlopen
from gesscale.spark import attach
from testbed.pipeline.session import open_session

def naps(batches):
    for batch in batches:
        time.sleep(1.0)
        yield batch

def hashed(rows, times):
    return rows.selectExpr(f"aggregate(sequence(1, {times}), value, (a, x) -> xxhash64(a, x)) AS value")

spark = open_session("trial")
kinds = {
    "hash": lambda rows: hashed(rows, 400),
    "hash more": lambda rows: hashed(rows, 1600),
    "sleep": lambda rows: rows.select("value").mapInArrow(naps, "value long"),
}
pages = {}
for kind, work in kinds.items():
    attachment = attach(spark, operator="trial", port=0, cap_rows=10000)
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10000).option("numPartitions", 2).load()
    query = work(rows).writeStream.format("noop").start()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.3)
        with urlopen(attachment.url + "/batches", timeout=60) as response:
            pages[kind] = json.load(response)["batches"]
        if sum(batch["by_host"] is not None for batch in pages[kind]) >= 7:
            break
    query.stop()
    attachment.close()
print("RESULT " + json.dumps(pages))
spark.stop()
"""


def test_work_in_the_jvm_counts_and_sleeping_does_not():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600, check=False)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")] or [done.stderr[-3000:]]
    pages = json.loads(line.removeprefix("RESULT "))
    works = {
        kind: [work for batch in batches[2:] for work in (batch["by_host"] or {}).values()]
        for kind, batches in pages.items()
    }
    assert all(0 < work["cpu_s"] <= 1.1 * work["busy_s"] for each in works.values() for work in each)
    cpu_s = {kind: statistics.median(work["cpu_s"] for work in each) for kind, each in works.items()}
    # Four times the hashes take four times the CPU, whatever else runs on the machine.
    assert 2 * cpu_s["hash"] < cpu_s["hash more"] < 8 * cpu_s["hash"]
    assert cpu_s["sleep"] < 0.2 * statistics.median(work["busy_s"] for work in works["sleep"])
