"""The events of Nexmark through a broker on the driver's node: sent as they are due, from outside of the nodes."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster.topology import Topology
from testbed.demo.broker import Producer, broker_on_driver, start_producer
from testbed.demo.query import option_words
from testbed.demo.scenario import TopicInput
from testbed.pipeline.kafka_broker import KafkaBroker

TOPIC = "nexmark"
_TOPIC_S = 60.0


@dataclass(slots=True, kw_only=True)
class EventFeed:
    """A topic of a broker, and who sends the events.

    Attributes
    ----------
    broker
        On the node of the driver.
    topology, partitions, log
        The nodes; of the topic; where the producer's output goes.
    """

    broker: KafkaBroker
    topology: Topology
    partitions: int
    log: Path
    _producer: Producer | None = field(default=None, init=False)

    @property
    def options(self) -> Mapping[str, object]:
        """Return where the events are, as options of ``python -m testbed.nexmark``."""
        return {"kafka": self.broker.bootstrap, "topic": TOPIC}

    def send(self, events: Mapping[str, object]) -> None:
        """Start who makes the topic and sends the events as they are due; return when the topic is there.

        Parameters
        ----------
        events
            Which, and when they are due, as options of ``python -m testbed.nexmark produce``.

        Raises
        ------
        ClusterError
            Where nobody makes the topic.
        """
        options = {**self.options, "partitions": self.partitions, **events}
        program = ("-m", "testbed.nexmark", "produce", *option_words(options))
        self._producer = start_producer(program, self.topology, self.log)
        self._await_topic()

    def check(self) -> None:
        """Raise ClusterError where events do not come any more, though some are left."""
        if self._producer is not None:
            self._producer.check()

    def stop(self) -> None:
        """End who sends the events."""
        if self._producer is not None:
            self._producer.stop()

    def _await_topic(self) -> None:
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        deadline_s = time.monotonic() + _TOPIC_S
        while TOPIC not in admin.list_topics(timeout=_TOPIC_S).topics:
            self.check()
            if time.monotonic() > deadline_s:
                message = f"nobody has made the topic {TOPIC} within {_TOPIC_S:g} s; see {self.log}"
                raise ClusterError(message)
            time.sleep(0.5)


@contextmanager
def event_feed(topology: Topology, kafka: TopicInput, folder: Path) -> Iterator[EventFeed]:
    """Have a broker on the driver's node, and the events that are sent to it, for as long as the context lasts.

    Parameters
    ----------
    topology
        The nodes; they are up.
    kafka
        Where the broker listens, and partitions of the topic.
    folder
        Where the producer's log goes, and the broker's data while it runs.

    Raises
    ------
    GesscaleError
        Where the broker does not start.
    """
    with broker_on_driver(topology, kafka, folder) as broker:
        feed = EventFeed(
            broker=broker, topology=topology, partitions=kafka.partitions, log=folder / "producer.log"
        )
        try:
            yield feed
        finally:
            feed.stop()
