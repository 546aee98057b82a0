"""The streaming source ``gesscale-replay``: serves cleaned rides when they are due, batch by batch."""

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError, model_validator
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from gesscale.errors import InputError
from gesscale.words import first_fault
from testbed.pipeline.live_replicas import LiveReplicas
from testbed.pipeline.operator import RIDE_SCHEMA
from testbed.pipeline.ride_store import open_rides
from testbed.pipeline.schedule import ReplaySchedule, split_rows

_ANY_ROWS = 2**31 - 1  # the cap per replica is applied when a batch is planned, not by Spark's fixed limit


class ReplayOptions(BaseModel):
    """The options of the source, as Spark hands them over (text) and checked.

    Attributes
    ----------
    path
        Folder of cleaned rides.
    speed, copies, start_at
        See `ReplaySchedule`.
    cap_rows, cap_rows_per_replica
        The cap on a batch, fixed or in proportion to the live replicas; at most one of them.
    tasks_per_slot
        Tasks of a batch for each live replica.
    replicas_url
        Where the live replicas can be asked for; without it, or without an answer, one is assumed.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    speed: float = 1.0
    copies: int = 1
    start_at: float
    cap_rows: PositiveInt | None = None
    cap_rows_per_replica: PositiveInt | None = None
    tasks_per_slot: PositiveInt = 1
    replicas_url: str | None = None

    @model_validator(mode="after")
    def _check_caps(self) -> Self:
        if self.cap_rows is not None and self.cap_rows_per_replica is not None:
            message = "give cap_rows or cap_rows_per_replica, not both"
            raise ValueError(message)
        return self

    @classmethod
    def parse(cls, options: dict[str, str]) -> Self:
        """Check the options of a ``spark.readStream``.

        Raises
        ------
        InputError
            Where one is missing or no number of its kind.
        """
        try:
            return cls.model_validate(options)
        except ValidationError as error:
            message = f"gesscale-replay: {first_fault(error)}"
            raise InputError(message) from None

    def cap(self, replicas: int) -> int:
        """Return the cap of a batch that so many replicas will process."""
        if self.cap_rows_per_replica is not None:
            return self.cap_rows_per_replica * replicas
        return self.cap_rows or _ANY_ROWS


@dataclass
class RowRange(InputPartition):  # type: ignore[misc] # pyspark is not followed by mypy
    """The rows [start, end) of one task, and when its first ride is due."""

    start: int
    end: int
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
        return ReplayReader(ReplayOptions.parse(dict(self.options)))


class ReplayReader(DataSourceStreamReader):  # type: ignore[misc] # pyspark is not followed by mypy
    """Plans batches in a Python process on the driver's node, reads them in the executors.

    Parameters
    ----------
    options
        Of this query.
    """

    def __init__(self, options: ReplayOptions) -> None:
        self._options = options
        self._schedule: ReplaySchedule | None = None
        self._replicas = LiveReplicas(options.replicas_url)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the schedule behind: a task needs its own range only."""
        return {**self.__dict__, "_schedule": None}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the offset before the first row."""
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the fixed cap, or none where it depends on the replicas."""
        return ReadMaxRows(self._options.cap_rows or _ANY_ROWS)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return where the next batch ends: all that is due, at most the cap."""
        offered = max(start["rows"], self._offered())
        if isinstance(limit, ReadAllAvailable):
            return {"rows": offered}
        cap = self._options.cap(self._replicas.count() if self._options.cap_rows_per_replica else 1)
        return {"rows": min(offered, start["rows"] + min(cap, limit.max_rows))}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return what is due by now."""
        return {"rows": self._offered()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[RowRange]:
        """Split a batch into as many tasks as there are slots, times ``tasks_per_slot``."""
        tasks = self._replicas.count() * self._options.tasks_per_slot
        first = float(self._plan().pickup_s[0])
        return [RowRange(low, high, first) for low, high in split_rows(start["rows"], end["rows"], tasks)]

    def read(self, partition: RowRange) -> Iterator[pa.RecordBatch]:
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

    def _offered(self) -> int:
        return self._plan().offered_rows(time.time())

    def _plan(self) -> ReplaySchedule:
        if self._schedule is None:
            logging.basicConfig(stream=sys.stderr)
            self._schedule = ReplaySchedule(
                pickup_s=open_rides(self._options.path).pickup_s(),
                speed=self._options.speed,
                copies=self._options.copies,
                start_at_s=self._options.start_at,
            )
        return self._schedule
