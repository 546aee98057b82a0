"""The record of a micro-batch: the single declaration of each figure.

Derived from it are the driver's ``/batches`` and gauges, the lines of a recorded run, parsing and screening in Monitor,
and the table of docs/reference/spark_metrics.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

#: Prefix of the names of the gauges.
PREFIX = "gesscale_operator_"
#: Gauge of `BatchFigures.observed`, without prefix; the label ``metric`` has the key.
OBSERVED = "batch_observed"

_KEY = "figure"
_PROGRESS = "the query's progress report"
_ATTACH = "arguments of `attach`"
_STATUS = "Spark's status store"
_JOBS = "Spark's records of the batch's jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Description of a field of the batch record."""

    #: Its meaning: the help of its gauge.
    text: str
    #: Where Spark reports it.
    source: str
    #: Name of its gauge without prefix; that of a counter ends in ``_total``. Empty if it has none.
    gauge: str = ""
    #: Whether zero is a valid value; otherwise zero means unknown.
    zero_is_valid: bool = True


def _figure(text: str, source: str, gauge: str = "") -> dict[str, Figure]:
    return {_KEY: Figure(text=text, source=source, gauge=gauge)}


def _optional(text: str, source: str, gauge: str, *, zero_is_valid: bool = True) -> Any:
    figure = Figure(text=text, source=source, gauge=gauge, zero_is_valid=zero_is_valid)
    return field(default=None, metadata={_KEY: figure})


def figures_of(record: type[Any]) -> dict[str, Figure]:
    """Return the descriptions of the fields of a record.

    Examples
    --------
    >>> figures_of(BatchFigures)["rows"].gauge
    'batch_rows'
    """
    return {each.name: each.metadata[_KEY] for each in fields(record) if _KEY in each.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """Work of the replica on a host, or on a node, in a batch; the metadata of each field describes it."""

    rows: float = field(metadata=_figure("Rows that a replica read in the last batch.", _JOBS, "batch_replica_rows"))
    busy_s: float = field(
        metadata=_figure("Mean time for which its slots held a task.", _JOBS, "batch_replica_busy_seconds")
    )
    cpu_s: float | None = _optional(
        "Mean CPU time of its slots' tasks; none if Spark does not report it.",
        "`executorCpuTime` of the tasks, `python_cpu_s_per_row`",
        "batch_replica_cpu_seconds",
    )
    state_partitions: int | None = _optional(
        "State partitions whose tasks it ran, over the stages with state; none if the query has no state.",
        _JOBS,
        "batch_replica_state_partitions",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFigures:
    """The figures of a finished micro-batch that Monitor reads; the metadata of each field describes it.

    A figure is None if the source does not report it.
    """

    batch_id: int = field(metadata=_figure("Number of the last finished batch.", _PROGRESS, "batch_id"))
    ended_at_s: float = field(
        metadata=_figure("When it ended, since the epoch.", _PROGRESS, "batch_end_timestamp_seconds")
    )
    rows: int = field(metadata=_figure("Rows of the last finished batch.", "`numInputRows`", "batch_rows"))
    seconds: float = field(metadata=_figure("Duration of that batch.", "`triggerExecution`", "batch_duration_seconds"))
    trigger_s: float | None = _optional(
        "The trigger interval; NaN if there is none.",
        "the query's trigger, else arguments of `attach`",
        "trigger_interval_seconds",
        zero_is_valid=False,
    )
    cap_rows: int | None = _optional(
        "Cap on the rows of that batch; NaN if there is none.", _ATTACH, "batch_cap_rows", zero_is_valid=False
    )
    cap_rows_per_replica: int | None = _optional(
        "That cap for each replica; NaN if it does not grow with them.",
        _ATTACH,
        "batch_cap_rows_per_replica",
        zero_is_valid=False,
    )
    offered_rows_total: float | None = _optional(
        "Rows that the sources had offered since the query started, when the last batch began.",
        "latest offsets of the sources",
        "offered_rows_total",
    )
    backlog_rows: float | None = _optional(
        "Rows offered and not processed; NaN if a source does not report them.",
        "latest and end offsets of the sources",
        "backlog_rows",
    )
    end_offset_rows_total: float | None = _optional(
        "Sum of the end offsets of the topics when the last batch began; NaN unless it reads one source, and that is "
        "Kafka.",
        "latest offsets of the source",
        "end_offset_rows_total",
    )
    source_partitions: int | None = _optional(
        "Partitions of the sources; NaN if they follow the executors, or are unknown.",
        "offsets of Kafka, options of the rate sources",
        "source_partitions",
        zero_is_valid=False,
    )
    tasks: int | None = _optional(
        "Tasks of the largest stage of that batch; NaN if unknown.", _JOBS, "batch_tasks", zero_is_valid=False
    )
    output_rows: int | None = _optional(
        "Rows that the batch wrote; NaN if the sink does not report them.",
        "`sink.numOutputRows`, else `count_output`",
        "batch_output_rows",
    )
    fixed_slots: int | None = _optional(
        "1 if the tasks of that batch hold their slots until it ends, as in Real-Time Mode; else 0.",
        "the query's trigger",
        "batch_fixed_slots",
    )
    state_rows: int | None = _optional(
        "Rows in the state of the query's operators after that batch; NaN if it has no state.",
        "`stateOperators`: the sum of `numRowsTotal`",
        "batch_state_rows",
    )
    state_bytes: int | None = _optional(
        "Memory of this state, over all partitions; NaN if the query has no state.",
        "`stateOperators`: the sum of `memoryUsedBytes`",
        "batch_state_bytes",
    )
    state_partitions: int | None = _optional(
        "Partitions of this state, fixed when the query first started; NaN if it has no state.",
        "`stateOperators`: the least `numShufflePartitions`",
        "batch_state_partitions",
    )
    observed: Mapping[str, float] | None = field(default=None, hash=False)
    """Metrics that the query itself observes (`DataFrame.observe`), by ``NAME.ALIAS``; None if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord(BatchFigures):
    """One finished micro-batch as a driver records and serves it.

    Row totals count from the position of the query when it was first seen.
    """

    started_at_s: float = field(
        metadata=_figure("When it began, since the epoch.", _PROGRESS, "batch_start_timestamp_seconds")
    )
    processed_rows_total: int = field(metadata=_figure("Rows processed.", "`numInputRows`", "processed_rows_total"))
    replicas: int | None = field(metadata=_figure("Live executors when the batch ended.", _STATUS))
    hosts: tuple[str, ...] = field(
        metadata=_figure("Hosts of executors when the last batch ended.", _STATUS, "batch_replica_info")
    )
    hosts_at_start: tuple[str, ...] = field(metadata=_figure("Hosts of executors when the batch was planned.", _STATUS))
    by_host: Mapping[str, HostWork] | None = None
    """Work of the replica on each host; None if unknown."""
