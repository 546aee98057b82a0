"""The streaming source ``gesscale-replay``: serves cleaned rides when they are due, batch by batch."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource

from testbed.pipeline.admission import AdmissionOptions, AdmissionReader, RowRange
from testbed.pipeline.operator import RIDE_SCHEMA
from testbed.pipeline.ride_store import open_rides
from testbed.pipeline.schedule import ReplaySchedule


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
