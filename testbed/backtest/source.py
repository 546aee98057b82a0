"""Chooses the query of a backtest from what its sources hold."""

from collections.abc import Sequence
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.monitor.batch_screen import screen_batches
from testbed.backtest.event_log import EventLog, LoggedRun, read_event_log
from testbed.backtest.log_files import event_logs
from testbed.backtest.recorded_query import RecordedQuery, recorded_query


def read_logs(
    path: Path, query: str | None, *, trigger_s: float | None = None, cap_rows: int | None = None
) -> tuple[RecordedQuery, list[Problem]]:
    """Return a query of event logs, and what was wrong with the logs.

    Raises
    ------
    InputError
        If there is no event log, no streaming query, or not one to choose.
    """
    problems: list[Problem] = []
    logs: list[EventLog] = []
    for files in event_logs(path):
        log = read_event_log(files)
        if log is None:
            problems.append(Problem("event-log-foreign", {"source": str(files[0])}))
            continue
        logs.append(log)
        if log.truncated:
            problems.append(Problem("event-log-truncated", {"source": str(files[-1])}))
        if log.invalid:
            problems.append(Problem("event-log-lines-invalid", {"source": str(files[0]), "count": log.invalid}))
    if not logs:
        raise InputError(problems)
    runs = [run for log in logs for run in log.runs]
    if not runs:
        raise InputError("event-log-without-queries", source=str(path), applications=[log.app for log in logs])
    chosen = _chosen(runs, query, str(path))
    shared = {run.query_id for run in runs if run.app in {each.app for each in chosen}}
    if len(shared) > 1:
        problems.append(Problem("backtest-executors-shared", {"source": str(path), "count": len(shared)}))
    listed = sorted(chosen, key=lambda run: run.batches[0].ended_at_s)
    batches = [batch for run in listed for batch in run.batches]
    screened = screen_batches(batches, batches[-1].ended_at_s)
    unknown = next((run.source_problem for run in listed if run.source_problem is not None), None)
    problems += [unknown] if unknown else []
    found = recorded_query(
        listed[-1].name, screened.batches, trigger_s=trigger_s, cap_rows=cap_rows, source_problem=unknown
    )
    return found, problems


def _chosen(runs: Sequence[LoggedRun], query: str | None, source: str) -> list[LoggedRun]:
    """Return the runs of one query: those of one checkpoint."""
    named = [run for run in runs if query in {None, run.name, run.query_id}]
    by_id = {run.query_id: run for run in named}
    labels = sorted(f"{run.name} ({run.query_id})" for run in by_id.values())
    if not named:
        known = sorted({f"{run.name} ({run.query_id})" for run in runs})
        raise InputError("backtest-query-unknown", source=source, query=query, known=known)
    if len(by_id) > 1:
        raise InputError("backtest-query-ambiguous", source=source, queries=labels)
    return named
