"""The reports of a simulated query as Spark writes them: progress reports with offsets of a source.

They pass through the parts of a real driver and of the live monitor, `gesscale.spark.records` and
`gesscale.monitor.records`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from gesscale.model.observation import Batch
from gesscale.monitor.records import to_batches
from gesscale.spark.reconcile_actions import LiveExecutor
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings
from gesscale.spark.triggers import QueryTrigger
from testbed.simulator.plant import Efforts, Reports

#: Converts the rows that a source has offered since its start to its offset.
OffsetOf = Callable[[int], object]


def topic(rows: int, *, name: str = "rides", partitions: int = 8, first: int = 0) -> Mapping[str, Mapping[str, int]]:
    """Return the offset of a Kafka topic whose partitions are equal.

    Examples
    --------
    >>> topic(5, partitions=2, first=100)
    {'rides': {'0': 103, '1': 102}}
    """
    share, extra = divmod(rows, partitions)
    return {name: {str(index): first + share + (index < extra) for index in range(partitions)}}


def transactional(rows: int, *, rows_per_transaction: int) -> object:
    """Return the offset of a topic in which each transaction ends with a marker that takes an offset."""
    return topic(rows + rows // rows_per_transaction)


def recreated(rows: int, *, after_rows: int, first: int = 2_000_000) -> object:
    """Return the offset of a topic that is deleted, and made again with offsets from 0, after a number of rows."""
    return topic(rows, first=first) if rows <= after_rows else topic(rows - after_rows)


def successive(rows: int, *, after_rows: int, idle_rows: int = 5_000_000) -> object:
    """Return the offset of a subscription to a topic and to an idle one, which is deleted after a number of rows."""
    return {**topic(rows), **({} if rows > after_rows else topic(idle_rows, name="yesterday"))}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSource:
    """The source of a query, as far as its reports show it."""

    #: Its description in progress reports.
    description: str = "KafkaV2[Subscribe[rides]]"
    offset_of: OffsetOf = topic
    #: Rows that a report counts for a batch: more than were read if an action reads a batch twice.
    counted_rows: Callable[[int], int] = lambda rows: rows


@dataclass(slots=True)
class _Driver:
    """The driver of one query: all its batches as they are served."""

    source: SimulatedSource
    settings: QuerySettings
    history: QueryHistory
    next_id: int = 0
    done_rows: int = 0
    batches: list[Batch] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        now = _snapshot(batch)
        record = self.history.add(self._progress(batch), self.settings, planned_with=now, now=now, tasks=batch.tasks)
        self.done_rows += batch.rows
        self.next_id = batch.batch_id + 1
        if record is not None:
            self.batches += to_batches([json.loads(json.dumps(asdict(record)))], {}).batches

    def _progress(self, batch: Batch) -> Mapping[str, Any]:
        until_rows = self.done_rows + batch.rows
        rows = self.source.counted_rows(batch.rows)
        offsets = {
            "startOffset": self.done_rows,
            "endOffset": until_rows,
            "latestOffset": until_rows + round(batch.backlog_rows or 0.0),
        }
        start = datetime.fromtimestamp(batch.began_s, UTC)
        milliseconds = round(batch.seconds * 1000)
        return {
            "batchId": batch.batch_id,
            "timestamp": start.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "numInputRows": rows,
            "durationMs": {"triggerExecution": milliseconds, "addBatch": milliseconds},
            "sources": [
                {
                    "description": self.source.description,
                    "numInputRows": rows,
                    **{name: self.source.offset_of(count) for name, count in offsets.items()},
                }
            ],
            "sink": {"numOutputRows": -1 if batch.output_rows is None else batch.output_rows},
        }


class ProgressReports:
    """The `testbed.simulator.plant.Reports` of a plant on Spark, through progress reports.

    Parameters
    ----------
    sources
        The source of each operator.
    trigger_s
        The trigger interval of all queries.
    """

    def __init__(self, plant: Reports, sources: Mapping[str, SimulatedSource], *, trigger_s: float) -> None:
        self._plant = plant
        trigger = QueryTrigger("ProcessingTimeTrigger", round(trigger_s * 1000))
        self._drivers = {
            name: _Driver(
                source, QuerySettings(app="simulated", operator=name), QueryHistory(query=name, trigger=trigger)
            )
            for name, source in sources.items()
        }

    def batches(self, operator: str) -> Sequence[Batch]:
        """Return all batches of an operator, oldest first."""
        driver = self._drivers[operator]
        for batch in self._plant.batches(operator):
            if batch.batch_id >= driver.next_id:
                driver.add(batch)
        return driver.batches

    def efforts(self, operator: str, batches: Sequence[Batch]) -> Efforts:
        """Return a function for the work of each replica in some of the recent batches."""
        return self._plant.efforts(operator, batches)

    def last_progress_at_s(self, operator: str, by_s: float) -> float | None:
        """Return when an operator last reported up to an instant; None if never."""
        return self._plant.last_progress_at_s(operator, by_s)


def _snapshot(batch: Batch) -> ExecutorSnapshot:
    executors = tuple(LiveExecutor(id=node, host=node) for node in batch.nodes)
    return ExecutorSnapshot(at_s=batch.ended_at_s, hosts=batch.nodes, members=executors)
