"""The driver program: rides in, nearest hot spot appended, each row once in the sink."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gesscale.errors import InputError
from gesscale.spark import count_output
from gesscale.spark.sources import parsed, sum_of_numbers
from testbed.pipeline.kafka_topic import read_topic
from testbed.pipeline.operator import OUTPUT_SCHEMA, RIDE_SCHEMA, Work, append_nearest, keep_valid
from testbed.pipeline.replay import RideReplay, open_rides
from testbed.pipeline.session import open_session, run_query, stop_on_signals

_START_FILE = "replay_start.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRoute:
    """From which topic to which, through one broker; jars of the connector as paths.

    Where the stream has a folder for its output, that is where its rows go, and not to the output topic.
    """

    bootstrap: str
    topic: str
    output_topic: str
    jars: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """All options of the driver program.

    Attributes
    ----------
    operator
        Its name in the workflow, also that of the query.
    checkpoint
        The query's checkpoint folder; a second run goes on where the first one stopped.
    rides, output
        Cleaned rides, not with Kafka; and the file sink's folder, which with Kafka takes the place of the topic.
    speed, copies, start_at_s
        See `testbed.pipeline.schedule.ReplaySchedule`.
    cap_rows, cap_rows_per_replica
        The cap on a batch: at most one; Kafka knows the fixed one only.
    trigger_s
        The trigger interval.
    service_s_per_row
        Emulated time for a row on a node of weight 1.
    metrics_port
        Where `gesscale.spark` serves; 0 takes a free port.
    expected_rows
        Stop when so many rows are processed; None: all of the replay, or with Kafka never.
    linger
        Go on serving metrics when everything is processed, until SIGTERM comes.
    kafka
        Read from and write to topics instead.
    autoscaler
        The StreamAutoscaler whose orders the executors follow, on Kubernetes.
    work
        What is done with a ride.
    """

    operator: str
    checkpoint: Path
    rides: Path | None = None
    output: Path | None = None
    speed: float = 1.0
    copies: int = 1
    start_at_s: float | None = None
    cap_rows: int | None = None
    cap_rows_per_replica: int | None = None
    trigger_s: float = 2.0
    service_s_per_row: float = 0.0
    metrics_port: int = 9108
    expected_rows: int | None = None
    linger: bool = False
    kafka: KafkaRoute | None = None
    autoscaler: str | None = None
    work: Work = Work.NEAREST

    def __post_init__(self) -> None:
        if self.kafka is None and (self.rides is None or self.output is None):
            message = "stream: expected --rides and --to, or --kafka with its topics"
            raise InputError(message)
        if self.kafka is not None and self.cap_rows_per_replica is not None:
            message = "stream: with --kafka the cap is fixed (maxOffsetsPerTrigger); give --cap-rows"
            raise InputError(message)
        if not self.trigger_s > 0:
            message = f"stream: expected --trigger-s > 0, got {self.trigger_s}"
            raise InputError(message)


def run_stream(options: StreamOptions) -> None:
    """Run the query until everything is processed or SIGTERM or SIGINT comes.

    Parameters
    ----------
    options
        What to run.

    Raises
    ------
    InputError
        Where the options or the rides cannot be used.
    GesscaleError
        Where the query fails.
    """
    stopping = stop_on_signals()
    expected_rows = (
        options.expected_rows if options.kafka else open_rides(str(options.rides)).rides * options.copies
    )
    jars = ",".join(options.kafka.jars) if options.kafka else ""
    spark = open_session(options.operator, jars=jars, autoscaler=options.autoscaler)

    def is_through(progress: Any) -> bool:
        wanted = None if options.linger else expected_rows
        return wanted is not None and processed_rows(progress) >= wanted

    run_query(
        spark,
        options.operator,
        lambda url: _start(spark, options, url),
        is_through,
        stopping,
        port=options.metrics_port,
        cap_rows=options.cap_rows,
        cap_rows_per_replica=options.cap_rows_per_replica,
        trigger_s=options.trigger_s,
        autoscaler=options.autoscaler,
    )


def processed_rows(progress: dict[str, Any] | None) -> int:
    """Return how many rows a progress report says are processed: the sum of the sources' end offsets."""
    if progress is None:
        return 0
    ends = [sum_of_numbers(parsed(source["endOffset"])) for source in progress["sources"]]
    return int(sum(end or 0 for end in ends))


def _start(spark: Any, options: StreamOptions, url: str | None) -> Any:
    if options.kafka:
        route = options.kafka
        rows = read_topic(spark, route.bootstrap, route.topic, RIDE_SCHEMA, cap_rows=options.cap_rows)
    else:
        rows = _replay(spark, options, url)
    if options.work is Work.VALID:
        result = rows.mapInPandas(keep_valid(options.service_s_per_row), RIDE_SCHEMA)
    else:
        result = rows.mapInPandas(append_nearest(options.service_s_per_row), OUTPUT_SCHEMA)
    if options.kafka and options.output is None:
        from pyspark.sql import functions as f

        key = f.concat_ws(":", "ride", "copy").alias("key")
        writer = (
            result.select(key, f.to_json(f.struct("*")).alias("value"))
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", options.kafka.bootstrap)
            .option("topic", options.kafka.output_topic)
        )
    else:
        writer = count_output(result).writeStream.format("parquet").option("path", str(options.output))
    return (
        writer.queryName(options.operator)
        .option("checkpointLocation", str(options.checkpoint))
        .trigger(processingTime=f"{round(options.trigger_s * 1000)} milliseconds")
        .start()
    )


def _replay(spark: Any, options: StreamOptions, url: str | None) -> Any:
    spark.dataSource.register(RideReplay)
    given = {
        "path": options.rides,
        "speed": options.speed,
        "copies": options.copies,
        "start_at": _start_at_s(options),
        "cap_rows": options.cap_rows,
        "cap_rows_per_replica": options.cap_rows_per_replica,
        "replicas_url": None if url is None else f"{url}/replicas",
    }
    texts = {name: str(value) for name, value in given.items() if value is not None}
    return spark.readStream.format("gesscale-replay").options(**texts).load()


def _start_at_s(options: StreamOptions) -> float:
    """Return when the replay began: a run that goes on from a checkpoint keeps the first run's instant."""
    remembered = options.checkpoint / _START_FILE
    if remembered.exists():
        return float(json.loads(remembered.read_text())["start_at_s"])
    start_at_s = time.time() if options.start_at_s is None else options.start_at_s
    options.checkpoint.mkdir(parents=True, exist_ok=True)
    remembered.write_text(json.dumps({"start_at_s": start_at_s}) + "\n")
    return start_at_s
