"""Reads the streaming queries of Spark's event logs: their batches, and the executors that they ran on."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gesscale.batch_record import BatchFigures, BatchRecord, figures_of
from gesscale.common.errors import Problem
from gesscale.model.observation import Batch
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings
from gesscale.spark.triggers import QueryTrigger
from testbed.backtest.log_files import read_lines

_HEAD = b'{"Event":"'
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
#: Lines by which a file is recognised as an event log.
_LINES_OF_HEAD = 20
_FIGURES = tuple(figures_of(BatchFigures))
#: The trigger of a query is not in the log; `history` finds it once for all batches.
_UNKNOWN = QueryTrigger(kind="unknown")
_SETTINGS = QuerySettings(app="log", operator="log")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """One run of a streaming query in a log."""

    #: Its id, which a checkpoint keeps, and its name; the id if it has none (query_id, name).
    query_id: str
    name: str
    #: Application that ran it.
    app: str
    batches: Sequence[Batch]
    #: Why the rows of a source are unknown; None if they are known.
    source_problem: Problem | None = None


@dataclass(slots=True)
class EventLog:
    """What the event log of an application holds."""

    app: str = ""
    spark_version: str = ""
    runs: list[LoggedRun] = field(default_factory=list)
    #: Slots of an executor; 0 if none was logged.
    slots: int = 0
    #: Bytes read, lines that were not JSON, and whether the log ends within a line (bytes, invalid, truncated).
    bytes: int = 0
    invalid: int = 0
    truncated: bool = False
    _executors: set[str] = field(default_factory=set)
    _open: dict[str, "_OpenRun"] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _OpenRun:
    history: QueryHistory
    query_id: str
    batches: list[Batch] = field(default_factory=list)


def read_event_log(files: Sequence[Path]) -> EventLog | None:
    """Read the log of an application; None if the files are no event log.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    log = EventLog()
    for file in files:
        if not _read_file(file, log):
            return None
    for run_id, each in log._open.items():
        problems = each.history.sources.problems
        log.runs.append(
            LoggedRun(
                query_id=each.query_id,
                name=log._names.get(run_id) or each.history.query,
                app=log.app,
                batches=each.batches,
                source_problem=problems[0] if problems and each.batches[-1].offered_rows_total is None else None,
            )
        )
    return log


def _read_file(file: Path, log: EventLog) -> bool:
    """Add the events of a file; False if it has none."""
    known = False
    line = b""
    try:
        for number, line in enumerate(read_lines(file)):
            log.bytes += len(line)
            if not line.startswith(_HEAD):
                if not known and number >= _LINES_OF_HEAD:
                    return False
                log.invalid += bool(line.strip())
                continue
            known = True
            end = line.find(b'"', len(_HEAD), len(_HEAD) + 200)
            if (add := _READERS.get(line[len(_HEAD) : end])) is not None:
                _add(add, line, log)
    except EOFError:
        log.truncated = True
    log.truncated |= not line.endswith(b"\n")
    return known


def _add(add: Callable[[EventLog, dict[str, Any]], None], line: bytes, log: EventLog) -> None:
    try:
        add(log, json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError):
        log.invalid += 1


def _log_start(log: EventLog, event: Mapping[str, Any]) -> None:
    log.spark_version = event["Spark Version"]


def _application_start(log: EventLog, event: Mapping[str, Any]) -> None:
    log.app = f"{event['App Name']} {event.get('App ID') or ''}".strip()


def _executor_added(log: EventLog, event: Mapping[str, Any]) -> None:
    info, name = event["Executor Info"], str(event["Executor ID"])
    log.slots = int(info["Total Cores"])
    log._executors.add(name)


def _executor_removed(log: EventLog, event: Mapping[str, Any]) -> None:
    log._executors.discard(str(event["Executor ID"]))


def _query_started(log: EventLog, event: Mapping[str, Any]) -> None:
    log._names[event["runId"]] = event.get("name") or ""


def _query_progress(log: EventLog, event: Mapping[str, Any]) -> None:
    progress = dict(event["progress"])
    progress["numInputRows"] = sum(source["numInputRows"] for source in progress["sources"])  # the log has no sum
    run_id, query_id = str(progress["runId"]), str(progress["id"])
    run = log._open.get(run_id)
    if run is None:
        run = _OpenRun(QueryHistory(progress.get("name") or query_id, trigger=_UNKNOWN), query_id)
    present = ExecutorSnapshot(at_s=0.0, hosts=tuple(sorted(log._executors)))
    record = run.history.add(progress, _SETTINGS, planned_with=present, now=present)
    if record is not None:
        run.history.batches.clear()  # only a driver serves them
        run.batches.append(_batch(record))
        log._open[run_id] = run


def _batch(record: BatchRecord) -> Batch:
    return Batch(**{name: getattr(record, name) for name in _FIGURES}, nodes=record.hosts)


_READERS: Mapping[bytes, Callable[[EventLog, dict[str, Any]], None]] = {
    b"SparkListenerLogStart": _log_start,
    b"SparkListenerApplicationStart": _application_start,
    b"SparkListenerExecutorAdded": _executor_added,
    b"SparkListenerExecutorRemoved": _executor_removed,
    f"{_STREAMING}QueryStartedEvent".encode(): _query_started,
    f"{_STREAMING}QueryProgressEvent".encode(): _query_progress,
}
