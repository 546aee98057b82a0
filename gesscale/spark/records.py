"""History of each query: a bounded ring of finished batches. Pure, without Spark and clock."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from gesscale.batch_record import BatchRecord, HostWork
from gesscale.common import API_VERSION
from gesscale.common.errors import InputError
from gesscale.spark.reconcile_actions import LiveExecutor
from gesscale.spark.sources import OffsetRows, Sources, end_offset_rows, partitions_of
from gesscale.spark.triggers import UNKNOWN_TRIGGER, QueryTrigger, interval_of_starts

ATTACH = "gesscale.spark.attach"
RING_BATCHES = 512
#: Spark reports that a query idles at its triggers, at most this often; with a second for the report to arrive.
_IDLE_REPORT_S = 11.0
#: Names of the observed metric with which a query counts its output.
OBSERVATION, OUTPUT_ROWS = "gesscale", "output_rows"
#: Most other observed metrics of a batch.
_MAX_OBSERVED = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings:
    """Settings of the operator that a listener cannot read from Spark.

    Raises
    ------
    InputError
        If a number is not positive, both caps are given, or the operator has no name.
    """

    #: Name of the Spark application.
    app: str
    #: Name of the operator in the workflow.
    operator: str
    #: Name of its query; None if it is the only one of the application.
    query: str | None = None
    #: The cap B on the rows of a batch; None if there is none.
    cap_rows: int | None = None
    #: The cap per replica; at most one of the two caps is given.
    cap_rows_per_replica: int | None = None
    #: The trigger interval, if that of the query cannot be read.
    trigger_s: float | None = None
    #: Converts an offset to rows; None to use the table of `gesscale.spark.source_kinds`.
    offset_rows: OffsetRows | None = None
    #: CPU time of the query's Python functions for a row, in addition to that of the tasks; None to add none.
    python_cpu_s_per_row: float | None = None
    #: Most replicas it may get; None if unknown.
    max_replicas: int | None = None
    #: How long a task waits for the executor that holds its state; None if unknown.
    locality_wait_s: float | None = None

    def __post_init__(self) -> None:
        if not self.operator:
            raise InputError("operator-name-empty", source=ATTACH)
        if self.cap_rows is not None and self.cap_rows_per_replica is not None:
            raise InputError("batch-caps-conflict", source=ATTACH)
        for name in ("cap_rows", "cap_rows_per_replica", "trigger_s", "max_replicas", "python_cpu_s_per_row"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError("number-not-positive", source=ATTACH, place=name, got=value)

    def cap_for(self, replicas: int | None) -> int | None:
        """Return the cap of a batch planned with a number of replicas; None if there is none."""
        if self.cap_rows_per_replica is None:
            return self.cap_rows
        return None if replicas is None else self.cap_rows_per_replica * max(1, replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorSnapshot:
    """The live executors at an instant."""

    #: Seconds since the epoch.
    at_s: float
    #: Node or address of each executor that gets tasks, sorted.
    hosts: tuple[str, ...]
    #: All live executors, including leaving ones.
    members: tuple[LiveExecutor, ...] = ()


@dataclass(slots=True)
class QueryHistory:
    """The recent batches of one run of a query; written by the thread of the listener only."""

    #: Its name, else its id.
    query: str
    #: Its sources.
    sources: Sources = field(default_factory=Sources)
    #: Its trigger.
    trigger: QueryTrigger = UNKNOWN_TRIGGER
    batches: deque[BatchRecord] = field(default_factory=lambda: deque(maxlen=RING_BATCHES))
    last_progress_at_s: float | None = None
    active: bool = True
    processed_rows_total: int = 0

    def add(
        self,
        progress: Mapping[str, Any],
        settings: QuerySettings,
        *,
        planned_with: ExecutorSnapshot | None,
        now: ExecutorSnapshot | None,
        by_host: Mapping[str, HostWork] | None = None,
        tasks: int | None = None,
    ) -> BatchRecord | None:
        """Record the progress report of a finished batch; return None if it has no finished batch.

        Parameters
        ----------
        planned_with, now
            The executors when the batch was planned and when it ended; None if unknown.
        by_host
            The work of the replica on each host; None if unknown.
        tasks
            Tasks of the largest stage; None if unknown.
        """
        if not ran_batch(progress):
            return None
        seconds = progress["durationMs"]["triggerExecution"] / 1000
        started_at_s = trigger_time_s(progress["timestamp"])
        read_rows = int(progress["numInputRows"])
        position = self.sources.position(progress["sources"], read_rows)
        rows = read_rows - self.sources.repeated_rows
        trigger_s = self.trigger.interval_s(settings.trigger_s)
        if trigger_s is None and not self.trigger.kind:
            trigger_s = interval_of_starts([(each.started_at_s, each.ended_at_s) for each in self.batches])
        self.processed_rows_total += rows
        record = BatchRecord(
            batch_id=int(progress["batchId"]),
            started_at_s=started_at_s,
            ended_at_s=started_at_s + seconds,
            rows=rows,
            seconds=seconds,
            trigger_s=trigger_s,
            cap_rows=settings.cap_for(None if planned_with is None else len(planned_with.hosts)),
            cap_rows_per_replica=settings.cap_rows_per_replica,
            offered_rows_total=None if position is None else position.offered,
            processed_rows_total=self.processed_rows_total,
            backlog_rows=None if position is None else position.backlog,
            end_offset_rows_total=end_offset_rows(progress["sources"]),
            source_partitions=partitions_of(progress["sources"]),
            tasks=tasks,
            replicas=None if now is None else len(now.hosts),
            hosts=_distinct(now),
            hosts_at_start=_distinct(planned_with),
            output_rows=_output_rows(progress),
            fixed_slots=self.trigger.fixed_slots,
            state_rows=_state_sum(progress, "numRowsTotal"),
            state_bytes=_state_sum(progress, "memoryUsedBytes"),
            state_partitions=state_partitions(progress),
            observed=_observed(progress),
            by_host=_without_repeated(by_host, rows, read_rows),
        )
        self.batches.append(record)
        return record

    def running_since_s(self, now_s: float) -> float | None:
        """Return since when a batch has been running, to ten seconds; None if none is.

        Spark does not report the start of a batch. A query reports each batch that ends, and idling at its triggers; so
        a batch is running if it has reported neither since the next trigger.
        """
        if not self.active or self.last_progress_at_s is None:
            return None
        newest = self.batches[-1] if self.batches else None
        trigger_s = (newest.trigger_s if newest else self.trigger.interval_s(None)) or 0.0
        if now_s <= self.last_progress_at_s + trigger_s + _IDLE_REPORT_S:
            return None
        return max(self.last_progress_at_s, newest.started_at_s + trigger_s if newest else 0.0)


def count_output(frame: Any) -> Any:
    """Return a frame whose rows are counted on their way to the sink.

    Kafka's sink reports its rows; file sinks and ``foreachBatch`` do not (``numOutputRows`` is -1).

    Parameters
    ----------
    frame
        The streaming DataFrame to write.

    Returns
    -------
    DataFrame
        Write this one instead. Spark counts while it writes, without another job or pass over the rows.
    """
    from pyspark.sql import functions as f

    return frame.observe(OBSERVATION, f.count(f.lit(1)).alias(OUTPUT_ROWS))


def document(
    histories: Sequence[QueryHistory],
    settings: QuerySettings,
    *,
    now_s: float,
    after: int = -1,
    query: str | None = None,
    errors: int = 0,
    warnings: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the response of ``/batches``: one query, and the names of all.

    Parameters
    ----------
    histories
        The queries of the application, newest last.
    now_s
        The driver's clock, seconds since the epoch.
    query
        Name of the query; by default that of the settings. Without a name it is the only active one, else the one that
        ended last; of several active ones none is served.
    """
    name = query or settings.query
    own = [each for each in histories if name in {None, each.query}]
    active = [each for each in own if each.active]
    served = (active or own)[-1] if own and len(active) <= 1 else None
    batches = list(served.batches) if served else []
    return {
        "apiVersion": API_VERSION,
        "app": settings.app,
        "operator": settings.operator,
        "query": served.query if served else name,
        "active": bool(active),
        "queries": [{"query": each.query, "active": each.active} for each in histories],
        "now_s": now_s,
        "last_progress_at_s": served.last_progress_at_s if served else None,
        "running_since_s": served.running_since_s(now_s) if served else None,
        "listener_errors": errors,
        "warnings": dict(warnings or {}),
        "batches": [asdict(batch) for batch in batches if batch.batch_id > after],
    }


