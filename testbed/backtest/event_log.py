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
#: Lines by which a file is recognised as an event log.
_LINES_OF_HEAD = 20
_FIGURES = tuple(figures_of(BatchFigures))
#: The trigger of a query is not in the log; `history` finds it once for all batches.
_UNKNOWN = QueryTrigger(kind="unknown")
_SETTINGS = QuerySettings(app="log", operator="log")


@dataclass(slots=True)
class LoggedRun:
    """One run of a streaming query in a log."""

    #: Its id, which a checkpoint keeps, and its name; the id if it has none (query_id, name).
    query_id: str
    name: str
    #: Application that ran it.
    app: str
    history: QueryHistory
    batches: list[Batch] = field(default_factory=list)

    @property
    def source_problem(self) -> Problem | None:
        """Why the rows of a source are unknown; None if they are known."""
        known = self.batches[-1].offered_rows_total is not None
        return None if known else next(iter(self.history.sources.problems), None)


@dataclass(slots=True)
class EventLog:
    """What the event log of an application holds."""

    app: str = ""
    #: By the id of the run.
    runs: dict[str, LoggedRun] = field(default_factory=dict)
    #: Ids of the executors at the end of what was read.
    executors: set[str] = field(default_factory=set)
    #: Lines that are no event, and whether the log ends within one (invalid, truncated).
    invalid: int = 0
    truncated: bool = False


def read_event_log(files: Sequence[Path]) -> EventLog | None:
    """Read the log of an application; None if the files are no event log.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    log = EventLog()
    return log if all(_read_file(file, log) for file in files) else None


def _read_file(file: Path, log: EventLog) -> bool:
    """Add the events of a file; False if it has none."""
    known = False
    line = b""
    try:
        for number, line in enumerate(read_lines(file)):
            if not line.startswith(_HEAD):
                if not known and number >= _LINES_OF_HEAD:
                    return False
                log.invalid += bool(line.strip())
                continue
            known = True
            end = line.find(b'"', len(_HEAD), len(_HEAD) + 200)
            if (read := _READERS.get(line[len(_HEAD) : end])) is not None:
                _read_event(read, line, log)
    except EOFError:
        log.truncated = True
    log.truncated |= not line.endswith(b"\n")
    return known


def _read_event(read: Callable[[EventLog, dict[str, Any]], None], line: bytes, log: EventLog) -> None:
    try:
        read(log, json.loads(line))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        log.invalid += 1


def _application_start(log: EventLog, event: Mapping[str, Any]) -> None:
    log.app = f"{event['App Name']} {event.get('App ID') or ''}".strip()


def _executor_changed(log: EventLog, event: Mapping[str, Any]) -> None:
    change = log.executors.add if event["Event"].endswith("Added") else log.executors.discard
    change(str(event["Executor ID"]))


def _query_progress(log: EventLog, event: Mapping[str, Any]) -> None:
    progress = dict(event["progress"])
    progress["numInputRows"] = sum(source["numInputRows"] for source in progress["sources"])  # the log has no sum
    run_id, query_id = str(progress["runId"]), str(progress["id"])
    name = progress.get("name") or query_id
    run = log.runs.get(run_id) or LoggedRun(query_id, name, log.app, QueryHistory(name, trigger=_UNKNOWN))
    present = ExecutorSnapshot(at_s=0.0, hosts=tuple(sorted(log.executors)))
    record = run.history.add(progress, _SETTINGS, planned_with=present, now=present)
    if record is not None:
        run.history.batches.clear()  # only a driver serves them
        run.batches.append(_batch(record))
        log.runs[run_id] = run


def _batch(record: BatchRecord) -> Batch:
    return Batch(**{name: getattr(record, name) for name in _FIGURES}, nodes=record.hosts)


_READERS: Mapping[bytes, Callable[[EventLog, dict[str, Any]], None]] = {
    b"SparkListenerApplicationStart": _application_start,
    b"SparkListenerExecutorAdded": _executor_changed,
    b"SparkListenerExecutorRemoved": _executor_changed,
    b"org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent": _query_progress,
}
