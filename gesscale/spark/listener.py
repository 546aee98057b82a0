"""The streaming query listener: it notes what Spark tells it, and nothing it does can fail a query.

Two things were measured on PySpark 4.3.0. A call into Java from a callback runs on Spark's listener thread;
where it ends in a linkage error the whole SparkContext stops, and no ``except`` of Python's sees it. And
PySpark's own conversion of a progress event into Python objects is some sixty such calls, 67 ms, against
1 ms for the event's JSON. So the callbacks here take Spark's event as it comes and only put it on a queue; a
daemon thread of ours asks it for its JSON.
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

_WAITING_EVENTS = 1024


class ProgressListener(StreamingQueryListener):  # type: ignore[misc] # pyspark is not followed by mypy
    """Notes the progress of every query of a session."""

    def __init__(self, state: OperatorState, trigger_of: Callable[[str], QueryTrigger]) -> None:
        self._state = state
        self._trigger_of = trigger_of
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(_WAITING_EVENTS)
        threading.Thread(target=self._note_for_ever, name="gesscale-listener", daemon=True).start()

    @cached_property
    def _jlistener(self) -> Any:
        """Return what PySpark registers and removes; its own one converts every event first."""
        from pyspark import SparkContext

        streaming = SparkContext._jvm.org.apache.spark.sql.streaming
        return streaming.PythonStreamingQueryListenerWrapper(_JavaSide(self))

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Begin a query's history."""

        def note() -> None:
            identity = event.id().toString()
            self._state.begin(_run(event), event.name() or identity, self._trigger(identity))

        self._later(note)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Keep a finished batch."""

        def note() -> None:
            report = json.loads(event.progress().json())
            self._state.progress(report["runId"], report.get("name") or report["id"], report)

        self._later(note)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """Keep the query's liveness fresh."""
        self._later(lambda: self._state.idle(_run(event)))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name and its Java event
        """End a query's history."""
        self._later(lambda: self._state.end(_run(event)))

    def _trigger(self, query_id: str) -> QueryTrigger:
        try:
            return self._trigger_of(query_id)
        except Exception as error:  # noqa: BLE001 - the contract: a query never fails because it is watched
            self._state.count_error("the query's trigger cannot be read", error)
            return UNKNOWN_TRIGGER

    def _later(self, note: Callable[[], None]) -> None:
        try:
            self._waiting.put_nowait(note)
        except queue.Full as error:
            self._state.count_error(f"more than {_WAITING_EVENTS} events wait; one is lost", error)

    def _note_for_ever(self) -> None:
        while True:
            note = self._waiting.get()
            try:
                note()
            except Exception as error:  # noqa: BLE001 - the contract: a query never fails because it is watched
                self._state.count_error("an event was not understood", error)


class _JavaSide:
    """What Spark calls: py4j makes it an object of Spark's listener interface."""

    def __init__(self, listener: ProgressListener) -> None:
        self.onQueryStarted = listener.onQueryStarted
        self.onQueryProgress = listener.onQueryProgress
        self.onQueryIdle = listener.onQueryIdle
        self.onQueryTerminated = listener.onQueryTerminated

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _run(event: Any) -> str:
    return str(event.runId().toString())
