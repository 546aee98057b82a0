"""The driver program: one query of Nexmark over the events as they come, each row of its result once in the sink."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from gesscale.spark import count_output
from gesscale.spark.sources import sum_of_numbers
from testbed.nexmark.events import BEGINS_S, SCHEMA, events
from testbed.nexmark.queries import NexmarkQuery
from testbed.nexmark.source import NAME, Nexmark, NexmarkOptions, due_events
from testbed.pipeline.kafka_topic import Message, create_topics, read_topic, send_due
from testbed.pipeline.operator import node_capacity
from testbed.pipeline.session import open_session

#: Events that are sent before the broker has the earlier ones span so much of their own time at most. Less
#: than rows may be late (`testbed.nexmark.queries.LATE`): a batch that begins meanwhile may miss some
#: partitions.
_AT_ONCE_S = 1.0


def produce_events(options: NexmarkOptions, bootstrap: str, topic: str, *, partitions: int) -> int:
    """Make the topic where it is not there, send each event when it is due, and return when the broker has them all.

    The events go to the partitions in turn: a batch reads as many of each, so that none is late. Returns how many were
    sent and acknowledged.

    Raises
    ------
    GesscaleError
        If the broker does not take them.
    """
    create_topics(bootstrap, [topic], partitions=partitions)

    def messages(start: int, end: int) -> Iterator[Message]:
        for number, value in enumerate(event_texts(options, start, end), start):
            yield str(number), value, number % partitions

    return send_due(
        bootstrap,
        topic,
        options.events,
        due=lambda: due_events(options, time.time()),
        messages=messages,
        batch_rows=max(1, int(options.events_per_s * _AT_ONCE_S)),
    )


def event_texts(options: NexmarkOptions, start: int, end: int) -> list[str]:
    """Return the events [start, end) as JSON texts; fields of other kinds are left out."""
    made = events(start, end, events_per_s=options.events_per_s)
    texts = made.set_column(made.schema.get_field_index("at"), "at", _as_text(made["at"]))
    texts = texts.set_column(texts.schema.get_field_index("expires"), "expires", _as_text(texts["expires"]))
    return [
        json.dumps({name: value for name, value in event.items() if value is not None}) for event in texts.to_pylist()
    ]


def read_events(spark: Any, bootstrap: str, topic: str, options: NexmarkOptions) -> Any:
    """Return the events of a topic, from its beginning, as a streaming frame, with the cap and time of the options."""
    read = read_topic(spark, bootstrap, topic, SCHEMA, cap_rows=options.cap_rows)
    service_s = options.service_s_per_row
    return read.mapInArrow(take_time(service_s), SCHEMA) if service_s else read


def make_events(spark: Any, options: NexmarkOptions, url: str | None) -> Any:
    """Return the events of the source ``nexmark`` as a streaming frame.

    Parameters
    ----------
    url
        Where `gesscale.spark` serves the live replicas; None where it does not.
    """
    given = options.model_dump(exclude_none=True)
    if url is not None:
        given["replicas_url"] = f"{url}/replicas"
    texts = {name: str(value) for name, value in given.items()}
    return spark.readStream.format(NAME).options(**texts).load()


def take_time(service_s_per_row: float) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` that hands rows on at the node's emulated capacity."""

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
    written = [None if each is None else each.isoformat(timespec="microseconds") for each in times.to_pylist()]
    return pa.array(written, pa.string())


#: Of a session that runs a query with state; the checkpoint is on storage that all nodes share.
STATE_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # a batch uploads its changes of the state, not a snapshot
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
#: Of the context: tasks do not wait for the replica that holds their state, so that an added one gets a part
#: of it.
LOCALITY_SETTINGS = {"spark.locality.wait": "0s"}


def open_nexmark_session(app: str, state_partitions: int, *, jars: str = "", autoscaler: str | None = None) -> Any:
    """Open a session for queries with state."""
    spark = open_session(app, jars=jars, autoscaler=autoscaler, settings=LOCALITY_SETTINGS)
    for name, value in STATE_SETTINGS.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(state_partitions))
    spark.dataSource.register(Nexmark)
    return spark


def is_through(progress: Any, events: int) -> bool:
    """Return whether a progress report says that all events are read, and the windows that they close are written.

    Parameters
    ----------
    progress
        The last one, JSON values; None before the first.
    """
    if progress is None or progress["numInputRows"] > 0:
        return False
    ends = [source["endOffset"] for source in progress["sources"]]
    offsets = [json.loads(end) if isinstance(end, str) else end for end in ends]
    return all(sum_of_numbers(offset) == events for offset in offsets)


def start_query(query: NexmarkQuery, rows: Any, folder: Path, trigger_s: float) -> Any:
    """Start a query over the events and return it; its checkpoint and its sink of Parquet files are in the folder."""
    return (
        count_output(query.result(rows))
        .writeStream.queryName(query.name)
        .format("parquet")
        .option("path", str(folder / "sink"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime=f"{round(trigger_s * 1000)} milliseconds")
        .start()
    )


#: Seconds of events at the end whose windows need not have closed.
TAIL_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchComparison:
    """Rows of a stream against those of a batch."""

    #: Rows of the batch.
    expected: int
    #: Of those, how many the stream did not write.
    missing: int
    #: Rows of the stream that the batch does not have: wrong ones, and those that came twice.
    unexpected: int

    @property
    def exact(self) -> bool:
        """Return whether both are the same, and there is a row at all."""
        return self.expected > 0 and self.missing == self.unexpected == 0


def compare(spark: Any, query: NexmarkQuery, options: NexmarkOptions, sink: Path) -> BatchComparison:
    """Compare the files that a stream wrote with the same query as a batch."""
    spark.dataSource.register(Nexmark)
    given = {name: str(value) for name, value in options.model_dump(exclude_none=True).items()}
    # Kept before it is filtered: Spark 4.3 moves a filter on the end of a session below the merging of its events.
    batch = query.result(spark.read.format(NAME).options(**given).load()).cache()
    stream = spark.read.schema(batch.schema).parquet(str(sink))
    if query.closes:
        last_s = BEGINS_S + options.events / options.events_per_s - TAIL_S
        until = datetime.fromtimestamp(last_s, UTC)
        batch, stream = (each.where(each[query.closes] <= until) for each in (batch, stream))
    missing, unexpected = batch.exceptAll(stream).count(), stream.exceptAll(batch).count()
    return BatchComparison(expected=batch.count(), missing=missing, unexpected=unexpected)
