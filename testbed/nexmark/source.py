"""The Spark source ``nexmark``: the same events as a stream with a cap, and as a batch."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pyarrow as pa
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator
from pyspark.sql.datasource import DataSource, DataSourceReader

from gesscale.common.errors import InvalidValueError
from testbed.nexmark.events import SCHEMA, events
from testbed.pipeline.admission import AdmissionOptions, AdmissionReader, RowRange
from testbed.pipeline.operator import node_capacity
from testbed.pipeline.schedule import split_rows
from testbed.workloads.workload import Workload

NAME = "nexmark"
_BATCH_TASKS = 2


class NexmarkOptions(AdmissionOptions):
    """The options of the source."""

    #: Number of events.
    events: PositiveInt
    #: See `testbed.nexmark.events.events`.
    events_per_s: PositiveFloat = 100.0
    #: When the first event is due, seconds since the epoch; length of a step; events due per second in each step,
    #: separated by commas. After the last step, or without rates, all events are due (start_at, step_s, rates).
    start_at: float = 0.0
    step_s: PositiveFloat = 1.0
    rates: str = ""
    #: Emulated work of an event on a node of weight 1.
    service_s_per_row: NonNegativeFloat = 0.0

    @model_validator(mode="after")
    def _check_rates(self) -> Self:
        try:
            self.workload()
        except ValueError as error:
            raise InvalidValueError("rates-invalid", place="rates", got=self.rates) from error
        return self

    def workload(self) -> Workload | None:
        """Return the due events over time; None if all are due at once."""
        if not self.rates:
            return None
        return Workload.of_rates(NAME, self.step_s, map(float, self.rates.split(",")))


class Nexmark(DataSource):  # type: ignore[misc] # pyspark is not followed by mypy
    """The data source ``nexmark``; its options are `NexmarkOptions`."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> str:
        """Return the columns of a row."""
        return SCHEMA

    def streamReader(self, schema: Any) -> "NexmarkReader":  # noqa: ARG002, N802 - Spark's signature
        """Return the reader of a streaming query."""
        return NexmarkReader(NexmarkOptions.parse(NAME, dict(self.options)))

    def reader(self, schema: Any) -> "NexmarkBatch":  # noqa: ARG002 - Spark's signature
        """Return the reader of a batch query."""
        return NexmarkBatch(NexmarkOptions.parse(NAME, dict(self.options)))


class NexmarkReader(AdmissionReader):
    """Serves events when they are due."""

    def __init__(self, options: NexmarkOptions) -> None:
        super().__init__(options)
        self._options = options

    def offered_rows(self) -> int:
        """Return the number of events that are due now."""
        return due_events(self._options, time.time())

    def read(self, partition: RowRange) -> Iterator[pa.RecordBatch]:
        """Generate the events of one task, at the node's emulated capacity."""
        began_s = time.perf_counter()
        generated = _events(self._options, partition)
        rows = partition.end - partition.start
        time.sleep(node_capacity(self._options.service_s_per_row).pause_s(rows, time.perf_counter() - began_s))
        yield from generated


class NexmarkBatch(DataSourceReader):  # type: ignore[misc] # pyspark is not followed by mypy
    """Reads all events at once."""

    def __init__(self, options: NexmarkOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[RowRange]:
        """Split the events into two tasks."""
        return [RowRange(low, high) for low, high in split_rows(0, self._options.events, _BATCH_TASKS)]

    def read(self, partition: RowRange) -> Iterator[pa.RecordBatch]:
        """Generate the events of one task."""
        return _events(self._options, partition)


def due_events(options: NexmarkOptions, now_s: float) -> int:
    """Return the number of events that are due at an instant, seconds since the epoch."""
    workload, since_s = options.workload(), now_s - options.start_at
    if workload is None or since_s >= workload.duration_s:
        return options.events
    return min(options.events, int(workload.offered_rows(since_s)))


def _events(options: NexmarkOptions, rows: RowRange) -> Iterator[pa.RecordBatch]:
    generated = events(rows.start, rows.end, events_per_s=options.events_per_s)
    yield from generated.to_batches()
