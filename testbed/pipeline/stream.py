"""The driver program: reads rides, appends the nearest hot spot, and writes each row once."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gesscale.errors import InputError
from gesscale.spark import count_output
from gesscale.spark.source_kinds import parse_offset, sum_of_numbers
from testbed.pipeline.kafka_broker import require_broker
from testbed.pipeline.kafka_jars import connector_jars
from testbed.pipeline.kafka_topic import read_topic
from testbed.pipeline.operator import OUTPUT_SCHEMA, RIDE_SCHEMA, Work, append_nearest, keep_valid
from testbed.pipeline.replay import RideReplay, open_rides
from testbed.pipeline.session import open_session, run_query, stop_on_signals

_START_FILE = "replay_start.json"


def stream(
    checkpoint: Annotated[Path, typer.Option(help="Checkpoint folder.")],
    rides: Annotated[Path | None, typer.Option(help="Cleaned rides.")] = None,
    output: Annotated[Path | None, typer.Option("--to", help="The file sink's folder.")] = None,
    operator: Annotated[str, typer.Option(help="The operator's name.")] = "nearest",
    speed: Annotated[float, typer.Option(help="Seconds of the day per second.")] = 1.0,
    copies: Annotated[int, typer.Option(help="Copies of each ride.")] = 1,
    start_at_s: Annotated[float | None, typer.Option(help="Time of the first ride, epoch.")] = None,
    cap_rows: Annotated[int | None, typer.Option(help="Cap on a batch.")] = None,
    cap_rows_per_replica: Annotated[int | None, typer.Option(help="Cap for each replica.")] = None,
    trigger_s: Annotated[float, typer.Option(help="Trigger interval.")] = 2.0,
    service_ms_per_row: Annotated[float, typer.Option(help="Emulated time for a row.")] = 0.0,
    metrics_port: Annotated[int, typer.Option(help="Port of the listener; 0: any.")] = 9108,
    expected_rows: Annotated[int | None, typer.Option(help="With Kafka: stop after this many rows.")] = None,
    linger: Annotated[bool, typer.Option(help="Keep running after the last row, until SIGTERM.")] = False,
    kafka: Annotated[str | None, typer.Option(help="Bootstrap server, to use topics instead of files.")] = None,
    topic: Annotated[str, typer.Option(help="Topic to read.")] = "rides",
    output_topic: Annotated[str, typer.Option(help="Topic to write; not with --to.")] = "nearest",
    autoscaler: Annotated[
        str | None, typer.Option(help="StreamAutoscaler whose orders to follow, on Kubernetes.")
    ] = None,
    work: Annotated[Work, typer.Option(help="Work on each ride.")] = Work.NEAREST,
) -> None:
    """Run the operator until all rows are processed or SIGTERM arrives; then exit 0."""
    if kafka is None and (rides is None or output is None):
        raise InputError("stream-input-missing")
    if kafka is not None and cap_rows_per_replica is not None:
        raise InputError("stream-cap-conflict")
    if not trigger_s > 0:
        raise InputError("number-not-positive", place="--trigger-s", got=trigger_s)
    stopping, jars = stop_on_signals(), ""
    if kafka is None:
        expected_rows = open_rides(str(rides)).rides * copies
    else:
        require_broker(kafka)
        jars = ",".join(map(str, connector_jars()))
    spark = open_session(operator, jars=jars, autoscaler=autoscaler)

    def start(url: str | None) -> Any:
        if kafka is not None:
            rows = read_topic(spark, kafka, topic, RIDE_SCHEMA, cap_rows=cap_rows)
        else:
            options = {
                "path": rides,
                "speed": speed,
                "copies": copies,
                "start_at": _start_at_s(checkpoint, start_at_s),
                "cap_rows": cap_rows,
                "cap_rows_per_replica": cap_rows_per_replica,
                "replicas_url": None if url is None else f"{url}/replicas",
            }
            rows = _replay(spark, options)
        if work is Work.VALID:
            result = rows.mapInPandas(keep_valid(service_ms_per_row / 1000), RIDE_SCHEMA)
        else:
            result = rows.mapInPandas(append_nearest(service_ms_per_row / 1000), OUTPUT_SCHEMA)
        if output is None:
            writer = _to_topic(result).option("kafka.bootstrap.servers", kafka).option("topic", output_topic)
        else:
            writer = count_output(result).writeStream.format("parquet").option("path", str(output))
        return (
            writer.queryName(operator)
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{round(trigger_s * 1000)} milliseconds")
            .start()
        )

    def is_complete(progress: Any) -> bool:
        return not linger and expected_rows is not None and processed_rows(progress) >= expected_rows

    run_query(
        spark,
        operator,
        start,
        is_complete,
        stopping,
        port=metrics_port,
        cap_rows=cap_rows,
        cap_rows_per_replica=cap_rows_per_replica,
        trigger_s=trigger_s,
        python_cpu_s_per_row=service_ms_per_row / 1000 or None,  # emulated work counts as CPU
        autoscaler=autoscaler,
    )


def processed_rows(progress: dict[str, Any] | None) -> int:
    """Return the processed rows in a progress report: the sum of the end offsets of the sources."""
    if progress is None:
        return 0
    ends = [sum_of_numbers(parse_offset(source["endOffset"])) for source in progress["sources"]]
    return int(sum(end or 0 for end in ends))


def _replay(spark: Any, options: Mapping[str, object]) -> Any:
    spark.dataSource.register(RideReplay)
    texts = {name: str(value) for name, value in options.items() if value is not None}
    return spark.readStream.format("gesscale-replay").options(**texts).load()


def _to_topic(rows: Any) -> Any:
    from pyspark.sql import functions as f

    key = f.concat_ws(":", "ride", "copy").alias("key")
    return rows.select(key, f.to_json(f.struct("*")).alias("value")).writeStream.format("kafka")


def _start_at_s(checkpoint: Path, start_at_s: float | None) -> float:
    """Return the start of the replay; a run that resumes from a checkpoint keeps that of the first run."""
    start_file = checkpoint / _START_FILE
    if start_file.exists():
        return float(json.loads(start_file.read_text())["start_at_s"])
    start_at_s = time.time() if start_at_s is None else start_at_s
    checkpoint.mkdir(parents=True, exist_ok=True)
    start_file.write_text(json.dumps({"start_at_s": start_at_s}) + "\n")
    return start_at_s
