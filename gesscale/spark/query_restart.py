"""Restarts a query from its checkpoint at a batch boundary, for jobs that cannot be scaled while they run."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from gesscale.common.logs import log_problem
from gesscale.spark.operator_state import OperatorState

_LOG = logging.getLogger("gesscale.spark")
_POLL_S = 0.1
_BATCH_END_TIMEOUT_S = 60.0
_REMEMBERED = 10

#: Starts the query with the same checkpoint; receives session and replicas, returns a StreamingQuery.
StartQuery = Callable[..., Any]


class RestartableQuery:
    """A query that can be restarted.

    Attributes
    ----------
    query
        The running query, or the last one; None before the first start.
    replicas
        Replicas that it was started with; None before the first start.
    """

    def __init__(self, spark: Any, start: StartQuery, state: OperatorState) -> None:
        self._spark, self._start, self._state = spark, start, state
        self._lock = threading.Lock()
        self._batch_ended = threading.Event()
        state.on_batch_end(self._batch_ended.set)
        self.query: Any = None
        self.replicas: int | None = None
        self._failure: Exception | None = None
        self._restarts: list[dict[str, Any]] = []

    def run(self, replicas: int, stopping: threading.Event) -> None:
        """Start the query, and return when it has ended or was stopped.

        Raises
        ------
        Exception
            The error that ended the query or prevented its restart.
        """
        with self._lock:
            self._begin(replicas)
        while not stopping.wait(_POLL_S):
            with self._lock:
                if self._failure is not None:
                    raise self._failure
                if not self.query.isActive:
                    break
        with self._lock:
            stopped = stopping.is_set() and self.query.isActive
            if stopped:
                self.query.stop()
            failure = self.query.exception()
        if failure is not None and stopped:
            log_problem(_LOG, logging.WARNING, "query-stop-failed", cause=str(failure))
        elif failure is not None:
            raise failure

    def restart(self, order: str, exchange_executors: Callable[[], int]) -> None:
        """Stop the query at a batch boundary, exchange the executors, and start it from its checkpoint."""
        if self.query is None:
            return  # it will start on the present executors
        self._await_batch_end()
        with self._lock:  # `run` waits from here on
            stopped = self.query
            if not stopped.isActive:
                return  # it has already ended
            stopped.stop()
            try:
                replicas = exchange_executors()
                self._begin(replicas)
            except Exception as error:
                self._failure = error
                raise
            self._restarts.append(
                {
                    "order": order,
                    "replicas": replicas,
                    "stopped_run": str(stopped.runId),
                    "started_run": str(self.query.runId),
                }
            )
            del self._restarts[:-_REMEMBERED]
        _LOG.info("query restarted order=%s replicas=%s", order, self.replicas)

    def document(self) -> list[dict[str, Any]]:
        """Return the last restarts as JSON values, with their downtime after the first batch has ended."""
        return [each | self._downtime(each) for each in self._restarts]

    def _begin(self, replicas: int) -> None:
        self.query = self._start(self._spark, replicas)
        self.replicas = replicas

    def _await_batch_end(self) -> None:
        """Wait until a batch has ended or none is running, because an interrupted batch would be repeated."""
        self._batch_ended.clear()
        waited_s = 0.0
        while waited_s < _BATCH_END_TIMEOUT_S and self.query.isActive and self.query.status["isTriggerActive"]:
            if self._batch_ended.wait(_POLL_S):
                return
            waited_s += _POLL_S

    def _downtime(self, restart: Mapping[str, Any]) -> dict[str, float | None]:
        before = self._state.batch_ends_s(restart["stopped_run"])
        after = self._state.batch_ends_s(restart["started_run"])
        return {
            "last_batch_ended_at_s": before[1] if before else None,
            "first_batch_ended_at_s": after[0] if after else None,
            "downtime_s": after[0] - before[1] if before and after else None,
        }
