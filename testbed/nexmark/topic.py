"""The events of Nexmark through a Kafka topic: who sends them, and the frame that reads them."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gesscale.errors import GesscaleError
from testbed.nexmark.events import SCHEMA, events
from testbed.nexmark.source import NexmarkOptions, due_events
from testbed.pipeline.capacity import node_capacity

_TICK_S = 0.05
_FLUSH_S = 120.0
"""A broker that was killed has so long to come back."""
_AT_ONCE_S = 1.0
"""Events that are sent before the broker has the earlier ones span so much of their own time at most.

Less than rows may be late (`testbed.nexmark.queries.LATE`): a batch that begins meanwhile may miss some partitions.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTopic:
    """A topic with events.

    Attributes
    ----------
    bootstrap, name
        Of the broker, such as ``127.0.0.1:9092``, and of the topic.
    jars
        Paths of the connector's jars, for who reads it.
    """

    bootstrap: str
    name: str = "nexmark"
    jars: tuple[str, ...] = ()


def produce_events(options: NexmarkOptions, topic: EventTopic, *, partitions: int) -> int:
    """Make the topic, send each event when it is due, and return when the broker has all of them.

    Parameters
    ----------
    options
        Which events, and when they are due.
    topic
        Where to; it does not exist yet.
    partitions
        Of the topic. The events go to them in turn: a batch reads as many of each, so that none is late.

    Returns
    -------
    int
        Events sent and acknowledged.

    Raises
    ------
    GesscaleError
        Where the broker does not take them.
    """
    from confluent_kafka import Producer

    from testbed.pipeline.kafka_topic import create_topics

    create_topics(topic.bootstrap, [topic.name], partitions=partitions)
    failures: list[str] = []

    def note(error: object, _message: object) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": topic.bootstrap, "enable.idempotence": True, "linger.ms": 20})
    sent, at_once = 0, max(1, int(options.events_per_s * _AT_ONCE_S))
    while sent < options.events and not failures:
        until = min(due_events(options, time.time()), sent + at_once)
        for number, value in enumerate(event_texts(options, sent, until), sent):
            producer.produce(
                topic.name, key=str(number), value=value, partition=number % partitions, on_delivery=note
            )
        waiting = producer.flush(_FLUSH_S) if until > sent else 0
        if waiting:
            failures.append(f"{waiting} events not acknowledged in {_FLUSH_S:.0f} s")
        if until == sent:
            time.sleep(_TICK_S)
        sent = max(sent, until)
    if failures:
        message = f"kafka: events for topic {topic.name} at {topic.bootstrap} were not taken: {failures[0]}"
        raise GesscaleError(message)
    return sent


def event_texts(options: NexmarkOptions, start: int, end: int) -> list[str]:
    """Return the events [start, end) as JSON texts; fields of other kinds are left out.

    Parameters
    ----------
    options
        Which events.
    start, end
        Their numbers.
    """
    import json

    made = events(start, end, events_per_s=options.events_per_s, seed=options.seed)
    texts = made.set_column(made.schema.get_field_index("at"), "at", _as_text(made["at"]))
    texts = texts.set_column(texts.schema.get_field_index("expires"), "expires", _as_text(texts["expires"]))
    return [
        json.dumps({name: value for name, value in event.items() if value is not None})
        for event in texts.to_pylist()
    ]


def read_events(
    spark: Any, topic: EventTopic, *, cap_rows: int | None, service_s_per_row: float = 0.0
) -> Any:
    """Return the events of a topic as a streaming frame with the columns of `testbed.nexmark.events.SCHEMA`.

    Parameters
    ----------
    spark
        A session that has the connector's jars.
    topic
        Where they are, from its beginning.
    cap_rows
        The cap on a batch; None where there is none.
    service_s_per_row
        Emulated time for an event on a node of weight 1, reading it included.
    """
    from pyspark.sql import functions as f

    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", topic.bootstrap)
        .option("subscribe", topic.name)
        .option("startingOffsets", "earliest")
    )
    if cap_rows is not None:
        source = source.option("maxOffsetsPerTrigger", cap_rows)
    event = f.from_json(f.col("value").cast("string"), SCHEMA)
    read = source.load().select(event.alias("event")).select("event.*")
    return read.mapInArrow(take_time(service_s_per_row), SCHEMA) if service_s_per_row else read


def take_time(
    service_s_per_row: float,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` that hands rows on at the node's emulated capacity.

    Parameters
    ----------
    service_s_per_row
        Time for a row on a node of weight 1; waiting for it counts.
    """

    def hand_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        capacity = node_capacity(service_s_per_row)
        began_s = time.perf_counter()
        for batch in batches:
            time.sleep(capacity.pause_s(batch.num_rows, time.perf_counter() - began_s))
            yield batch
            began_s = time.perf_counter()

    return hand_on


def _as_text(times: pa.ChunkedArray) -> pa.Array:
    """Write instants as ISO 8601 texts with microseconds."""
    written = [
        None if each is None else each.isoformat(timespec="microseconds") for each in times.to_pylist()
    ]
    return pa.array(written, pa.string())
