"""What runs beside the loop: the broker on the driver's node, the drivers, and the producer outside of the nodes."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.demo.query import await_query, stream_program
from testbed.pipeline.kafka_broker import KafkaBroker, running_broker
from testbed.pipeline.kafka_topic import create_topics
from testbed.two_operators.scenario import Scenario

_PRODUCER_STOP_S = 5.0


@contextmanager
def broker_on_node(scenario: Scenario, topology: Topology, folder: Path) -> Iterator[KafkaBroker]:
    """Have a broker on the driver's node, with the topics that the operators read.

    Replicas elsewhere read and write through the delays of the latency map.
    """
    node = topology.driver
    with running_broker(
        folder.resolve() / "broker",
        host=node.address,
        port=scenario.kafka_port,
        partitions=scenario.partitions,
        way_in=inside(topology.name, node.name, ()),
        environment=_marked(topology, Role.BROKER, node.name),
    ) as broker:
        topics = [operator.reads for operator in scenario.operators]
        create_topics(broker.bootstrap, topics, partitions=scenario.partitions)
        yield broker


@contextmanager
def running_operators(
    scenario: Scenario, topology: Topology, folder: Path
) -> Iterator[tuple[LocalSpark, ...]]:
    """Have a Spark application for each operator, with one replica beside its driver; their logs are kept.

    Raises
    ------
    ClusterError
        When a driver ends, or its metrics cannot be read in time.
    """
    sparks = tuple(open_spark(topology, operator.name) for operator in scenario.operators)
    try:
        for spark, operator in zip(sparks, scenario.operators, strict=True):
            spark.start_driver(stream_program(scenario.stream_options(operator, topology, folder)))
        for spark, operator in zip(sparks, scenario.operators, strict=True):
            await_query(spark, operator.metrics_url(topology))
        yield sparks
        for spark in sparks:
            spark.stop_driver()
    finally:
        for spark in sparks:
            log = spark.log(Role.DRIVER, topology.driver_node)
            if log.exists():
                shutil.copy(log, folder / f"driver-{spark.operator}.log")


@contextmanager
def running_producer(
    scenario: Scenario, topology: Topology, rides: Path, folder: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Have the producer that sends the rides as they are due, from outside of the nodes; its log is kept."""
    options = {
        "rides": rides.resolve(),
        "kafka": scenario.bootstrap(topology),
        "topic": scenario.operators[0].reads,
        "speed": scenario.speed,
        "broken-share": scenario.broken_share,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with (folder / "producer.log").open("w") as log:
        producer = subprocess.Popen(
            (sys.executable, "-m", "testbed.pipeline", "produce", *words),
            env=_marked(topology, Role.PRODUCER),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield producer
        finally:
            producer.kill()
            producer.wait(_PRODUCER_STOP_S)


def require_producer(producer: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Check that the producer runs, or has sent every row.

    Raises
    ------
    ClusterError
        When it has failed.
    """
    if producer.poll() not in {None, 0}:
        said = (folder / "producer.log").read_text().strip()[-500:]
        message = f"the producer has ended with code {producer.returncode}: {said}"
        raise ClusterError(message)


def _marked(topology: Topology, role: Role, node: str = "") -> Mapping[str, str]:
    """Return an environment by which `testbed down` finds the process, should this one be killed."""
    mark = Mark(cluster=str(state_directory(topology.name)), role=role, node=node)
    return {**processes.base_environment(), **mark.environment()}
