"""The listener on a real Spark, in a separate process, with simulated failures."""

import json
import subprocess
import sys

import pytest
from refusals import logged_codes

pytestmark = pytest.mark.real

PROGRAM = """
import json, sys, time
from urllib.request import urlopen
from gesscale.spark import attach
from pyspark.sql import functions as f
from testbed.pipeline.session import open_session

spark = open_session("trial")
if sys.argv[1] == "offsets":
    given = {"offset_rows": lambda offset: [][0]}
else:
    given = {}
attachment = attach(spark, operator="trial", port=0, **given)
if sys.argv[1] == "spark":
    # A driver whose inner classes cannot be linked: reading its executors failed like this on PySpark 4.3.0.
    import gesscale.spark.executors as executors
    def poisoned():
        return spark._jvm.org.apache.spark.SparkEnv.get().blockManager()
    listener = attachment._listener
    listener._state._watch = executors.ExecutorWatch(poisoned, time.time)
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
rows = rows.observe("own", f.count(f.lit(1)).alias("rows"), f.lit("text").alias("text"))
query = rows.writeStream.queryName("q").format("noop").trigger(processingTime="500 milliseconds").start()
deadline = time.monotonic() + 240
while time.monotonic() < deadline and len(query.recentProgress) < 6:
    time.sleep(0.2)
while True:  # the listener records a batch after the query
    with urlopen(attachment.url + "/batches", timeout=60) as response:
        document = json.load(response)
    if len(document["batches"]) >= 4 or time.monotonic() > deadline:
        break
    time.sleep(0.2)
print("RESULT " + json.dumps({"active": query.isActive, "document": document}))
query.stop()
spark.stop()
"""


def trial(kind):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=600, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-3000:]
    result = json.loads(lines[0].removeprefix("RESULT "))
    assert result["active"] is True
    return result["document"], done.stderr


def test_a_query_survives_unreadable_executors():
    document, log = trial("spark")
    assert document["listener_errors"] > 0
    assert "executors-unreadable" in logged_codes(log)
    assert len(document["batches"]) >= 4
    assert {batch["replicas"] for batch in document["batches"]} == {None}
    assert {batch["by_host"] for batch in document["batches"]} == {None}
    assert {batch["rows"] for batch in document["batches"]} == {10}


def test_a_query_survives_an_offset_function_that_fails():
    document, log = trial("offsets")
    assert document["listener_errors"] > 0
    assert "offset-rows-failed" in logged_codes(log)
    assert {batch["offered_rows_total"] for batch in document["batches"]} == {None}
    assert {batch["replicas"] for batch in document["batches"]} == {1}
    assert {batch["output_rows"] for batch in document["batches"]} == {10}
    assert [batch["observed"] for batch in document["batches"]] == [{"own.rows": 10.0}] * len(document["batches"])
    # On a busy machine Spark's job records of a batch are sometimes late.
    accounted = [batch for batch in document["batches"] if batch["by_host"] is not None]
    assert 2 * len(accounted) > len(document["batches"])
    assert {batch["by_host"]["localhost"]["rows"] for batch in accounted} == {10.0}
    # The source cuts each batch into as many tasks as there are cores when the query starts, two.
    assert {(batch["source_partitions"], batch["tasks"]) for batch in accounted} == {(2, 2)}
    assert {batch["end_offset_rows_total"] for batch in document["batches"]} == {None}
    for batch in accounted:  # two slots, each at most as long as the batch
        assert 0 < batch["by_host"]["localhost"]["busy_s"] <= batch["seconds"]


LONG_BATCH = """
import json, time
from urllib.request import urlopen
from gesscale.spark import attach
from testbed.pipeline.session import open_session

spark = open_session("trial")
attachment = attach(spark, operator="trial", port=0)
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
slow = lambda frame, number: time.sleep(25 if number == 0 else 0)
began_s = time.time()
query = rows.writeStream.foreachBatch(slow).trigger(processingTime="500 milliseconds").start()
pages = []
while time.time() < began_s + 240 and (len(pages) < 4 or not pages[-1]["batches"]):
    time.sleep(3)
    with urlopen(attachment.url + "/batches", timeout=60) as response:
        pages.append(json.load(response))
print("RESULT " + json.dumps({"began_s": began_s, "active": query.isActive, "document": pages}))
query.stop()
spark.stop()
"""


def test_a_batch_that_runs_for_long_is_published_with_its_start():
    done = subprocess.run([sys.executable, "-c", LONG_BATCH], capture_output=True, text=True, timeout=600, check=False)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")] or [done.stderr[-3000:]]
    result = json.loads(line.removeprefix("RESULT "))
    running = [page for page in result["document"] if page["running_since_s"] is not None]
    assert running
    assert all(page["batches"] == [] for page in running)
    began_s = result["document"][-1]["batches"][0]["started_at_s"]
    assert all(abs(page["running_since_s"] - began_s) <= 10 for page in running)
