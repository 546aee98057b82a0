"""The streaming query listener. It records the progress of queries and can never fail one.

The callbacks only put Spark's events on a queue; a daemon thread reads their JSON. Two measurements on PySpark 4.3.0
are the reason. A call into Java from a callback runs on Spark's listener thread, and a linkage error there stops the
whole SparkContext without raising in Python. And PySpark's conversion of a progress event makes about sixty such calls,
67 ms, while its JSON takes 1 ms.
"""

import json
import queue
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from gesscale.spark.operator_state import OperatorState
from gesscale.spark.triggers import UNKNOWN_TRIGGER, QueryTrigger

_MAX_EVENTS = 1024


class ProgressListener(StreamingQueryListener):  # type: ignore[misc] # pyspark is not followed by mypy
    """Records the progress of every query of a session."""

    def __init__(self, state: OperatorState, trigger_of: Callable[[str], QueryTrigger]) -> None:
        self._state = state
        self._trigger_of = trigger_of
        self._events: queue.Queue[Callable[[], None]] = queue.Queue(_MAX_EVENTS)
        threading.Thread(target=self._run, name="gesscale-listener", daemon=True).start()

    @cached_property
    def _jlistener(self) -> Any:
        """The Java object that PySpark registers; replaces the default one, which converts every event."""
        from pyspark import SparkContext

        streaming = SparkContext._jvm.org.apache.spark.sql.streaming
        return streaming.PythonStreamingQueryListenerWrapper(_JavaSide(self))

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Start the history of a query."""

        def note() -> None:
            identity = event.id().toString()
            self._state.begin(_run_id(event), event.name() or identity, self._trigger(identity))

        self._enqueue(note)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Record a finished batch."""

        def note() -> None:
            report = json.loads(event.progress().json())
            self._state.progress(report["runId"], report.get("name") or report["id"], report)

        self._enqueue(note)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Record that the query is idle."""
        self._enqueue(lambda: self._state.idle(_run_id(event)))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """End the history of a query."""
        self._enqueue(lambda: self._state.end(_run_id(event)))

    def _trigger(self, query_id: str) -> QueryTrigger:
        try:
            return self._trigger_of(query_id)
        except Exception as error:  # noqa: BLE001 - the listener must never fail a query
            self._state.count_failure("query-trigger-unreadable", error)
            return UNKNOWN_TRIGGER

    def _enqueue(self, note: Callable[[], None]) -> None:
        try:
            self._events.put_nowait(note)
        except queue.Full as error:
            self._state.count_failure("listener-event-lost", error, max_events=_MAX_EVENTS)

    def _run(self) -> None:
        while True:
            note = self._events.get()
            try:
                note()
            except Exception as error:  # noqa: BLE001 - the listener must never fail a query
                self._state.count_failure("listener-event-invalid", error)


class _JavaSide:
    """The object that Spark calls, through py4j, as its listener interface."""

    def __init__(self, listener: ProgressListener) -> None:
        self.onQueryStarted = listener.onQueryStarted
        self.onQueryProgress = listener.onQueryProgress
        self.onQueryIdle = listener.onQueryIdle
        self.onQueryTerminated = listener.onQueryTerminated

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _run_id(event: Any) -> str:
    return str(event.runId().toString())
