"""Offered rows and lag of an operator that reads a Kafka topic, asked of the broker."""

import logging
from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gesscale.common.http_client import FetchError, Resolve, resolve_host, resolve_in_time
from gesscale.common.threads import in_thread
from gesscale.errors import InputError, MetricsUnavailableError
from gesscale.extras import how_to_install
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.ports import MetricSource
from latency_map import LatencyMapError
from latency_map.measure.peers import split_host_port

_LOG = logging.getLogger(__name__)
#: Where a broker listens by default.
_PORT = 9092


@dataclass(frozen=True, slots=True)
class KafkaOffsets:
    """The end offsets of a topic: what its source has offered, whether or not it was read.

    In a topic written by transactions an offset may be a marker instead of a row; then figures read too high.
    """

    #: Addresses of brokers, ``host:port`` separated by commas.
    bootstrap: str
    #: Name of the topic.
    topic: str
    #: Says where a broker is, and so what may be asked; see `gesscale.kubernetes.controller.targets`.
    resolve: Resolve = field(default=resolve_host, repr=False)

    def end_offset_rows(self, timeout_s: float) -> int:
        """Return the rows ever offered: the sum of the partitions' end offsets.

        Parameters
        ----------
        timeout_s
            Bound on the whole question, seconds.

        Raises
        ------
        MetricsUnavailableError
            Where the broker does not answer in time, or does not know the topic.
        InputError
            Where the package confluent-kafka is not installed.
        """
        admin_client, kafka_exception, latest, partition_of = _confluent_kafka()
        half_s = timeout_s / 2  # two questions: which partitions, and where they end
        try:
            admin = admin_client({"bootstrap.servers": self._addresses(half_s)}, logger=_LOG)
            listing = admin.list_topics(timeout=half_s)
            for broker in listing.brokers.values():  # where it is asked next: a broker may name any host
                resolve_in_time(self.resolve, broker.host, broker.port, half_s)
            topic = listing.topics.get(self.topic)
            if topic is None or not topic.partitions:
                raise MetricsUnavailableError(
                    f"the Kafka broker {self.bootstrap} has no topic {self.topic!r}: create it"
                )
            asked = {partition_of(self.topic, partition): latest() for partition in topic.partitions}
            answers = admin.list_offsets(asked, request_timeout=half_s)
            return sum(answer.result(timeout=half_s).offset for answer in answers.values())
        except FetchError as error:
            raise MetricsUnavailableError(f"the Kafka broker {self.bootstrap} was not asked: {error}") from error
        except (kafka_exception, TimeoutError) as error:
            raise MetricsUnavailableError(
                f"asked the Kafka broker {self.bootstrap} for the end offsets of topic {self.topic!r}, "
                f"but no answer came within {timeout_s:g} s: {error}; is it up and reachable from here?"
            ) from error

    def _addresses(self, timeout_s: float) -> str:
        """Return the brokers as addresses that have been judged."""
        found = []
        for place in self.bootstrap.split(","):
            try:
                host, port = split_host_port(place.strip(), default_port=_PORT)
            except LatencyMapError as error:
                raise MetricsUnavailableError(f"the Kafka broker: {error}") from None
            addresses = resolve_in_time(self.resolve, host, port, timeout_s)
            found += [f"[{each}]:{port}" if each.version == 6 else f"{each}:{port}" for each in addresses]
        return ",".join(found)


@dataclass(frozen=True, slots=True)
class KafkaInput:
    """A metric source that takes the input rate of some operators from their topics.

    A driver tells what was offered when its newest batch began; the broker tells what is offered now. Where the
    broker does not answer, the driver's figure stays, and that is logged.
    """

    #: Reads everything else.
    source: MetricSource
    #: The end offsets to ask for, by operator.
    topics: Mapping[str, KafkaOffsets]
    #: Bound on each question, seconds.
    timeout_s: float
    _last: dict[str, tuple[float, int]] = field(default_factory=dict, repr=False)

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator; IR is the growth of the end offsets since the last call (specification section 1)."""
        seen = self.source.observe(now_s)
        asked = {
            name: in_thread(partial(self._end_offset_rows, name), name=f"kafka-{name}")
            for name in seen.readings.keys() & self.topics.keys()
        }
        # A question has several parts, each with its own bound; together they may take twice the time.
        wait(asked.values(), timeout=2 * self.timeout_s)
        rows = {name: future.result() for name, future in asked.items() if future.done()}
        readings = {name: self._with_input(reading, rows.get(name), now_s) for name, reading in seen.readings.items()}
        return replace(seen, readings=readings)

    def _end_offset_rows(self, operator: str) -> int | None:
        try:
            return self.topics[operator].end_offset_rows(self.timeout_s)
        except MetricsUnavailableError as error:
            _LOG.warning("operator %s: its driver tells the input rate, since %s", operator, error)
            return None

    def _with_input(self, reading: OperatorReading, rows: int | None, now_s: float) -> OperatorReading:
        name = reading.operator
        if rows is None:
            return reading
        at_s, before = self._last.get(name, (now_s, rows))
        self._last[name] = (now_s, rows)
        if now_s <= at_s or rows < before:
            return reading
        return replace(reading, input_rows_per_s=(rows - before) / (now_s - at_s))


def _confluent_kafka() -> tuple[Any, Any, Any, Any]:
    try:
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import AdminClient, OffsetSpec
    except ImportError as error:
        raise InputError(f"Kafka offsets need the package confluent-kafka: {how_to_install('controller')}") from error
    return AdminClient, KafkaException, OffsetSpec.latest, TopicPartition
