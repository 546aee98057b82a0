"""An executor that gets no task, on a real Spark: each batch lists it, and the work by host shows it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from edge import observe

from gesscale.common.shell import command_line
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Operator, Workflow
from gesscale.monitor.records import parse_document, to_batches
from gesscale.monitor.source import WindowedReader
from gesscale.monitor.window import WorkByNode
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from latency_map import LatencyMap
from testbed.cluster import processes, spark_command

pytestmark = pytest.mark.real

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
PROGRAM = """
import json, subprocess, sys, time
from urllib.request import urlopen
from pyspark.sql import SparkSession
from gesscale.spark import attach
from gesscale.spark.scheduler import live_executors
from testbed.cluster.spark_command import executor_command

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
port = int(sc.getConf().get("spark.driver.port"))
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": sys.argv[1]}
of_driver = {"driver_address": "127.0.0.1", "driver_port": port, "application": sc.applicationId}
started = [
    subprocess.Popen(executor_command(host, executor_id=number, **of_driver), **quiet)
    for number, host in enumerate(sys.argv[2:], start=1)
]
deadline = time.monotonic() + 120
while len(live_executors(spark)) < len(started) and time.monotonic() < deadline:
    time.sleep(0.2)
spark.range(300, numPartitions=30).count()  # all are warm
attachment = attach(spark, operator="op", port=0)
rate = spark.readStream.format("rate").option("rowsPerSecond", 3000).option("numPartitions", 2).load()
query = rate.writeStream.format("noop").trigger(processingTime="1 second").start()
while True:
    with urlopen(attachment.url + "/batches", timeout=60) as response:
        page = json.load(response)
    if len(page["batches"]) >= 9 or time.monotonic() > deadline:
        break
    time.sleep(0.3)
query.stop()
print("PAGE " + json.dumps(page), flush=True)
for each in started:
    each.terminate()
spark.stop()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("idle")
    (folder / "program.py").write_text(PROGRAM)
    fixed = spark_command.driver_settings("127.0.0.1", driver_port=0, ui_port=0)
    fixed = {name: value for name, value in fixed.items() if name != "spark.ui.port"} | {"spark.ui.enabled": "false"}
    words = [word for name, value in fixed.items() for word in ("--conf", f"{name}={value}")]
    environment = {
        **processes.base_environment(),
        **spark_command.node_environment("127.0.0.1", folder, sys.executable),
        "PYSPARK_SUBMIT_ARGS": command_line((*words, "pyspark-shell")),
    }
    command = (sys.executable, str(folder / "program.py"), str(folder), *HOSTS)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    pages = [line.removeprefix("PAGE ") for line in done.stdout.splitlines() if line.startswith("PAGE ")]
    assert pages, done.stderr[-3000:]
    return pages[0]


def test_each_batch_lists_the_executor_without_a_task(page: str) -> None:
    batches = [each for each in json.loads(page)["batches"] if each["rows"] and each["by_host"]]
    assert len(batches) >= 5
    for batch in batches:
        # Two partitions on three executors: one has no rows and is not busy; which one changes from batch to batch.
        idle = [host for host, work in batch["by_host"].items() if not work["rows"] and not work["busy_s"]]
        assert (tuple(batch["hosts"]), batch["tasks"], batch["source_partitions"], len(idle)) == (HOSTS, 2, 2, 1)


def test_the_replica_that_is_too_many_is_given_back(page: str) -> None:
    document = parse_document(page.encode(), "op")
    parsed = to_batches(document.batches, {})
    reader = WindowedReader(window_s=60.0, stale_after_s=180.0, history_s=300.0, timeout_s=5.0)
    reading = reader.read(
        "op", parsed.batches, now_s=document.now_s, last_progress_at_s=None, by_node=WorkByNode(parsed.work)
    )
    assert isinstance(reading, OperatorReading)
    assert (reading.placement, reading.useful_replicas) == (HOSTS, 2)
    policy = policy_named("gesscale", Workflow([Operator(name="op", driver_node=HOSTS[0])]), PolicyOptions())
    rtt_ms = np.array([[0.0, 5.0, 9.0], [5.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    knowledge = Knowledge(latencies=Latencies(map=LatencyMap(names=HOSTS, rtt_ms=rtt_ms)))
    cluster = ClusterState(nodes={host: Node(name=host) for host in HOSTS}, placements={"op": HOSTS})
    plan = policy.plan(policy.analyze(observe(reading), knowledge), cluster, knowledge)["op"]
    assert (plan.reason, plan.placement) == (Reason.IDLE_REPLICA, HOSTS[:2])
