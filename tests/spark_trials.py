"""Programs that run queries on a real Spark in their own process, and what ``/batches`` serves of them."""

import json
import os
import subprocess
import sys

BEGIN = """
import contextlib, json, os, socket, sys, tempfile, threading, time
from urllib.request import urlopen
from gesscale.spark import attach
from testbed.pipeline.session import open_session

spark = open_session("trial")
attachment = attach(spark, operator="trial", port=0, max_replicas=4)

def read(name):
    return spark.readStream.format(name)

def run(name, rows, batches=4, sink="noop", mode="append", each_batch=None, **trigger):
    trigger = trigger or {"processingTime": "500 milliseconds"}
    writer = rows.writeStream.queryName(name).format(sink).outputMode(mode)
    if each_batch is not None:
        writer = writer.foreachBatch(each_batch)
    if sink == "kafka":
        folder = tempfile.mkdtemp()
        writer = writer.option("checkpointLocation", folder).option("topic", "out")
        writer = writer.option("kafka.bootstrap.servers", sys.argv[1])
    query = writer.trigger(**trigger).start()
    deadline = time.monotonic() + 180
    while query.isActive and time.monotonic() < deadline:
        if sum(1 for each in query.recentProgress if each.numInputRows) >= batches:
            break
        time.sleep(0.2)
    wanted = sum(1 for each in query.recentProgress if each.numInputRows)
    while True:  # the listener hears of a batch after the query
        with urlopen(attachment.url + "/batches", timeout=60) as response:
            document = json.load(response)
        seen = [each for each in document["batches"] if each["rows"] > 0]
        if document["query"] == name and len(seen) >= wanted or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert document["query"] == name, document["query"]
    query.stop()
    print("RESULT " + json.dumps({"name": name, "batches": seen, "errors": document["listener_errors"]}), flush=True)
"""


def results(program, *arguments, conf=(), jars=()):
    settings = ("spark.ui.showConsoleProgress=false", *conf)
    words = [word for setting in settings for word in ("--conf", setting)]
    more = ["--jars", ",".join(map(str, jars))] if jars else []
    submit = ["--master", "local[4]", "--driver-memory", "1g", *more, *words, "pyspark-shell"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": " ".join(submit), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-3000:]
    return {each["name"]: each for each in map(json.loads, lines)}, done.stderr
