"""A query that stops at a batch border and starts again from its checkpoint: for jobs that cannot grow running."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from gesscale.spark.operator_state import OperatorState

_LOG = logging.getLogger("gesscale.spark")
_POLL_S = 0.1
_BATCH_END_WITHIN_S = 60.0
_REMEMBERED = 10

#: Starts the query: session and replicas in, StreamingQuery out; the same checkpoint each time.
StartQuery = Callable[..., Any]


class RestartableQuery:
    """Holds the query that runs now.

    Attributes
    ----------
    query
        The query that runs, or the last one; None before the first start.
    replicas
        How many replicas it was started with; None before the first start.
    """

    def __init__(self, spark: Any, start: StartQuery, state: OperatorState) -> None:
        self._spark, self._start, self._state = spark, start, state
        self._lock = threading.Lock()
        self._border = threading.Event()
        state.notify_of_batch_ends(self._border.set)
        self.query: Any = None
        self.replicas: int | None = None
        self._failure: Exception | None = None
        self._restarts: list[dict[str, Any]] = []

    def run(self, replicas: int, stopping: threading.Event) -> None:
        """Start the query, and return when it has ended by itself or was asked to stop.

        Raises
        ------
        Exception
            What ended the query, or kept it from starting again.
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
            _LOG.warning("the query was asked to stop, and its last batch ended with an error: %s", failure)
        elif failure is not None:
            raise failure

    def restart(self, order: str, exchange: Callable[[], int]) -> None:
        """Stop the query at a batch border, exchange the executors, and start it from its checkpoint."""
        if self.query is None:
            return  # it starts on what is there
        self._await_batch_end()
        with self._lock:  # from here on `run` waits
            stopped = self.query
            if not stopped.isActive:
                return  # it has ended by itself
            stopped.stop()
            try:
                replicas = exchange()
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
        _LOG.info("order %s: the query runs again with %s replicas", order, self.replicas)

    def document(self) -> list[dict[str, Any]]:
        """Return the last restarts as JSON values, each with its downtime once a batch has ended after it."""
        return [each | self._downtime(each) for each in self._restarts]

    def _begin(self, replicas: int) -> None:
        self.query = self._start(self._spark, replicas)
        self.replicas = replicas

    def _await_batch_end(self) -> None:
        """Wait until no batch is worked on, or one has just ended; a batch that is stopped would be done again."""
        self._border.clear()
        waited_s = 0.0
        while waited_s < _BATCH_END_WITHIN_S and self.query.isActive and self.query.status["isTriggerActive"]:
            if self._border.wait(_POLL_S):
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
