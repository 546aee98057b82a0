"""Offered rows of operators that read a Kafka topic, from the end offsets of the broker."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gesscale.common.counted_warnings import CountedWarnings
from gesscale.common.http_client import FetchError, Resolve, resolve_host, resolve_in_time
from gesscale.common.threads import in_thread
from gesscale.errors import InputError, MetricsUnavailableError
from gesscale.extras import how_to_install
from gesscale.formatting import describe_exception
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.offered import OfferedPoint
from gesscale.monitor.kafka_join import add_end, join_end_offsets
from gesscale.ports import MetricSource
from latency_map import LatencyMapError
from latency_map.measure.peers import split_host_port

_LOG = logging.getLogger(__name__)
#: Default port of a broker.
_PORT = 9092


@dataclass(frozen=True, slots=True)
class KafkaOffsets:
    """Reads the end offsets of a topic: the rows that were offered, processed or not.

    In a topic with transactions some offsets are markers instead of rows; `join_end_offsets` converts them.
    """

    #: Addresses of brokers, ``host:port`` separated by commas.
    bootstrap: str
    #: Name of the topic.
    topic: str
    #: Resolves the brokers and rejects forbidden ones; see `gesscale.kubernetes.controller.targets`.
    resolve: Resolve = field(default=resolve_host, repr=False)

    def end_offset_rows(self, timeout_s: float) -> int:
        """Return the total of offered rows: the sum of the partitions' end offsets.

        Parameters
        ----------
        timeout_s
            Timeout of both requests together, seconds.

        Raises
        ------
        MetricsUnavailableError
            If the broker does not respond in time, or does not have the topic.
        InputError
            If the package confluent-kafka is not installed.
        """
        admin_client, kafka_exception, latest, partition_of = _confluent_kafka()
        half_s = timeout_s / 2  # two requests: partitions, then their end offsets
        try:
            admin = admin_client({"bootstrap.servers": self._addresses(half_s)}, logger=_LOG)
            listing = admin.list_topics(timeout=half_s)
            for broker in listing.brokers.values():  # the client connects to these next, and a broker may name any host
                resolve_in_time(self.resolve, broker.host, broker.port, half_s)
            topic = listing.topics.get(self.topic)
            if topic is None or not topic.partitions:
                raise MetricsUnavailableError("kafka-topic-missing", broker=self.bootstrap, topic=self.topic)
            wanted = {partition_of(self.topic, partition): latest() for partition in topic.partitions}
            offsets = admin.list_offsets(wanted, request_timeout=half_s)
            return sum(each.result(timeout=half_s).offset for each in offsets.values())
        except FetchError as error:
            raise MetricsUnavailableError("kafka-broker-unresolved", broker=self.bootstrap, cause=str(error)) from error
        except (kafka_exception, TimeoutError) as error:
            raise MetricsUnavailableError(
                "kafka-broker-timeout",
                broker=self.bootstrap,
                topic=self.topic,
                timeout_s=timeout_s,
                cause=describe_exception(error),
            ) from error

    def _addresses(self, timeout_s: float) -> str:
        """Return the resolved and checked addresses of the brokers."""
        found = []
        for address in self.bootstrap.split(","):
            try:
                host, port = split_host_port(address.strip(), default_port=_PORT)
            except LatencyMapError as error:
                raise MetricsUnavailableError("kafka-broker-invalid", broker=address, cause=str(error)) from None
            addresses = resolve_in_time(self.resolve, host, port, timeout_s)
            found += [f"[{each}]:{port}" if each.version == 6 else f"{each}:{port}" for each in addresses]
        return ",".join(found)


@dataclass(frozen=True, slots=True)
class KafkaInput:
    """A metric source that adds the end offsets of some operators' topics to their readings.

    A driver reports the offered rows as of the start of its newest batch, the broker reports the present ones. If the
    broker does not respond, or its totals do not fit those of the driver, the driver's figures are kept, and a warning
    is logged.
    """

    #: Reads all other figures.
    source: MetricSource
    #: Topics by operator.
    topics: Mapping[str, KafkaOffsets]
    #: Timeout of each request, and length of the window of a reading, seconds (timeout_s, window_s).
    timeout_s: float
    window_s: float
    monotonic_s: Callable[[], float] = field(default=time.monotonic, repr=False)
    _ends: dict[str, list[OfferedPoint]] = field(default_factory=dict, repr=False)
    _warnings: CountedWarnings = field(default_factory=lambda: CountedWarnings(_LOG), repr=False, compare=False)

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator and the ends of its topic."""
        ahead_s = now_s - self.monotonic_s()
        seen = self.source.observe(now_s)
        requests = {
            name: in_thread(partial(self._end, name, ahead_s), name=f"kafka-{name}")
            for name in seen.readings.keys() & self.topics.keys()
        }
        # The parts of a request have separate timeouts, which may add up to twice the timeout.
        wait(requests.values(), timeout=2 * self.timeout_s)
        ends = {name: future.result() for name, future in requests.items() if future.done()}
        readings = {name: self._joined(reading, ends.get(name)) for name, reading in seen.readings.items()}
        return replace(seen, readings=readings)

    def _end(self, operator: str, ahead_s: float) -> OfferedPoint | None:
        try:
            rows = self.topics[operator].end_offset_rows(self.timeout_s)
        except MetricsUnavailableError as error:
            self._warnings.warn("kafka-rate-missing", operator=operator, cause=str(error))
            return None
        return OfferedPoint(ahead_s + self.monotonic_s(), float(rows))

    def _joined(self, reading: OperatorReading, end: OfferedPoint | None) -> OperatorReading:
        name = reading.operator
        if end is None:
            return reading
        ends = self._ends[name] = add_end(self._ends.get(name, ()), end, reading, self.window_s)
        joined = join_end_offsets(reading, ends, self.window_s)
        if joined is None:
            topic, read = self.topics[name].topic, reading.batches[-1].end_offset_rows_total
            self._warnings.warn("kafka-topic-differs", operator=name, topic=topic, rows=end.rows, read_rows=read)
            return reading
        return joined


def _confluent_kafka() -> tuple[Any, Any, Any, Any]:
    try:
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import AdminClient, OffsetSpec
    except ImportError as error:
        raise InputError("package-missing", package="confluent-kafka", command=how_to_install("controller")) from error
    return AdminClient, KafkaException, OffsetSpec.latest, TopicPartition
