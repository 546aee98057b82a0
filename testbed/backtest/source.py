"""Chooses the query of a backtest from what its sources hold."""

from collections.abc import Sequence
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.monitor.batch_screen import screen_batches
from testbed.backtest.event_log import EventLog, LoggedRun, read_event_log
from testbed.backtest.law import Learned, learn, learn_rates
from testbed.backtest.log_files import event_logs
from testbed.backtest.recorded_query import RecordedQuery, recorded_query
from testbed.backtest.series import Prometheus, query_of_points, read_points

_PROBLEMS_SHOWN = 3


def read_source(
    log: Path | None,
    prometheus: Prometheus | None,
    query: str | None,
    *,
    trigger_s: float | None = None,
    cap_rows: int | None = None,
) -> tuple[RecordedQuery, Learned, list[Problem]]:
    """Return a query, what its record shows, and what was wrong with the record.

    Raises
    ------
    InputError
        If the record holds no query or not one to choose, or cannot be read.
    """
    if (log is None) == (prometheus is None):
        raise InputError("backtest-source-ambiguous", place="LOG, --prometheus")
    if log is not None and log.suffix != ".csv":
        found, problems = read_logs(log, query, trigger_s=trigger_s, cap_rows=cap_rows)
        return found, learn(found.batches, str(log)), problems
    points = read_points(log) if log is not None else prometheus.points() if prometheus else []
    found = query_of_points(query or "query", points, trigger_s)
    return found, learn_rates(found), []


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
    runs = [run for log in logs for run in log.runs.values()]
    if not runs:
        raise InputError("event-log-without-queries", source=str(path), applications=[log.app for log in logs])
    chosen = _chosen(runs, query, str(path))
    shared = {run.query_id for run in runs if run.app in {each.app for each in chosen}}
    if len(shared) > 1:
        problems.append(Problem("backtest-executors-shared", {"source": str(path), "count": len(shared)}))
    batches = [batch for run in sorted(chosen, key=_began_s) for batch in run.batches]
    screened = screen_batches(batches, batches[-1].ended_at_s)
    problems += screened.problems[:_PROBLEMS_SHOWN]
    problems += [run.source_problem for run in chosen if run.source_problem is not None][:1]
    return recorded_query(chosen[-1].name, screened.batches, trigger_s=trigger_s, cap_rows=cap_rows), problems


def _began_s(run: LoggedRun) -> float:
    return run.batches[0].began_s


def _chosen(runs: Sequence[LoggedRun], query: str | None, source: str) -> list[LoggedRun]:
    """Return the runs of one query: those of one checkpoint."""
    named = [run for run in runs if query in {None, run.name, run.query_id}]
    found = {run.query_id for run in named}
    if len(found) == 1:
        return named
    known = sorted({f"{run.name} ({run.query_id})" for run in named or runs})
    code = "backtest-query-ambiguous" if found else "backtest-query-unknown"
    raise InputError(code, source=source, query=query, known=known)
