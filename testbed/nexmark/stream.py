"""The driver program: runs a query of Nexmark as a stream, and compares its result with a batch."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from gesscale.spark import count_output
from gesscale.spark.source_kinds import sum_of_numbers
from testbed.nexmark.events import BEGINS_S, SCHEMA, events
from testbed.nexmark.queries import NexmarkQuery
from testbed.nexmark.source import NAME, Nexmark, NexmarkOptions, due_events
from testbed.pipeline.kafka_topic import Message, create_topics, read_topic, send_due
from testbed.pipeline.operator import node_capacity
from testbed.pipeline.session import open_session

#: Maximum span in event time of the events that are sent before the broker acknowledges earlier ones. It must be less
#: than the allowed lateness (`testbed.nexmark.queries.LATE`), as a batch may start before all partitions have them.
_AT_ONCE_S = 1.0


def produce_events(options: NexmarkOptions, bootstrap: str, topic: str, *, partitions: int) -> int:
    """Create the topic if needed, send each event when it is due, and return the number of acknowledged events.

    The events go to the partitions in turn: a batch reads the same number from each, so that none is late.

    Raises
    ------
    GesscaleError
        If the broker rejects them.
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
    """Return the events [start, end) as JSON texts, without the fields of other kinds."""
    generated = events(start, end, events_per_s=options.events_per_s)
    texts = generated.set_column(generated.schema.get_field_index("at"), "at", _as_text(generated["at"]))
    texts = texts.set_column(texts.schema.get_field_index("expires"), "expires", _as_text(texts["expires"]))
    return [
        json.dumps({name: value for name, value in event.items() if value is not None}) for event in texts.to_pylist()
    ]


def read_events(spark: Any, bootstrap: str, topic: str, options: NexmarkOptions) -> Any:
    """Return all events of a topic as a streaming frame, with the cap and the emulated work of the options."""
    read = read_topic(spark, bootstrap, topic, SCHEMA, cap_rows=options.cap_rows)
    service_s = options.service_s_per_row
    return read.mapInArrow(emulate_work(service_s), SCHEMA) if service_s else read


def generate_events(spark: Any, options: NexmarkOptions, url: str | None) -> Any:
    """Return the events of the source ``nexmark`` as a streaming frame.

    Parameters
    ----------
    url
        URL at which `gesscale.spark` serves the live replicas; None if it does not.
    """
    settings = options.model_dump(exclude_none=True)
    if url is not None:
        settings["replicas_url"] = f"{url}/replicas"
    texts = {name: str(value) for name, value in settings.items()}
    return spark.readStream.format(NAME).options(**texts).load()


def emulate_work(service_s_per_row: float) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that forwards rows at the node's emulated capacity."""

    def forward(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        capacity = node_capacity(service_s_per_row)
        began_s = time.perf_counter()
        for batch in batches:
            time.sleep(capacity.pause_s(batch.num_rows, time.perf_counter() - began_s))
            yield batch
            began_s = time.perf_counter()

    return forward


def _as_text(times: pa.ChunkedArray) -> pa.Array:
    """Write instants as ISO 8601 texts with microseconds."""
    written = [None if each is None else each.isoformat(timespec="microseconds") for each in times.to_pylist()]
    return pa.array(written, pa.string())


#: Settings of a session for a query with state; the checkpoint is on storage that all nodes share.
STATE_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # a batch uploads the changes of the state instead of a snapshot
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
#: Settings of the context: tasks do not wait for the replica with their state, so that an added one gets a share.
LOCALITY_SETTINGS = {"spark.locality.wait": "0s"}


def open_nexmark_session(app: str, state_partitions: int, *, jars: str = "", autoscaler: str | None = None) -> Any:
    """Open a session for queries with state."""
    spark = open_session(app, jars=jars, autoscaler=autoscaler, settings=LOCALITY_SETTINGS)
    for name, value in STATE_SETTINGS.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(state_partitions))
    spark.dataSource.register(Nexmark)
    return spark


def is_complete(progress: Any, events: int) -> bool:
    """Return whether, by a progress report, all events are read and the windows that they close are written.

    Parameters
    ----------
    progress
        The last progress report, JSON values; None before the first.
    """
    if progress is None or progress["numInputRows"] > 0:
        return False
    ends = [source["endOffset"] for source in progress["sources"]]
    offsets = [json.loads(end) if isinstance(end, str) else end for end in ends]
    return all(sum_of_numbers(offset) == events for offset in offsets)


def start_query(query: NexmarkQuery, rows: Any, folder: Path, trigger_s: float) -> Any:
    """Start a query over the events, with checkpoint and Parquet sink in the folder, and return it."""
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
    """Comparison of the rows of a stream with those of a batch."""

    #: Rows of the batch.
    expected: int
    #: Rows of the batch that the stream did not write.
    missing: int
    #: Rows of the stream that the batch does not have: wrong or duplicated ones.
    unexpected: int

    @property
    def exact(self) -> bool:
        """True if both are equal and not empty."""
        return self.expected > 0 and self.missing == self.unexpected == 0


def compare(spark: Any, query: NexmarkQuery, options: NexmarkOptions, sink: Path) -> BatchComparison:
    """Compare the files that a stream wrote with the result of the same query as a batch."""
    spark.dataSource.register(Nexmark)
    settings = {name: str(value) for name, value in options.model_dump(exclude_none=True).items()}
    # Cached before it is filtered: Spark 4.3 moves a filter on the end of a session below the merging of its events.
    batch = query.result(spark.read.format(NAME).options(**settings).load()).cache()
    stream = spark.read.schema(batch.schema).parquet(str(sink))
    if query.closes:
        last_s = BEGINS_S + options.events / options.events_per_s - TAIL_S
        until = datetime.fromtimestamp(last_s, UTC)
        batch, stream = (each.where(each[query.closes] <= until) for each in (batch, stream))
    missing, unexpected = batch.exceptAll(stream).count(), stream.exceptAll(batch).count()
    return BatchComparison(expected=batch.count(), missing=missing, unexpected=unexpected)
