"""The streaming query listener. It records the progress of queries and can never fail one.

The callbacks only put Spark's events on a queue; a daemon thread reads their JSON. Two measurements on PySpark 4.3.0
are the reason. A call into Java from a callback runs on Spark's listener thread, and a linkage error there stops the
whole SparkContext without raising in Python. And PySpark's conversion of a progress event makes about sixty such calls,
67 ms, while its JSON takes 1 ms.
"""

import json
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gesscale.spark.active_queries import ActiveQuery
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.triggers import UNKNOWN_TRIGGER

_MAX_EVENTS = 1024


class ProgressListener:
    """Records the progress of every query of an application; Spark calls it through py4j.

    Attributes
    ----------
    remove
        Removes it from Spark's listener bus.
    """

    class Java:  # noqa: D106 - read by py4j
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)

    def __init__(self, state: OperatorState, active_queries: Callable[[], Sequence[ActiveQuery]]) -> None:
        self._state = state
        self._active_queries = active_queries
        self.remove: Callable[[], None] = lambda: None
        self._events: queue.Queue[Callable[[], None]] = queue.Queue(_MAX_EVENTS)
        threading.Thread(target=self._run, name="gesscale-listener", daemon=True).start()

    def find_active(self) -> None:
        """Start the histories of the queries that began before."""
        self._enqueue(lambda: self._begin(None))

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Start the history of a query."""

        def note() -> None:
            self._begin(_run_id(event), event.name() or event.id().toString())

        self._enqueue(note)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Record a finished batch."""

        def note() -> None:
            report = json.loads(event.progress().json())
            run_id, query = report["runId"], report.get("name") or report["id"]
            if not self._state.knows(run_id):
                self._begin(run_id, query)
            self._state.progress(run_id, query, report)

        self._enqueue(note)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Record that the query is idle."""
        self._enqueue(lambda: self._state.idle(_run_id(event)))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """End the history of a query."""
        self._enqueue(lambda: self._state.end(_run_id(event)))

    def _begin(self, run_id: str | None, query: str = "") -> None:
        """Start the history of a run, and of all other active ones that are not known yet."""
        try:
            active = {each.run_id: each for each in self._active_queries()}
        except Exception as error:  # noqa: BLE001 - the listener must never fail a query
            self._state.count_failure("query-trigger-unreadable", error)
            active = {}
        if run_id is not None:
            active.setdefault(run_id, ActiveQuery(run_id, query, UNKNOWN_TRIGGER))
        for each in active.values():
            if not self._state.knows(each.run_id):
                self._state.begin(*each)

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


def _run_id(event: Any) -> str:
    return str(event.runId().toString())
