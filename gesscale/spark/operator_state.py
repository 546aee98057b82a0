"""Shared state of listener and endpoint: the recent queries of one operator. Without Spark."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gesscale.batch_record import BatchRecord, HostWork
from gesscale.common.counted_warnings import CountedWarnings
from gesscale.spark.executors import BatchWork, ExecutorWatch, JobWatch, work_by_host
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings, document, ran_batch, trigger_time_s
from gesscale.spark.source_kinds import kind_of, parse_offset
from gesscale.spark.sources import OffsetRows, Sources
from gesscale.spark.triggers import UNKNOWN_TRIGGER, QueryTrigger

_LOG = logging.getLogger("gesscale.spark")
_ENDED_QUERIES = 8


class OperatorState:
    """The queries of an application, newest last: all active ones, and the eight that ended last.

    Parameters
    ----------
    jobs
        Provides the work of the executors; None if Spark's jobs cannot be read.
    """

    def __init__(
        self, settings: QuerySettings, watch: ExecutorWatch, clock_s: Callable[[], float], jobs: JobWatch | None = None
    ) -> None:
        self.settings = settings
        if settings.offset_rows is not None:
            self.settings = replace(settings, offset_rows=self._guarded(settings.offset_rows))
        self._of_others = QuerySettings(app=settings.app, operator=settings.operator)
        self.errors = 0
        self._watch = watch
        self._clock_s = clock_s
        self._jobs = jobs
        self._histories: dict[str, QueryHistory] = {}
        self._lock = threading.Lock()
        self.warnings = CountedWarnings(_LOG)
        self._batch_end_listeners: list[Callable[[], None]] = []

    def on_batch_end(self, listener: Callable[[], None]) -> None:
        """Call a function whenever a batch has ended."""
        self._batch_end_listeners.append(listener)

    def histories(self) -> list[QueryHistory]:
        """Return the known queries, newest last."""
        with self._lock:
            return list(self._histories.values())

    def own_queries(self) -> list[QueryHistory]:
        """Return the known queries that may be the operator's: those of the name, or all without a name."""
        return [each for each in self.histories() if self._is_own(each.query)]

    def knows(self, run_id: str) -> bool:
        """Return whether a run of a query has begun."""
        return self._find(run_id) is not None

    def begin(self, run_id: str, query: str, trigger: QueryTrigger = UNKNOWN_TRIGGER) -> None:
        """Note that a query has started, and log warnings about its trigger."""
        history = self._history(run_id, query)
        history.last_progress_at_s = self._clock_s()
        history.trigger = trigger
        if self._is_own(query):
            for warning in trigger.warnings(self.settings.trigger_s):
                self.warn(warning.code, query=query, **warning.fields)
            active = sorted(each.query for each in self.own_queries() if each.active)
            if len(active) > 1:
                self.warn("queries-several", queries=active)

    def progress(self, run_id: str, query: str, report: Mapping[str, Any]) -> None:
        """Note a progress report."""
        history = self._history(run_id, query)
        history.last_progress_at_s = self._clock_s()
        latest_offset_ms = (report.get("durationMs") or {}).get("latestOffset", 0)
        planned_with = self._watch.snapshot_at(trigger_time_s(report["timestamp"]) + latest_offset_ms / 1000)
        now = self.executors()
        work = self._work(run_id, report)
        batch = history.add(
            report,
            self.settings if self._is_own(query) else self._of_others,
            planned_with=planned_with,
            now=now,
            by_host=self._by_host(work, report, planned_with, now),
            tasks=(work.tasks or None) if work else None,
        )
        if batch is not None and self._is_own(query):
            self._log_warnings(history, batch, report)
            for notify in self._batch_end_listeners:
                notify()

    def idle(self, run_id: str) -> None:
        """Note that a query is idle."""
        if history := self._find(run_id):
            history.last_progress_at_s = self._clock_s()

    def end(self, run_id: str) -> None:
        """Note that a query has ended; its batches remain readable, its gauges vanish."""
        if history := self._find(run_id):
            history.active = False

    def batch_ends_s(self, run_id: str) -> tuple[float, float] | None:
        """Return when the first and the last known batch of a run ended; None before the first."""
        history = self._find(run_id)
        batches = list(history.batches) if history else []
        return (batches[0].ended_at_s, batches[-1].ended_at_s) if batches else None

    def executors(self) -> ExecutorSnapshot | None:
        """Return the live executors now; None if they cannot be read, which is logged once."""
        try:
            return self._watch.now()
        except Exception as error:  # noqa: BLE001 - py4j may raise anything; the query must not be affected
            self.count_failure("executors-unreadable", error)
            return None

    def _work(self, run_id: str, report: Mapping[str, Any]) -> BatchWork | None:
        """Return the work of a batch; after the first failure, Spark's jobs are not read again."""
        if self._jobs is None or not ran_batch(report):
            return None
        try:
            return self._jobs.work_of_batch(run_id, int(report["batchId"]))
        except Exception as error:  # noqa: BLE001 - py4j may raise anything; the query must not be affected
            self._jobs = None
            self.count_failure("spark-jobs-unreadable", error)
            return None

    def _by_host(
        self,
        work: BatchWork | None,
        report: Mapping[str, Any],
        planned_with: ExecutorSnapshot | None,
        now: ExecutorSnapshot | None,
    ) -> Mapping[str, HostWork] | None:
        known = [each for executors in (planned_with, now) if executors for each in executors.members]
        if work is None:
            return None
        return work_by_host(work.by_executor, known, int(report["numInputRows"]), self.settings.python_cpu_s_per_row)

    def count_failure(self, code: str, error: Exception, **fields: Any) -> None:
        """Count a failure and log it once."""
        self.errors += 1
        self.warn(code, **fields, cause=f"{type(error).__name__}: {str(error)[:200]}")

    def document(self, *, after: int, query: str | None = None) -> dict[str, Any]:
        """Return the response of ``/batches``, by default for the operator's query."""
        return document(
            self.histories(),
            self.settings,
            now_s=self._clock_s(),
            after=after,
            query=query,
            errors=self.errors,
            warnings=self.warnings.by_code(),
        )

    def _guarded(self, offset_rows: OffsetRows) -> OffsetRows:
        def guarded(offset: str) -> float | None:
            try:
                return offset_rows(offset)
            except Exception as error:  # noqa: BLE001 - the user's function may raise anything
                self.count_failure("offset-rows-failed", error)
                return None

        return guarded

    def _is_own(self, query: str) -> bool:
        return self.settings.query in {None, query}

    def _find(self, run_id: str) -> QueryHistory | None:
        with self._lock:
            return self._histories.get(run_id)

    def _history(self, run_id: str, query: str) -> QueryHistory:
        with self._lock:
            if run_id not in self._histories:
                offset_rows = self.settings.offset_rows if self._is_own(query) else None
                self._histories[run_id] = QueryHistory(query=query, sources=Sources(offset_rows))
                ended = [key for key, each in self._histories.items() if not each.active]
                for key in ended[:-_ENDED_QUERIES]:
                    del self._histories[key]
            return self._histories[run_id]

    def _log_warnings(self, history: QueryHistory, batch: BatchRecord, report: Mapping[str, Any]) -> None:
        no_cap = self.settings.cap_rows is None and self.settings.cap_rows_per_replica is None
        if no_cap and _can_have_cap(report) and "batch-cap-missing" not in self.warnings.by_code():
            self.warn("batch-cap-missing")
        for problem in history.sources.problems:
            self.warn(problem.code, **problem.fields)
        partitions, max_replicas = batch.state_partitions, self.settings.max_replicas
        if partitions is not None and self.settings.locality_wait_s:
            self.warn("state-locality-wait", wait_s=self.settings.locality_wait_s)
        if partitions is not None and max_replicas is not None and partitions < max_replicas:
            self.warn("state-partitions-few", partitions=partitions, max_replicas=max_replicas)

    def warn(self, code: str, **fields: Any) -> None:
        """Count a warning, and log it now and then."""
        self.warnings.warn(code, operator=self.settings.operator, **fields)


def _can_have_cap(report: Mapping[str, Any]) -> bool:
    """Return whether a source of the query has an option that limits the rows of a batch."""
    found = [
        kind_of(parse_offset(each.get("endOffset")), str(each.get("description", "")))
        for each in report.get("sources", ())
    ]
    return any(kind is None or kind.can_have_cap for kind in found)
