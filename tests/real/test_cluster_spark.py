"""Replicas join and leave a running query on exactly the nodes that are named."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gesscale.decision import Change, OutcomeStatus
from gesscale.errors import ClusterError
from testbed.cluster import lifecycle, privilege, state
from testbed.cluster.adapter import LocalCluster
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import read_topology

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]

PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100)
rows = source.option("numPartitions", 4).load()
query = rows.writeStream.format("noop").start()
print("running", flush=True)
query.awaitTermination()
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    (tmp_path / "map.csv").write_text(",a,b,c\na,0,3,20\nb,3,0,20\nc,20,20,0\n")
    (tmp_path / "topology.yaml").write_text(
        "name: realspark\nlatency: {file: map.csv, unit: ms, kind: rtt}\n"
        "driver_node: a\nsubnet: 10.77.212.0/24\nnode_classes: {b: nuc}\n"
    )
    topology = read_topology(str(tmp_path / "topology.yaml"))
    lifecycle.up(topology, source="test")
    yield LocalCluster(topology=topology, first_task_timeout_s=60)
    lifecycle.down("realspark")


def environment_of(spark: LocalSpark, node: str) -> str:
    process = next(each for each in spark.running(Role.EXECUTOR) if each.mark.node == node)
    return Path(f"/proc/{process.pid}/environ").read_text()


def test_replicas_join_leave_and_are_missed(cluster: LocalCluster, tmp_path: Path) -> None:
    assert dict(cluster.state().placements) == {}
    with pytest.raises(ClusterError, match="runs no operator 'nearest'"):
        cluster.apply("nearest", Change(add=("a",)))

    (tmp_path / "program.py").write_text(PROGRAM)
    spark = open_spark(cluster.topology, "nearest")
    spark.start_driver((str(tmp_path / "program.py"),))
    spark.await_driver(60)
    assert cluster.state().placements == {"nearest": ()}

    outcome = cluster.apply("nearest", Change(add=("b", "c")))
    assert (outcome.status, outcome.added) == (OutcomeStatus.APPLIED, ("b", "c"))
    assert set(outcome.first_task_s) == {"b", "c"}
    assert cluster.state().placements == {"nearest": ("b", "c")}
    assert "GESSCALE_NODE_NAME=b\0" in environment_of(spark, "b")
    assert "GESSCALE_NODE_WEIGHT=4.0\0" in environment_of(spark, "b")
    with pytest.raises(ClusterError, match="has an executor on b already"):
        spark.add_replicas(["b"])

    victim = next(each for each in spark.running(Role.EXECUTOR) if each.mark.node == "c")
    os.kill(victim.pid, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while cluster.state().placements != {"nearest": ("b",)}:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    outcome = cluster.apply("nearest", Change(add=("c",), remove=("b",)))
    assert (outcome.status, outcome.added, outcome.removed) == (OutcomeStatus.APPLIED, ("c",), ("b",))
    assert outcome.detail == ""  # it went by itself
    assert cluster.state().placements == {"nearest": ("c",)}

    driver = spark.driver()
    assert driver is not None
    os.kill(driver.pid, signal.SIGKILL)
    while spark.driver() is not None:
        assert time.monotonic() < deadline + 60
    assert cluster.state().placements == {}  # what does not run has no placement


def test_a_driver_that_ends_at_once_is_said(cluster: LocalCluster) -> None:
    spark = open_spark(cluster.topology, "broken")
    spark.start_driver(("-c", "raise SystemExit('no rides here')"))
    with pytest.raises(ClusterError, match=r"has ended.*no rides here"):
        spark.await_driver(60)
