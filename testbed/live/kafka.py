"""A Kafka broker on the driver's node, and who sends rows to it from outside of the nodes."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.live.scenario import TopicInput
from testbed.pipeline.kafka_broker import KafkaBroker, running_broker

_STOP_S = 5.0


def broker_on_driver(
    topology: Topology, kafka: TopicInput, folder: Path
) -> AbstractContextManager[KafkaBroker]:
    """Have a broker on the driver's node for as long as the context lasts.

    Parameters
    ----------
    topology
        The nodes; they are up.
    kafka
        Where it listens, and partitions of its topics.
    folder
        Where its data are while it runs.

    Raises
    ------
    GesscaleError
        Where it does not start.
    """
    node = topology.driver
    return running_broker(
        folder.resolve() / "broker",
        host=node.address,
        port=kafka.port,
        partitions=kafka.partitions,
        way_in=inside(topology.name, node.name, ()),
        environment=_marked(topology, Role.BROKER, node.name),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """Who sends rows to a broker, a process of its own.

    Attributes
    ----------
    process
        It.
    log
        Where its output goes.
    """

    process: "subprocess.Popen[bytes]"
    log: Path

    def check(self) -> None:
        """Check that it runs, or has sent every row.

        Raises
        ------
        ClusterError
            Where it has failed.
        """
        ended = self.process.poll()
        if ended not in {None, 0}:
            written = self.log.read_text().strip()[-500:]
            message = f"the producer has ended with code {ended}: {written}"
            raise ClusterError(message)

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait(_STOP_S)


def start_producer(program: Sequence[str], topology: Topology, log: Path) -> Producer:
    """Start a producer outside of the nodes.

    Parameters
    ----------
    program
        Arguments for the Python interpreter.
    topology
        The nodes; `testbed down` of them ends it too.
    log
        Where its output goes; replaced.
    """
    with log.open("w") as out:
        process = subprocess.Popen(
            (sys.executable, *program),
            env=_marked(topology, Role.PRODUCER),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    return Producer(process=process, log=log)


def _marked(topology: Topology, role: Role, node: str = "") -> Mapping[str, str]:
    """Return an environment by which `testbed down` finds the process, should this one be killed."""
    mark = Mark(cluster=str(state_directory(topology.name)), role=role, node=node)
    return {**processes.base_environment(), **mark.environment()}
