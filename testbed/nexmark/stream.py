"""The driver program: one query of Nexmark over the events as they come, each row of its result once in the sink."""

import json
import logging
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gesscale.errors import GesscaleError
from gesscale.spark import attach, count_output
from gesscale.spark.offsets import sum_of_numbers
from testbed.nexmark.queries import Query
from testbed.nexmark.source import NAME, Nexmark, NexmarkOptions
from testbed.nexmark.topic import EventTopic, read_events
from testbed.pipeline.session import open_session

_LOG = logging.getLogger(__name__)
_POLL_S = 0.25
STATE_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # a batch uploads its changes of the state, not a snapshot
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""Of a session that runs a query with state; the checkpoint is on storage that all nodes share."""
LOCALITY_SETTINGS = {"spark.locality.wait": "0s"}
"""Of the context: tasks do not wait for the replica that holds their state, so that an added one gets a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkStream:
    """A query as it runs.

    Attributes
    ----------
    query
        Which.
    source
        The events, and when they are due.
    folder
        Where checkpoint and sink are.
    trigger_s
        The trigger interval.
    state_partitions
        Into how many parts its state is cut when it first begins.
    metrics_port
        Where `gesscale.spark` serves; 0 takes a free port.
    linger
        Go on serving metrics when everything is processed, until SIGTERM comes.
    topic
        Where the events come from in place of the source ``nexmark``.
    autoscaler
        The StreamAutoscaler whose orders the executors follow, on Kubernetes.
    """

    query: Query
    source: NexmarkOptions
    folder: Path
    trigger_s: float = 2.0
    state_partitions: int = 6
    metrics_port: int = 9108
    linger: bool = False
    topic: EventTopic | None = None
    autoscaler: str | None = None

    @property
    def sink(self) -> Path:
        """The folder of Parquet files that it writes."""
        return self.folder / "sink"


def run_stream(stream: NexmarkStream) -> None:
    """Run the query until everything is processed, or SIGTERM or SIGINT comes.

    Parameters
    ----------
    stream
        What to run.

    Raises
    ------
    GesscaleError
        Where the query fails.
    """
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    jars = ",".join(stream.topic.jars) if stream.topic else ""
    spark = open_nexmark_session(
        stream.query.name, stream.state_partitions, jars=jars, autoscaler=stream.autoscaler
    )
    try:
        attachment = attach(
            spark,
            operator=stream.query.name,
            port=stream.metrics_port,
            cap_rows=stream.source.cap_rows,
            cap_rows_per_replica=stream.source.cap_rows_per_replica,
            trigger_s=stream.trigger_s,
            autoscaler=stream.autoscaler,
        )
        _LOG.warning("operator %s: metrics at %s", stream.query.name, attachment.url)
        _wait(start_query(spark, stream, attachment.url), stream, stopping)
    finally:
        spark.stop()


def open_nexmark_session(
    app: str, state_partitions: int, *, jars: str = "", autoscaler: str | None = None
) -> Any:
    """Open a session for queries with state.

    Parameters
    ----------
    app
        The application's name.
    state_partitions
        Partitions of the state of a query that first begins.
    jars
        Of Kafka's connector, separated by commas.
    autoscaler
        See `testbed.pipeline.session.open_session`.
    """
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
    events
        How many there are.
    """
    if progress is None or progress["numInputRows"] > 0:
        return False
    ends = [source["endOffset"] for source in progress["sources"]]
    offsets = [json.loads(end) if isinstance(end, str) else end for end in ends]
    return all(sum_of_numbers(offset) == events for offset in offsets)


def start_query(spark: Any, stream: NexmarkStream, url: str | None) -> Any:
    """Start the query and return it.

    Parameters
    ----------
    spark
        A session of `open_nexmark_session`.
    stream
        What to run.
    url
        Where `gesscale.spark` serves the live replicas; None where it does not.
    """
    return (
        count_output(stream.query.result(_events(spark, stream, url)))
        .writeStream.queryName(stream.query.name)
        .format("parquet")
        .option("path", str(stream.sink))
        .option("checkpointLocation", str(stream.folder / "checkpoint"))
        .trigger(processingTime=f"{round(stream.trigger_s * 1000)} milliseconds")
        .start()
    )


def _events(spark: Any, stream: NexmarkStream, url: str | None) -> Any:
    if stream.topic is not None:
        return read_events(
            spark,
            stream.topic,
            cap_rows=stream.source.cap_rows,
            service_s_per_row=stream.source.service_s_per_row,
        )
    given = stream.source.model_dump(exclude_none=True)
    if url is not None:
        given["replicas_url"] = f"{url}/replicas"
    texts = {name: str(value) for name, value in given.items()}
    return spark.readStream.format(NAME).options(**texts).load()


def _wait(query: Any, stream: NexmarkStream, stopping: threading.Event) -> None:
    while not stopping.wait(_POLL_S) and query.isActive:
        progress = query.lastProgress
        if not stream.linger and is_through(progress and json.loads(progress.json), stream.source.events):
            break
    if (failure := query.exception()) is not None and not stopping.is_set():
        message = f"nexmark: query {stream.query.name} failed: {str(failure)[:500]}"
        raise GesscaleError(message)
    query.stop()
