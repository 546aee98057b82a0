"""Each query of Nexmark as a stream with RocksDB state writes the rows that the same query gives as a batch."""

import json
import subprocess
import sys

import pytest

from testbed.nexmark.queries import QUERIES

pytestmark = pytest.mark.real

PROGRAM = """
import json, sys, tempfile, threading, time
from dataclasses import asdict
from pathlib import Path
from gesscale.spark.executors import JobWatch
from gesscale.spark.scheduler import SparkJobs
from testbed.nexmark.stream import compare
from testbed.nexmark.queries import QUERIES
from testbed.nexmark.source import NexmarkOptions
from testbed.nexmark.stream import is_complete, generate_events, open_nexmark_session, start_query

spark = open_nexmark_session("nexmark", 2)
source = NexmarkOptions(events=12_000, cap_rows=3000)
for query in QUERIES.values():
    folder = Path(tempfile.mkdtemp())
    running = start_query(query, generate_events(spark, source, None), folder, 0.2)
    deadline = time.monotonic() + 240
    while running.isActive and time.monotonic() < deadline:
        if is_complete(running.lastProgress and json.loads(running.lastProgress.json), source.events):
            break
        time.sleep(0.2)
    running.stop()
    failure = running.exception()
    newest = max(each.batchId for each in running.recentProgress if "addBatch" in each.durationMs)
    watch, done = JobWatch(SparkJobs(spark)), None
    while done is None and time.monotonic() < deadline + 60:  # Spark's account follows the end of a batch
        done = watch.work_of_batch(str(running.runId), newest)
    with_state = sum(tasks.with_state for tasks in done.by_executor.values())
    found = asdict(compare(spark, query, source, folder / "sink"))
    found |= {"name": query.name, "failure": failure and str(failure)[:500], "with_state": with_state}
    print("RESULT " + json.dumps(found), flush=True)
spark.stop()
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=1200, check=False)
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-3000:]
    return {each["name"]: each for each in map(json.loads, lines)}


@pytest.mark.parametrize("name", QUERIES)
def test_stream_and_batch_have_the_same_rows(results, name):
    found = results[name]
    assert found["failure"] is None
    assert found["expected"] > 0
    assert (found["missing"], found["unexpected"]) == (0, 0)


@pytest.mark.parametrize(
    # 2 partitions for each stage with state: q5 has one for its windows and one for the most
    ("name", "with_state"),
    [("q1", 0), ("q3", 2), ("q5", 4), ("q11", 2)],
)
def test_tasks_with_state_are_counted(results, name, with_state):
    assert results[name]["with_state"] == with_state