def ran_batch(progress: Mapping[str, Any]) -> bool:
    """Return whether a progress report is of a finished batch, not of an idle trigger."""
    return "addBatch" in (progress.get("durationMs") or {})


def trigger_time_s(timestamp: str) -> float:
    """Convert the ISO 8601 timestamp of a trigger to seconds since the epoch.

    Examples
    --------
    >>> trigger_time_s("1970-01-01T00:00:02.500Z")
    2.5
    """
    return datetime.fromisoformat(timestamp).timestamp()


def _output_rows(progress: Mapping[str, Any]) -> int | None:
    """Return the rows that the sink reports, else those of `count_output`; a sink reports -1 if unknown."""
    rows = (progress.get("sink") or {}).get("numOutputRows")
    if rows is None or rows < 0:
        rows = ((progress.get("observedMetrics") or {}).get(OBSERVATION) or {}).get(OUTPUT_ROWS)
    return None if rows is None else int(rows)


def _observed(progress: Mapping[str, Any]) -> Mapping[str, float] | None:
    """Return the numbers that the query observes, other than its output rows; None if there are none."""
    found = {
        f"{name}.{alias}": float(value)
        for name, row in (progress.get("observedMetrics") or {}).items()
        for alias, value in row.items()
        if isinstance(value, int | float) and (name, alias) != (OBSERVATION, OUTPUT_ROWS)
    }
    return dict(islice(found.items(), _MAX_OBSERVED)) or None


def _state_sum(progress: Mapping[str, Any], name: str) -> int | None:
    sums = [operator.get(name) for operator in progress.get("stateOperators") or ()]
    return sum(sums) if sums and None not in sums else None


def state_partitions(progress: Mapping[str, Any]) -> int | None:
    """Return the fewest state partitions of the stateful operators in a progress report; None if there are none."""
    counts = [operator.get("numShufflePartitions") for operator in progress.get("stateOperators") or ()]
    return min((count for count in counts if count is not None), default=None)


def _without_repeated(
    by_host: Mapping[str, HostWork] | None, rows: int, read_rows: int
) -> Mapping[str, HostWork] | None:
    """Return the work by host whose rows add up to those of the batch."""
    if by_host is None or rows == read_rows:
        return by_host
    return {host: replace(work, rows=work.rows * rows / read_rows) for host, work in by_host.items()}


def _distinct(executors: ExecutorSnapshot | None) -> tuple[str, ...]:
    return tuple(sorted(set(executors.hosts))) if executors else ()
