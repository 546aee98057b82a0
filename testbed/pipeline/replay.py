"""Cleaned rides on disk, and the streaming source ``gesscale-replay`` that replays them by their timestamps."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow.dataset import Dataset, dataset, field
from pyspark.sql.datasource import DataSource

from gesscale.errors import InputError
from testbed.pipeline.admission import AdmissionOptions, AdmissionReader, RowRange
from testbed.pipeline.operator import RIDE_SCHEMA
from testbed.pipeline.schedule import ReplaySchedule

_ROW_GROUP = 10_000
COLUMNS = ("ride", "pickup_time", "pickup_longitude", "pickup_latitude")


@dataclass(frozen=True, slots=True)
class RideStore:
    """Cleaned rides on disk, sorted and numbered from 0; ranges are read independently."""

    rows: Dataset

    @property
    def rides(self) -> int:
        """Number of rides."""
        return int(self.rows.count_rows())

    def pickup_s(self) -> NDArray[np.float64]:
        """Return all pickup times in seconds since the epoch, shape (rides,)."""
        return _seconds(self.rows.to_table(columns=["pickup_time"], use_threads=False)["pickup_time"])

    def read(self, first_ride: int, end_ride: int) -> pa.Table:
        """Return the rides [first_ride, end_ride) with the columns `COLUMNS`."""
        wanted = (field("ride") >= first_ride) & (field("ride") < end_ride)
        return self.rows.to_table(columns=list(COLUMNS), filter=wanted, use_threads=False)


def _seconds(times: pa.ChunkedArray) -> NDArray[np.float64]:
    micros: NDArray[np.int64] = times.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    return micros / 1e6


@lru_cache(maxsize=4)
def open_rides(folder: str) -> RideStore:
    """Open a folder that `testbed.pipeline.clean` has written, without reading rides.

    Raises
    ------
    InputError
        If it is not such a folder.
    """
    paths = sorted(str(path) for path in Path(folder).glob("*.parquet"))
    if not paths:
        raise InputError("rides-not-found", folder=folder)
    try:
        rows = dataset(paths, format="parquet")
    except (OSError, pa.ArrowException) as error:
        raise InputError("rides-unreadable", source=folder, cause=str(error)) from error
    if missing := set(COLUMNS) - set(rows.schema.names):
        raise InputError("rides-columns-missing", source=folder, missing=sorted(missing))
    return RideStore(rows)


def write_steady_rides(folder: Path, rides: int, *, interval_s: float) -> Path:
    """Write cleaned rides at equal intervals, all from one place; return their folder."""
    micros = np.arange(rides) * round(interval_s * 1e6)
    table = pa.table(
        {
            "ride": pa.array(np.arange(rides)),
            "pickup_time": pa.array(np.datetime64(datetime(2015, 1, 6, 4)) + micros.astype("timedelta64[us]")),
            "pickup_longitude": pa.array(np.full(rides, -73.98)),
            "pickup_latitude": pa.array(np.full(rides, 40.75)),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / "part-0.parquet", row_group_size=_ROW_GROUP)
    return folder


class ReplayOptions(AdmissionOptions):
    """The options of the source."""

    #: Folder of cleaned rides.
    path: str
    #: See `ReplaySchedule` (speed, copies, start_at).
    speed: float = 1.0
    copies: int = 1
    start_at: float


@dataclass
class RideRange(RowRange):
    """The rows [start, end) of one task, and the time of the first pickup of all rides."""

    first_pickup_s: float


class RideReplay(DataSource):  # type: ignore[misc] # pyspark is not followed by mypy
    """The data source ``gesscale-replay`` with `ReplayOptions`; its offsets are ``{"rows": k}``."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "gesscale-replay"

    def schema(self) -> str:
        """Return the columns of a row."""
        return RIDE_SCHEMA

    def streamReader(self, schema: Any) -> "ReplayReader":  # noqa: ARG002, N802 - Spark's signature
        """Return the reader of a query."""
        return ReplayReader(ReplayOptions.parse(self.name(), dict(self.options)))


class ReplayReader(AdmissionReader):
    """Plans batches in a Python process on the driver's node; executors read the rows."""

    def __init__(self, options: ReplayOptions) -> None:
        super().__init__(options)
        self._options = options
        self._schedule: ReplaySchedule | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omit the schedule, because a task needs only its range."""
        return {**self.__dict__, "_schedule": None}

    def offered_rows(self) -> int:
        """Return the number of rows that are due now."""
        return self._plan().offered_rows(time.time())

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[RideRange]:
        """Split a batch into tasks, each with the time of the first pickup."""
        first = float(self._plan().pickup_s[0])
        return [RideRange(each.start, each.end, first) for each in super().partitions(start, end)]

    def read(self, partition: RideRange) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task."""
        options, copies = self._options, self._options.copies
        first_ride, end_ride = partition.start // copies, -(-partition.end // copies)
        rides = open_rides(options.path).read(first_ride, end_ride)
        rows = np.arange(partition.start, partition.end)
        table = rides.take(pa.array(rows // copies - first_ride))
        since_first_s = _seconds(table["pickup_time"]) - partition.first_pickup_s
        served = pa.table(
            {
                "ride": table["ride"].cast(pa.int64()),
                "copy": pa.array((rows % copies).astype(np.int32)),
                "pickup_time": table["pickup_time"].cast(pa.timestamp("us")),
                "pickup_longitude": table["pickup_longitude"],
                "pickup_latitude": table["pickup_latitude"],
                "due_at_s": pa.array(options.start_at + since_first_s / options.speed),
            }
        )
        yield from served.combine_chunks().to_batches()

    def _plan(self) -> ReplaySchedule:
        if self._schedule is None:
            self._schedule = ReplaySchedule(
                pickup_s=open_rides(self._options.path).pickup_s(),
                speed=self._options.speed,
                copies=self._options.copies,
                start_at_s=self._options.start_at,
            )
        return self._schedule
