"""Replicas join and leave a running query on exactly the nodes that are named."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster_contract import ClusterContract, Site
from refusals import refused

from gesscale.errors import ClusterError
from gesscale.model.decision import Outcome, OutcomeStatus
from testbed.cluster import lifecycle, privilege, state
from testbed.cluster.adapter import LocalCluster
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, application_id, executors, open_spark
from testbed.cluster.topology import Topology, read_topology

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)),
        reason="needs root and /dev/net/tun to make network namespaces",
    ),
]

SETTLE_S = 300.0  # bound of a wait, not an expectation
PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100)
rows = source.option("numPartitions", 4).load()
query = rows.writeStream.format("noop").start()
print("running", flush=True)
query.awaitTermination()
"""


@contextmanager
def nodes_up(folder: Path, name: str, subnet: int) -> Iterator[LocalCluster]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(state.STATE_ROOT, str(folder / "state"))
        (folder / "map.csv").write_text(",a,b,c\na,0,3,20\nb,3,0,20\nc,20,20,0\n")
        (folder / "topology.yaml").write_text(
            f"name: {name}\nlatency: {{file: map.csv, unit: ms, kind: rtt}}\n"
            f"driver_node: a\nsubnet: 10.77.{subnet}.0/24\nnode_classes: {{b: nuc}}\n"
        )
        topology = read_topology(str(folder / "topology.yaml"))
        lifecycle.up(topology)
        yield LocalCluster(topology=topology, register_timeout_s=SETTLE_S, leave_timeout_s=SETTLE_S)
        lifecycle.down(name)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    with nodes_up(tmp_path, "realspark", 212) as made:
        yield made


@pytest.fixture(scope="class")
def with_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    """One driver for the whole contract."""
    folder = tmp_path_factory.mktemp("contract")
    with nodes_up(folder, "contract", 222) as made:
        started(made, folder)
        yield made.topology


def environment_of(spark: LocalSpark, node: str) -> str:
    process = next(each for each in spark.running(Role.EXECUTOR) if each.mark.node == node)
    return Path(f"/proc/{process.pid}/environ").read_text()


def until(done: Callable[[], object], what: str) -> None:
    deadline, problem = time.monotonic() + SETTLE_S, ""
    while True:
        try:
            if done():
                return
        except ClusterError as error:  # a driver that is busy answers later
            problem = f"; {error}"
        assert time.monotonic() < deadline, f"expected within {SETTLE_S:g} s: {what}{problem}"
        time.sleep(0.2)


def started(cluster: LocalCluster, folder: Path) -> LocalSpark:
    """Start a query without replicas."""
    (folder / "program.py").write_text(PROGRAM)
    spark = open_spark(cluster.topology, "nearest")
    spark.start_driver((str(folder / "program.py"),))
    spark.await_driver(SETTLE_S)
    return spark


class Local(Site):
    def settle(self) -> None:
        def done() -> bool:
            state = self.cluster.state()
            return state.placements["nearest"] == self.ordered and not state.starting["nearest"]

        until(done, f"executors on {', '.join(self.ordered)}")

    def apply(self, *nodes: str) -> Outcome:
        self.ordered = tuple(sorted(nodes))
        return super().apply(*nodes)


class TestLocal(ClusterContract):
    @pytest.fixture
    def site(self, with_driver: Topology) -> Local:
        cluster = LocalCluster(topology=with_driver, register_timeout_s=SETTLE_S, leave_timeout_s=SETTLE_S)
        site = Local(cluster=cluster, nodes=("a", "b", "c"), operator="nearest")
        site.apply("a")
        site.settle()
        return site


def test_replicas_are_known_by_their_nodes_and_missed_where_they_die(cluster: LocalCluster, tmp_path: Path) -> None:
    assert dict(cluster.state().placements) == {}
    with refused("cluster-operator-unknown", operator="nearest"):
        cluster.apply("nearest", ("a",))
    spark = started(cluster, tmp_path)
    assert cluster.state().placements == {"nearest": ()}

    outcome = cluster.apply("nearest", ("b", "c"))
    assert (outcome.status, outcome.added) == (OutcomeStatus.ORDERED, ("b", "c"))
    assert cluster.state().starting == {"nearest": ("b", "c")}  # they take seconds, and the test has not waited
    until(lambda: cluster.state().placements == {"nearest": ("b", "c")}, "both executors")
    assert "GESSCALE_NODE_NAME=b\0" in environment_of(spark, "b")
    assert "GESSCALE_NODE_WEIGHT=4.0\0" in environment_of(spark, "b")
    with refused("executor-already-running", nodes=["b"]):
        spark.start_replicas(["b"])

    victim = next(each for each in spark.running(Role.EXECUTOR) if each.mark.node == "c")
    os.kill(victim.pid, signal.SIGKILL)
    until(lambda: cluster.state().placements == {"nearest": ("b",)}, "the loss")
    outcome = cluster.apply("nearest", ("b", "c"))  # ordered minus observed: the lost one is started again
    assert (outcome.status, outcome.added, outcome.removed) == (OutcomeStatus.ORDERED, ("c",), ())
    until(lambda: cluster.state().placements == {"nearest": ("b", "c")}, "both executors again")

    driver = spark.driver()
    assert driver is not None
    os.kill(driver.pid, signal.SIGKILL)
    until(lambda: spark.driver() is None, "the end of the driver")
    assert cluster.state().placements == {}  # what does not run has no placement


def test_an_executor_that_never_registers_is_killed_and_nobody_leaves_for_it(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    spark = started(cluster, tmp_path)
    cluster.apply("nearest", ("b",))
    until(lambda: cluster.state().placements == {"nearest": ("b",)}, "an executor")
    cluster.apply("nearest", ("c",))
    late = next(each for each in spark.running(Role.EXECUTOR) if each.mark.node == "c")
    os.kill(late.pid, signal.SIGSTOP)
    assert cluster.state().starting == {"nearest": ("c",)}
    cluster.register_timeout_s = 0.0
    cluster.state()
    until(lambda: not cluster.state().starting["nearest"], "its end")
    assert cluster.state().placements == {"nearest": ("b",)}


def test_an_executor_that_starts_and_is_no_longer_ordered_ends_before_it_works(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    spark = started(cluster, tmp_path)
    cluster.apply("nearest", ("b", "c"))
    dropped = next(each for each in spark.running(Role.EXECUTOR) if each.mark.node == "c")
    cluster.apply("nearest", ("a", "b"))  # while both start
    until(lambda: dropped not in spark.running(Role.EXECUTOR), "the end of the executor on c")
    until(lambda: cluster.state().placements == {"nearest": ("a", "b")}, "those that are ordered")
    application = application_id(spark.base_url)
    assert dropped.mark.serial not in executors(spark.base_url, application)  # it never registered


def test_a_driver_that_ends_at_once_is_said(cluster: LocalCluster) -> None:
    spark = open_spark(cluster.topology, "broken")
    spark.start_driver(("-c", "raise SystemExit('no rides here')"))
    with refused("driver-exited", operator="broken") as caught:
        spark.await_driver(SETTLE_S)
    assert "no rides here" in caught.value.fields["end"]
