"""Sends rides to a topic when they are due, and verifies the rows of a topic."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gesscale.errors import GesscaleError
from testbed.pipeline.replay import open_rides
from testbed.pipeline.schedule import ReplaySchedule
from testbed.pipeline.sink import SinkCount, count_keys

_TICK_S = 0.05
#: Time for a killed broker to come back.
_FLUSH_S = 120.0
_BATCH_RIDES = 1000
_ANY_PARTITION = -1
_READ_S = 60.0
_CREATE_S = 20.0
#: Key, value and partition.
Message = tuple[str, str, int]
_GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, are spread evenly


def create_topics(bootstrap: str, topics: Iterable[str], *, partitions: int) -> None:
    """Create missing topics, so that a reader finds them before their first row.

    Raises
    ------
    GesscaleError
        If the broker does not create one.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic

    wanted = [NewTopic(topic, num_partitions=partitions, replication_factor=1) for topic in topics]
    admin = AdminClient({"bootstrap.servers": bootstrap})  # must outlive its futures
    for topic, future in admin.create_topics(wanted).items():
        try:
            future.result(_CREATE_S)
        except (KafkaException, TimeoutError) as error:
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                continue
            raise GesscaleError("kafka-topic-failed", broker=bootstrap, topic=topic, cause=str(error)) from error


def send_due(
    bootstrap: str,
    topic: str,
    rows: int,
    *,
    due: Callable[[], int],
    messages: Callable[[int, int], Iterable[Message]],
    batch_rows: int,
) -> int:
    """Send rows to a topic when they are due; return when the broker has acknowledged all.

    Raises
    ------
    GesscaleError
        If the broker does not acknowledge them.
    """
    from confluent_kafka import Producer

    failures: list[str] = []

    def note(error: object, _message: object) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20})
    sent = 0
    while sent < rows and not failures:
        until = min(due(), sent + batch_rows)
        if until <= sent:
            time.sleep(_TICK_S)
            continue
        for key, value, partition in messages(sent, until):
            producer.produce(topic, key=key, value=value, partition=partition, on_delivery=note)
        waiting = producer.flush(_FLUSH_S)
        if waiting:
            failures.append(f"{waiting} rows not acknowledged within {_FLUSH_S:.0f} s")
        sent = until
    if failures:
        raise GesscaleError("kafka-rows-unsent", broker=bootstrap, topic=topic, cause=failures[0])
    return sent


def produce_rides(
    rides: Path, *, bootstrap: str, topic: str, speed: float, copies: int, broken_share: float = 0.0
) -> int:
    """Send every ride ``copies`` times when it is due; return the number of rows."""
    store = open_rides(str(rides))
    schedule = ReplaySchedule(pickup_s=store.pickup_s(), speed=speed, copies=copies, start_at_s=time.time())
    return send_due(
        bootstrap,
        topic,
        schedule.rows_total,
        due=lambda: schedule.offered_rows(time.time()),
        messages=lambda start, end: _messages(store, schedule, start, end, broken_share),
        batch_rows=_BATCH_RIDES * copies,
    )


def read_topic(spark: Any, bootstrap: str, topic: str, schema: str, *, cap_rows: int | None) -> Any:
    """Return a topic of JSON texts as a streaming frame, from its beginning; `cap_rows` limits a batch."""
    from pyspark.sql import functions as f

    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
    )
    if cap_rows is not None:
        source = source.option("maxOffsetsPerTrigger", cap_rows)
    row = f.from_json(f.col("value").cast("string"), schema)
    return source.load().select(row.alias("row")).select("row.*")


def broken_rows(rows: int, broken_share: float) -> int:
    """Return how many of the first rows `produce_rides` sends without a position.

    Examples
    --------
    >>> broken_rows(100, 0.02)
    3
    """
    return sum(_is_broken(number, broken_share) for number in range(rows))


def verify_topic(bootstrap: str, topic: str, expected_rows: int) -> SinkCount:
    """Count the rows of an output topic by their keys, up to its present end.

    Spark's Kafka sink is at-least-once: a repeated batch is written again and counts in ``duplicated``. But ``missing``
    must be 0.

    Raises
    ------
    GesscaleError
        If the topic cannot be read within a minute.
    """
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "verify", "enable.auto.commit": False})
    keys: list[tuple[int, int]] = []
    try:
        described = consumer.list_topics(topic, timeout=10).topics[topic]
        places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in described.partitions]
        spans = [consumer.get_watermark_offsets(place, timeout=10) for place in places]
        rows = sum(end - begin for begin, end in spans)
        consumer.assign(places)
        deadline_s = time.monotonic() + _READ_S
        while len(keys) < rows and time.monotonic() < deadline_s:
            keys.extend(_key(message) for message in consumer.consume(5000, timeout=1) if message.error() is None)
    finally:
        consumer.close()
    if len(keys) < rows:
        raise GesscaleError("kafka-rows-unread", topic=topic, read=len(keys), rows=rows, timeout_s=_READ_S)
    ride, copy = np.array(keys, dtype=np.int64).reshape(-1, 2).T
    return count_keys(ride, copy, expected_rows)


def _messages(store: Any, schedule: ReplaySchedule, start: int, end: int, broken_share: float) -> list[Message]:
    copies = schedule.copies
    table = store.read(start // copies, end // copies).to_pylist()
    messages = []
    for ride in table:
        due_at_s = float(schedule.due_at_s(np.array([ride["ride"]]))[0])
        pickup_time = ride["pickup_time"].strftime("%Y-%m-%dT%H:%M:%S")
        for copy in range(copies):
            row = {**ride, "copy": copy, "pickup_time": pickup_time, "due_at_s": due_at_s}
            if _is_broken(ride["ride"] * copies + copy, broken_share):
                row |= {"pickup_longitude": 0.0, "pickup_latitude": 0.0}
            messages.append((f"{ride['ride']}:{copy}", json.dumps(row), _ANY_PARTITION))
    return messages


def _is_broken(number: int, broken_share: float) -> bool:
    return number * _GOLDEN % 1 < broken_share


def _key(message: Any) -> tuple[int, int]:
    ride, _, copy = message.key().decode().partition(":")
    return int(ride), int(copy)
