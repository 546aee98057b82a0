"""A restart with more replicas than partitions of the state: the state is cut, and no row is lost.

A checkpoint of a newer Spark is neither cut nor read.
"""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.real
ROWS, BATCHES_A_WINDOW = 50, 4
JOB = """
import json, sys, threading, time
from pyspark.sql import SparkSession, functions as F
import gesscale.spark

folder, rows_per_batch, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
checkpoint = f"{folder}/checkpoint"
settings = {
    "spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.session.timeZone": "UTC",
}
builder = SparkSession.builder.master("local[2]").appName("trial")
spark = builder.config(map=settings).getOrCreate()

def write(rows, number):
    rows.write.mode("overwrite").parquet(f"{folder}/out/batch={number}")  # a batch that is done again writes it again

def start_query(spark, replicas, *, once=False):
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows_per_batch)
    rows = source.option("numPartitions", 2).load().withWatermark("timestamp", "2 seconds")
    window, key = F.window("timestamp", "4 seconds", "2 seconds"), (F.col("value") % keys).alias("key")
    sink = rows.groupBy(window, key).count().writeStream.queryName("trial").foreachBatch(write)
    sink = sink.option("checkpointLocation", checkpoint)
    return sink.trigger(**({"once": True} if once else {"processingTime": "1 second"})).start()
"""
PROGRAM = (
    JOB
    + """
attachment = gesscale.spark.attach(
    spark, operator="trial", port=0, cap_rows=rows_per_batch, restart=start_query, state_checkpoint=checkpoint
)
restartable, stopping = attachment._restartable, threading.Event()
running = threading.Thread(target=attachment.run, args=(stopping,))
running.start()

def progress():
    report = attachment.query and attachment.query.lastProgress
    return json.loads(report.json) if report else None

def await_batches(number):
    deadline_s = time.monotonic() + 300
    while (seen := progress()) is None or not seen["stateOperators"] or seen["batchId"] < number:
        assert time.monotonic() < deadline_s, seen
        time.sleep(0.2)
    return seen["batchId"]

last = await_batches(3)
for order, replicas in (("1-1", 3), ("1-2", 4), ("1-3", 6)):
    restartable.restart(order, lambda: replicas)
    last = await_batches(last + 3)
partitions = progress()["stateOperators"][0]["numShufflePartitions"]
await_batches(last + 3)
restarts = restartable.document()
stopping.set()
running.join()
windows = spark.read.parquet(f"{folder}/out").groupBy("window")
sums = windows.agg(F.sum("count").alias("rows"), F.count("*").alias("keys"), F.countDistinct("key").alias("different"))
totals = sums.orderBy("window").drop("window").collect()
print("FOUND", json.dumps({"partitions": partitions, "restarts": restarts, "windows": [list(each) for each in totals]}))
spark.stop()
"""
)
OTHER_VERSION = (
    JOB
    + """
import logging
from pathlib import Path
from gesscale.spark.restarting import StateRepartition

logging.basicConfig(level=logging.WARNING)
start_query(spark, 1, once=True).awaitTermination(300)
for log in ("offsets", "commits"):
    for file in Path(checkpoint, log).iterdir():
        if file.name.isdigit():
            file.with_name(f".{file.name}.crc").unlink()
            version, rest = file.read_text().split("\\n", 1)
            file.write_text(f"v99\\n{rest}")
kept = {str(file): file.read_bytes() for file in Path(checkpoint).rglob("*") if file.is_file()}
done = StateRepartition(spark, checkpoint, start_query).repartition(4, 1, within_s=300)
attachment = gesscale.spark.attach(spark, operator="trial", port=0, restart=start_query, state_checkpoint=checkpoint)
try:
    attachment.run(threading.Event())
    fault = ""
except Exception as error:
    fault = str(error)
same = kept == {str(file): file.read_bytes() for file in Path(checkpoint).rglob("*") if file.is_file()}
print("FOUND", json.dumps({"done": done, "fault": fault, "same": same}))
spark.stop()
"""
)


def found(program, folder):
    """Run a program of Spark and return what it found, and its log."""
    (folder / "program.py").write_text(program)
    command = (sys.executable, str(folder / "program.py"), str(folder), str(ROWS), "7")
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.partition("FOUND")[2]), done.stderr


def test_state_is_cut_into_more_partitions_and_each_window_still_holds_all_its_rows(tmp_path):
    seen, _ = found(PROGRAM, tmp_path)
    # 2 partitions at first; 3 replicas: 4; 4 replicas: enough; 6 replicas: 8
    assert [each["state_partitions"] for each in seen["restarts"]] == [4, None, 8]
    assert seen["partitions"] == 8
    assert all(each["downtime_s"] > 0 for each in seen["restarts"])
    (first, *windows) = seen["windows"]
    assert len(windows) >= 3  # each closes a second after the one before, or two
    # A batch of the source is a second of event time; the first window began before it.
    assert first[0] <= BATCHES_A_WINDOW * ROWS
    assert windows == [[BATCHES_A_WINDOW * ROWS, 7, 7]] * len(windows)


def test_a_checkpoint_of_a_newer_spark_is_refused_with_both_versions_and_stays_as_it_is(tmp_path):
    seen, log = found(OTHER_VERSION, tmp_path)
    assert not seen["done"]
    assert "is not repartitioned" in log
    assert "maximum supported log version" in seen["fault"]
    assert "v99" in seen["fault"]
    assert seen["same"]
