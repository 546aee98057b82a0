"""What is played: two operators joined by topics, a day in minutes, and the settings of their loop."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from testbed.cluster.topology import Topology
from testbed.demo.scenario import loop_settings
from testbed.pipeline.operator import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxiOperator:
    """One operator of the workflow: a Spark application that reads a topic.

    Attributes
    ----------
    name, upstream
        Its own and those of the operators that it reads from.
    work
        What it does with a ride.
    reads, writes
        Topics; one that writes none writes files.
    service_ms_per_row
        Emulated work of a node of weight 1 on one row.
    metrics_port
        Where its driver publishes its batches.
    """

    name: str
    upstream: tuple[str, ...] = ()
    work: Work
    reads: str
    writes: str | None = None
    service_ms_per_row: float
    metrics_port: int

    def metrics_url(self, topology: Topology) -> str:
        """Return where its driver publishes its batches."""
        return f"http://{topology.driver.address}:{self.metrics_port}"


CLEAN = TaxiOperator(
    name="clean", work=Work.VALID, reads="rides", writes="valid", service_ms_per_row=2.4, metrics_port=9108
)
NEAREST = TaxiOperator(
    name="nearest",
    upstream=("clean",),
    work=Work.NEAREST,
    reads="valid",
    service_ms_per_row=4.0,
    metrics_port=9109,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The workflow in figures.

    Attributes
    ----------
    policy
        The policy that scales both operators.
    topology
        A bundled topology or the path of one.
    operators
        In the order of the stream.
    day_s
        Seconds into which the 24 hours are compressed.
    share
        Rides that are generated per real passenger; it sets the load.
    broken_share
        Share of the rows that are sent without a position, for the first operator to drop.
    partitions
        Of each topic: tasks of a batch. Six are shared out evenly by one, two and three replicas.
    cap_rows
        B, the cap on a batch: with three replicas about as much as they do within a trigger interval.
    trigger_s
        The trigger interval.
    period_s
        The loop's period: an hour of the day at the default compression.
    max_replicas
        Of each operator: so many executors two cores can carry.
    kafka_port
        Where the broker listens on the driver's node.
    """

    policy: str = "gesscale"
    topology: str = "edge8"
    operators: tuple[TaxiOperator, ...] = (CLEAN, NEAREST)
    day_s: float = 240.0
    share: float = 0.09
    broken_share: float = 0.02
    partitions: int = 6
    cap_rows: int = 1200
    trigger_s: float = 2.0
    period_s: float = 10.0
    max_replicas: int = 3
    kafka_port: int = 9092

    @property
    def speed(self) -> float:
        """Seconds of the day per second."""
        return 86400.0 / self.day_s

    def bootstrap(self, topology: Topology) -> str:
        """Return where the broker listens."""
        return f"{topology.driver.address}:{self.kafka_port}"

    def settings(self, topology: Topology) -> str:
        """Return the settings of the loop as a user would write them (YAML)."""
        operators = {
            each.name: {
                "driver_node": topology.driver_node,
                "upstream": list(each.upstream),
                "metrics_url": each.metrics_url(topology),
                "max_replicas": self.max_replicas,
                "batch_cap_rows": self.cap_rows,
                "kafka": {"bootstrap": self.bootstrap(topology), "topic": each.reads},
            }
            for each in self.operators
        }
        cluster = {"topology": self.topology}
        settings = loop_settings(operators, policy=self.policy, period_s=self.period_s, cluster=cluster)
        return yaml.safe_dump(settings, sort_keys=False)

    def stream_options(self, operator: TaxiOperator, topology: Topology, folder: Path) -> dict[str, object]:
        """Return the options of an operator's driver program (`testbed.demo.query.stream_program`).

        Parameters
        ----------
        operator
            Whose driver.
        topology
            The nodes; the broker is on the driver's.
        folder
            Where its checkpoint goes, and the files of one that writes no topic.
        """
        sink = {"output-topic": operator.writes} if operator.writes else {"output": folder.resolve() / "sink"}
        return {
            "operator": operator.name,
            "work": operator.work.value,
            "kafka": self.bootstrap(topology),
            "topic": operator.reads,
            **sink,
            "checkpoint": folder.resolve() / f"checkpoint-{operator.name}",
            "cap-rows": self.cap_rows,
            "trigger-s": self.trigger_s,
            "service-ms-per-row": operator.service_ms_per_row,
            "metrics-port": operator.metrics_port,
        }
