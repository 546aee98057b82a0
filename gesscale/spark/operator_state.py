"""What the listener writes and the endpoint reads: the recent queries of one operator. No Spark here."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gesscale.batch_record import BatchRecord, HostWork
from gesscale.spark.executors import ExecutorWatch, JobWatch, work_by_host
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings, document, ran_batch, trigger_time_s
from gesscale.spark.sources import OffsetRows, Sources
from gesscale.spark.triggers import UNKNOWN_TRIGGER, QueryTrigger

_LOG = logging.getLogger("gesscale.spark")
_QUERIES = 8


class OperatorState:
    """The queries of one operator, newest last, at most eight.

    Parameters
    ----------
    jobs
        What executors did; None where that cannot be asked.
    """

    def __init__(
        self, settings: QuerySettings, watch: ExecutorWatch, clock_s: Callable[[], float], jobs: JobWatch | None = None
    ) -> None:
        self.settings = settings
        if settings.offset_rows is not None:
            self.settings = replace(settings, offset_rows=self._guarded(settings.offset_rows))
        self.errors = 0
        self._watch = watch
        self._clock_s = clock_s
        self._jobs = jobs
        self._histories: dict[str, QueryHistory] = {}
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._border_listeners: list[Callable[[], None]] = []

    def notify_of_batch_ends(self, listener: Callable[[], None]) -> None:
        """Call somebody whenever a batch has ended."""
        self._border_listeners.append(listener)

    def histories(self) -> list[QueryHistory]:
        """Return the known queries, newest last."""
        with self._lock:
            return list(self._histories.values())

    def begin(self, run_id: str, query: str, trigger: QueryTrigger = UNKNOWN_TRIGGER) -> None:
        """Note that a query has started, and say what its trigger means for a scaler."""
        history = self._history(run_id, query)
        history.last_progress_at_s = self._clock_s()
        history.trigger = trigger
        for warning in trigger.warnings(self.settings.trigger_s):
            self.say(f"query {query}: {warning}")

    def progress(self, run_id: str, query: str, report: Mapping[str, Any]) -> None:
        """Note a progress report."""
        history = self._history(run_id, query)
        history.last_progress_at_s = self._clock_s()
        latest_offset_ms = (report.get("durationMs") or {}).get("latestOffset", 0)
        planned_with = self._watch.seen_by(trigger_time_s(report["timestamp"]) + latest_offset_ms / 1000)
        now = self.executors()
        by_host = self._by_host(run_id, report, planned_with, now)
        batch = history.add(report, self.settings, planned_with=planned_with, now=now, by_host=by_host)
        if batch is not None:
            self._say_what_is_wrong(history, batch)
            for tell in self._border_listeners:
                tell()

    def idle(self, run_id: str) -> None:
        """Note that a query lives and has nothing to do."""
        if history := self._find(run_id):
            history.last_progress_at_s = self._clock_s()

    def end(self, run_id: str) -> None:
        """Note that a query has ended; its batches can still be read, its gauges are gone."""
        if history := self._find(run_id):
            history.active = False

    def batch_ends_s(self, run_id: str) -> tuple[float, float] | None:
        """Return when the first and the last known batch of a run ended; None before the first."""
        history = self._find(run_id)
        batches = list(history.batches) if history else []
        return (batches[0].ended_at_s, batches[-1].ended_at_s) if batches else None

    def executors(self) -> ExecutorSnapshot | None:
        """Return the live executors now; None where Spark does not tell, which is said once."""
        try:
            return self._watch.now()
        except Exception as error:  # noqa: BLE001 - py4j raises what it likes; the query must not feel it
            self.count_error("the live executors cannot be read; replicas are unknown", error)
            return None

    def _by_host(
        self,
        run_id: str,
        report: Mapping[str, Any],
        planned_with: ExecutorSnapshot | None,
        now: ExecutorSnapshot | None,
    ) -> Mapping[str, HostWork] | None:
        """Return what each replica did in a batch; where Spark cannot be asked once, it is not asked again."""
        if self._jobs is None or not ran_batch(report):
            return None
        try:
            done = self._jobs.done_in(run_id, int(report["batchId"]))
        except Exception as error:  # noqa: BLE001 - py4j raises what it likes; the query must not feel it
            self._jobs = None
            self.count_error("jobs cannot be read; what single replicas do is unknown", error)
            return None
        known = [each for executors in (planned_with, now) if executors for each in executors.members]
        return None if done is None else work_by_host(done, known, int(report["numInputRows"]))

    def count_error(self, what: str, error: Exception) -> None:
        """Count a failure and say it once."""
        self.errors += 1
        self.say(f"{what} ({type(error).__name__}: {str(error)[:200]}); the query goes on")

    def document(self, *, after: int) -> dict[str, Any]:
        """Return the answer of ``/batches``: the newest active query, else the newest one."""
        histories = self.histories()
        active = [history for history in histories if history.active]
        chosen = (active or histories)[-1] if histories else None
        return document(chosen, self.settings, now_s=self._clock_s(), after=after, errors=self.errors)

    def _guarded(self, offset_rows: OffsetRows) -> OffsetRows:
        def guarded(offset: str) -> float | None:
            try:
                return offset_rows(offset)
            except Exception as error:  # noqa: BLE001 - the user's own function may raise anything
                self.count_error("an offset could not be turned into rows", error)
                return None

        return guarded

    def _find(self, run_id: str) -> QueryHistory | None:
        with self._lock:
            return self._histories.get(run_id)

    def _history(self, run_id: str, query: str) -> QueryHistory:
        with self._lock:
            if run_id not in self._histories:
                self._histories[run_id] = QueryHistory(query=query, sources=Sources(self.settings.offset_rows))
                while len(self._histories) > _QUERIES:
                    del self._histories[next(iter(self._histories))]
            return self._histories[run_id]

    def _say_what_is_wrong(self, history: QueryHistory, batch: BatchRecord) -> None:
        for problem in history.sources.problems:
            self.say(problem)
        wait_s = self.settings.locality_wait_s
        if batch.state_partitions is not None and wait_s:
            self.say(
                f"it keeps state, and spark.locality.wait is {wait_s:g} s: tasks wait so long for the replica that "
                "holds their state, and one that is added may get none. With spark.locality.wait=0s it gets a part, "
                "and partitions move more often: docs/evidence/nexmark.md has what was measured"
            )
        partitions, most = batch.state_partitions, self.settings.max_replicas
        if partitions is not None and most is not None and partitions < most:
            self.say(
                f"its state has {partitions} partitions, and max_replicas is {most}: replicas beyond {partitions} "
                "get no part of it. Partitions are fixed when a query first begins: set spark.sql.shuffle.partitions "
                f"to at least {most} and begin with a new checkpoint, or lower max_replicas"
            )

    def say(self, text: str) -> None:
        """Log a warning once."""
        if text not in self._said and len(self._said) < 100:
            self._said.add(text)
            _LOG.warning("operator %s: %s", self.settings.operator, text)
