"""A Kafka broker on the driver's node, and a producer outside of the nodes that sends rows to it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.live.scenario import TopicInput
from testbed.pipeline.kafka_broker import KafkaBroker, running_broker
from testbed.pipeline.kafka_topic import create_topics

_STOP_S = 5.0


@dataclass(slots=True, kw_only=True)
class KafkaFeed:
    """A broker with topics, and a producer of rows for the first of them.

    Attributes
    ----------
    broker: on the driver's node
    topology: the nodes; `testbed down` of them also ends the producer
    log: file for the producer's output
    """

    broker: KafkaBroker
    topology: Topology
    log: Path
    producer: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return self.broker.bootstrap

    def send(self, program: Sequence[str]) -> None:
        """Start the producer, a process outside of the nodes."""
        command, environment = (sys.executable, *program), _marked(self.topology, Role.PRODUCER)
        with self.log.open("w") as out:
            self.producer = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)

    def check(self) -> None:
        """Check that the producer runs, or has sent every row.

        Raises
        ------
        ClusterError
            If it has failed.
        """
        status = None if self.producer is None else self.producer.poll()
        if status not in {None, 0}:
            raise ClusterError("producer-exited", status=status, output=self.log.read_text().strip()[-500:])

    def stop(self) -> None:
        """End the producer."""
        if self.producer is not None:
            self.producer.kill()
            self.producer.wait(_STOP_S)


@contextmanager
def kafka_feed(topology: Topology, kafka: TopicInput, topics: Sequence[str], folder: Path) -> Iterator[KafkaFeed]:
    """Run a broker with topics within the context, and end the producer after it.

    Raises
    ------
    GesscaleError
        If the broker does not start.
    """
    node = topology.driver
    with running_broker(
        folder.resolve() / "broker",
        host=node.address,
        port=kafka.port,
        partitions=kafka.partitions,
        way_in=inside(topology.name, node.name, ()),
        environment=_marked(topology, Role.BROKER, node.name),
    ) as broker:
        create_topics(broker.bootstrap, topics, partitions=kafka.partitions)
        feed = KafkaFeed(broker=broker, topology=topology, log=folder / "producer.log")
        try:
            yield feed
        finally:
            feed.stop()


def _marked(topology: Topology, role: Role, node: str = "") -> Mapping[str, str]:
    """Return an environment by which `testbed down` finds the process, in case this one is killed."""
    mark = Mark(cluster=str(state_directory(topology.name)), role=role, node=node)
    return {**processes.base_environment(), **mark.environment()}
