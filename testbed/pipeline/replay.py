"""Cleaned rides on disk, and the streaming source ``gesscale-replay`` that serves them when they are due."""

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
from pyspark.sql.datasource import DataSource

from gesscale.errors import InputError
from testbed.pipeline.admission import AdmissionOptions, AdmissionReader, RowRange
from testbed.pipeline.operator import RIDE_SCHEMA
from testbed.pipeline.schedule import ReplaySchedule

_ROW_GROUP = 10_000
COLUMNS = ("ride", "pickup_time", "pickup_longitude", "pickup_latitude")


@dataclass(frozen=True, slots=True)
class _RowGroup:
    path: Path
    index: int
    first_ride: int
    rides: int


@dataclass(frozen=True, slots=True)
class RideStore:
    """A folder of cleaned rides; any range of them is read without reading the others.

    Attributes
    ----------
    row_groups
        Where they are, in the order of the rides.
    """

    row_groups: tuple[_RowGroup, ...]

    @property
    def rides(self) -> int:
        """Number of rides."""
        return sum(group.rides for group in self.row_groups)

    def pickup_s(self) -> NDArray[np.float64]:
        """Return all pickup times in seconds since the epoch, shape (rides,)."""
        tables = [
            pq.ParquetFile(path).read(columns=["pickup_time"])
            for path in dict.fromkeys(group.path for group in self.row_groups)
        ]
        times = pa.concat_tables(tables)["pickup_time"].cast(pa.timestamp("us"))
        micros: NDArray[np.int64] = times.cast(pa.int64()).to_numpy()
        return micros / 1e6

    def read(self, first_ride: int, end_ride: int) -> pa.Table:
        """Return the rides [first_ride, end_ride) with the columns `COLUMNS`."""
        tables = list(self._pieces(first_ride, end_ride))
        return pa.concat_tables(tables) if tables else _EMPTY

    def _pieces(self, first_ride: int, end_ride: int) -> Iterator[pa.Table]:
        for group in self.row_groups:
            low = max(first_ride, group.first_ride)
            high = min(end_ride, group.first_ride + group.rides)
            if low < high:
                table = pq.ParquetFile(group.path).read_row_group(group.index, columns=list(COLUMNS))
                yield table.slice(low - group.first_ride, high - low)


_EMPTY = pa.table(
    {
        "ride": pa.array([], pa.int64()),
        "pickup_time": pa.array([], pa.timestamp("us")),
        "pickup_longitude": pa.array([], pa.float64()),
        "pickup_latitude": pa.array([], pa.float64()),
    }
)


@lru_cache(maxsize=4)
def open_rides(folder: str) -> RideStore:
    """Open a folder that `testbed.pipeline.clean` wrote.

    Parameters
    ----------
    folder
        Its path.

    Returns
    -------
    RideStore
        Cheap to keep: it holds places, not rides.

    Raises
    ------
    InputError
        Where it is no such folder.
    """
    paths = sorted(Path(folder).glob("*.parquet"))
    if not paths:
        message = f"rides: expected Parquet files in {folder}, found none; make them with the command clean"
        raise InputError(message)
    groups: list[_RowGroup] = []
    first_ride = 0
    for path in paths:
        try:
            metadata = pq.ParquetFile(path).metadata
        except (OSError, pa.ArrowException) as error:
            message = f"rides: {path} is not readable Parquet ({error}); make it again with the command clean"
            raise InputError(message) from error
        if missing := set(COLUMNS) - {metadata.schema.column(i).name for i in range(metadata.num_columns)}:
            message = f"rides: {path} lacks the columns {sorted(missing)}; make it with the command clean"
            raise InputError(message)
        for index in range(metadata.num_row_groups):
            rides = metadata.row_group(index).num_rows
            groups.append(_RowGroup(path, index, first_ride, rides))
            first_ride += rides
    return RideStore(tuple(groups))


def write_steady_rides(folder: Path, rides: int, *, apart_s: float) -> Path:
    """Write cleaned rides that are so many seconds apart, all from one place; return their folder."""
    micros = np.arange(rides) * round(apart_s * 1e6)
    table = pa.table(
        {
            "ride": pa.array(np.arange(rides)),
            "pickup_time": pa.array(
                np.datetime64(datetime(2015, 1, 6, 4)) + micros.astype("timedelta64[us]")
            ),
            "pickup_longitude": pa.array(np.full(rides, -73.98)),
            "pickup_latitude": pa.array(np.full(rides, 40.75)),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / "part-0.parquet", row_group_size=_ROW_GROUP)
    return folder


class ReplayOptions(AdmissionOptions):
    """The options of the source.

    Attributes
    ----------
    path
        Folder of cleaned rides.
    speed, copies, start_at
        See `ReplaySchedule`.
    """

    path: str
    speed: float = 1.0
    copies: int = 1
    start_at: float


@dataclass
class RideRange(RowRange):
    """The rows [start, end) of one task, and when its first ride is due."""

    first_pickup_s: float


class RideReplay(DataSource):  # type: ignore[misc] # pyspark is not followed by mypy
    """Registered as ``gesscale-replay``; options see `ReplayOptions`, offsets are ``{"rows": k}``."""

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
    """Plans batches in a Python process on the driver's node, reads them in the executors.

    Parameters
    ----------
    options
        Of this query.
    """

    def __init__(self, options: ReplayOptions) -> None:
        super().__init__(options)
        self._options = options
        self._schedule: ReplaySchedule | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the schedule behind: a task needs its own range only."""
        return {**self.__dict__, "_schedule": None}

    def offered_rows(self) -> int:
        """Return how many rows are due by now."""
        return self._plan().offered_rows(time.time())

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[RideRange]:
        """Split a batch into tasks, each of which knows when the first ride of all is due."""
        first = float(self._plan().pickup_s[0])
        return [RideRange(each.start, each.end, first) for each in super().partitions(start, end)]

    def read(self, partition: RideRange) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task."""
        options, copies = self._options, self._options.copies
        first_ride, end_ride = partition.start // copies, -(-partition.end // copies)
        rides = open_rides(options.path).read(first_ride, end_ride)
        rows = np.arange(partition.start, partition.end)
        table = rides.take(pa.array(rows // copies - first_ride))
        pickup_time = table["pickup_time"].cast(pa.timestamp("us"))
        pickup_s = pickup_time.cast(pa.int64()).to_numpy() / 1e6
        due_at_s = options.start_at + (pickup_s - partition.first_pickup_s) / options.speed
        served = pa.table(
            {
                "ride": table["ride"].cast(pa.int64()),
                "copy": pa.array((rows % copies).astype(np.int32)),
                "pickup_time": pickup_time,
                "pickup_longitude": table["pickup_longitude"],
                "pickup_latitude": table["pickup_latitude"],
                "due_at_s": pa.array(due_at_s),
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
