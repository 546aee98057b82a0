"""Batch job that cleans the trip files of 2013 and writes sorted, numbered rides as Parquet.

It also imports the original files of the TLC. Times are New York's local time, unchanged.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gesscale.errors import InputError

#: West, east, south, north in degrees: the five boroughs with both airports, and Newark's.
NEW_YORK = (-74.30, -73.65, 40.45, 41.00)

NEEDED = (
    "medallion", "hack_license", "pickup_datetime", "dropoff_datetime", "passenger_count",
    "pickup_longitude", "pickup_latitude",
)  # fmt: skip
#: Reasons for dropping a record; the first match counts.
REASONS = ("missing_time", "bad_coordinates", "dropoff_before_pickup", "no_passengers", "duplicate")

SUMMARY = "summary.json"
_SAME_RIDE = ["pickup_time", "medallion", "hack_license", "pickup_longitude", "pickup_latitude"]
_TIME = "yyyy-MM-dd HH:mm:ss"
_ROW_GROUP_BYTES = 1 << 20  # a task of the replay reads one or two row groups


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSummary:
    """Result of the cleaning."""

    #: Records read.
    records: int
    #: Rides kept.
    rides: int
    #: Records dropped, by reason.
    dropped: dict[str, int]


def clean_rides(spark: Any, inputs: Sequence[str], output: Path) -> CleanSummary:
    """Clean trip files.

    Raises
    ------
    InputError
        If a file or a column is missing, or no ride is left.
    """
    from pyspark.sql import functions as f

    checked = _check(_read(spark, inputs)).cache()
    counts = {row["reason"]: row["count"] for row in checked.groupBy("reason").count().collect()}
    valid = counts.pop(None, 0)
    kept = checked.where("reason is null").dropDuplicates(_SAME_RIDE)
    in_order = kept.repartition(1).sortWithinPartitions(*_SAME_RIDE)
    rides = in_order.select(
        f.monotonically_increasing_id().alias("ride"),  # 0, 1, 2 ... in a single partition
        "pickup_time", "pickup_longitude", "pickup_latitude",
    )  # fmt: skip
    rides.write.mode("overwrite").option("parquet.block.size", _ROW_GROUP_BYTES).parquet(str(output))
    checked.unpersist()
    kept_rides = spark.read.parquet(str(output)).count()
    dropped = {reason: counts.get(reason, 0) for reason in REASONS} | {"duplicate": valid - kept_rides}
    summary = CleanSummary(records=valid + sum(counts.values()), rides=kept_rides, dropped=dropped)
    (output / SUMMARY).write_text(json.dumps(asdict(summary), indent=2) + "\n")
    if kept_rides == 0:
        raise InputError("rides-none-valid", records=summary.records, dropped=dropped)
    return summary


def _read(spark: Any, inputs: Sequence[str]) -> Any:
    if missing := [path for path in inputs if not Path(path).exists()]:
        raise InputError("trip-files-missing", files=missing)
    # Read each file separately: Spark matches columns by position, and their order may differ between files.
    frames = [_read_one(spark, file) for path in inputs for file in _files(Path(path))]
    if not frames:
        raise InputError("trip-folder-empty", folders=list(inputs))
    records = frames[0]
    for frame in frames[1:]:
        records = records.unionByName(frame)
    return records


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.csv")) if path.is_dir() else [path]


def _read_one(spark: Any, path: Path) -> Any:
    raw = spark.read.csv(
        str(path), header=True, ignoreLeadingWhiteSpace=True, ignoreTrailingWhiteSpace=True, enforceSchema=False
    )
    names = [name.strip().lower() for name in raw.columns]
    if missing := [name for name in NEEDED if name not in names]:
        raise InputError("trip-columns-missing", source=str(path), missing=missing, got=names)
    return raw.toDF(*names).select(*NEEDED)


def _check(records: Any) -> Any:
    from pyspark.sql import functions as f

    def time(name: str) -> Any:
        return f.try_to_timestamp(f.col(name), f.lit(_TIME)).cast("timestamp_ntz")

    def degrees(name: str) -> Any:
        return f.col(name).try_cast("double").alias(name)

    west, east, south, north = NEW_YORK
    parsed = records.select(
        "medallion", "hack_license",
        time("pickup_datetime").alias("pickup_time"), time("dropoff_datetime").alias("dropoff_time"),
        f.col("passenger_count").try_cast("int").alias("passengers"),
        degrees("pickup_longitude"), degrees("pickup_latitude"),
    )  # fmt: skip
    inside = f.col("pickup_longitude").between(west, east) & f.col("pickup_latitude").between(south, north)
    fails = (
        f.col("pickup_time").isNull() | f.col("dropoff_time").isNull(),
        ~f.coalesce(inside, f.lit(False)),
        f.col("dropoff_time") < f.col("pickup_time"),
        f.coalesce(f.col("passengers"), f.lit(0)) <= 0,
    )
    reason = f.lit(None).cast("string")
    for name, failed in reversed(list(zip(REASONS, fails, strict=False))):
        reason = f.when(failed, f.lit(name)).otherwise(reason)
    return parsed.withColumn("reason", reason)
