"""Where the rows of a day come from: rides that the driver replays, or a producer and a broker on the driver's node."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from testbed.cluster.topology import Topology
from testbed.demo.broker import Producer, broker_on_driver, start_producer
from testbed.demo.query import option_words, stream_program
from testbed.demo.scenario import Scenario, TaxiOperator, TopicInput
from testbed.pipeline.kafka_topic import create_topics, verify_topic
from testbed.pipeline.sink import SinkCount


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFeed:
    """The driver replays the rides itself.

    Attributes
    ----------
    scenario, rides
        What is played.
    start_at_s
        When the first ride is due, seconds since the epoch.
    """

    scenario: Scenario
    rides: Path
    start_at_s: float

    def options(self, _: TaxiOperator) -> Mapping[str, object]:
        """Return the rides, and when they are due."""
        return {**self.scenario.replay_options(self.rides), "start-at-s": self.start_at_s}

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program that replays the rides."""
        return stream_program({**self.scenario.stream_options(operator, folder), **self.options(operator)})

    def flowing(self) -> AbstractContextManager[float]:
        """Return when the first ride is due."""
        return nullcontext(self.start_at_s)

    def check(self) -> None:
        """Do nothing: rides come as long as the driver lives."""

    def handed_on(self, _valid: int) -> Mapping[str, SinkCount]:
        """Return nothing: there are no topics."""
        return {}


@dataclass(slots=True, kw_only=True)
class KafkaFeed:
    """A producer sends the rides to the first topic, from outside of the nodes.

    Attributes
    ----------
    scenario, kafka, topology, rides
        What is played, and where.
    folder
        Where the producer's log goes.
    """

    scenario: Scenario
    kafka: TopicInput
    topology: Topology
    rides: Path
    folder: Path
    _producer: Producer | None = None

    @property
    def bootstrap(self) -> str:
        """Where the broker listens."""
        return self.kafka.bootstrap(self.topology)

    def options(self, operator: TaxiOperator) -> Mapping[str, object]:
        """Return the topic that an operator reads."""
        return {"kafka": self.bootstrap, "topic": operator.reads}

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program that reads the operator's topic."""
        return stream_program({**self.scenario.stream_options(operator, folder), **self.options(operator)})

    @contextmanager
    def flowing(self) -> Iterator[float]:
        """Have the producer that sends the rides as they are due; its log is kept."""
        options = {
            "rides": self.rides.resolve(),
            "kafka": self.bootstrap,
            "topic": self.scenario.operators[0].reads,
            "speed": self.scenario.speed,
            "broken-share": self.kafka.broken_share,
        }
        program = ("-m", "testbed.pipeline", "produce", *option_words(options))
        self._producer = start_producer(program, self.topology, self.folder / "producer.log")
        try:
            yield time.time()
        finally:
            self._producer.stop()

    def check(self) -> None:
        """Raise ClusterError where the producer has failed."""
        if self._producer is not None:
            self._producer.check()

    def handed_on(self, valid: int) -> Mapping[str, SinkCount]:
        """Count the rows of each topic between two operators."""
        return {
            operator.name: verify_topic(self.bootstrap, operator.writes, valid)
            for operator in self.scenario.operators
            if operator.writes
        }


Feed = ReplayFeed | KafkaFeed
"""What gives operators of the taxi stream their rows, a `testbed.demo.query.Job`."""


@contextmanager
def open_feed(
    scenario: Scenario, topology: Topology, rides: Path, folder: Path, say: Callable[[str], None]
) -> Iterator[Feed]:
    """Have what gives a scenario's operators their rows, a broker included where they read topics.

    Parameters
    ----------
    scenario, topology
        What is played, and where; the nodes are up.
    rides
        Folder of cleaned rides.
    folder
        Where logs go.
    say
        Prints what happens.
    """
    if scenario.kafka is None:
        yield ReplayFeed(scenario=scenario, rides=rides, start_at_s=time.time() + scenario.head_start_s)
        return
    say(f"starting a Kafka broker on {topology.driver_node}")
    with broker_on_driver(topology, scenario.kafka, folder) as broker:
        topics = [operator.reads for operator in scenario.operators]
        create_topics(broker.bootstrap, topics, partitions=scenario.kafka.partitions)
        yield KafkaFeed(
            scenario=scenario, kafka=scenario.kafka, topology=topology, rides=rides, folder=folder
        )
