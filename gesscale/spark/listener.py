"""The streaming query listener: it notes what Spark tells it, and nothing it does can fail a query.

The callbacks run on Spark's listener thread. A call into Java from there that ends in a linkage error stops
the whole SparkContext, and no ``except`` of Python's sees it (measured on PySpark 4.3.0). So the callbacks
only hand on values that are already Python's; a daemon thread of ours does the rest.
"""

import queue
import threading
from collections.abc import Callable

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from gesscale.spark.operator_state import OperatorState

_WAITING_EVENTS = 1024


class ProgressListener(StreamingQueryListener):  # type: ignore[misc] # pyspark is not followed by mypy
    """Notes the progress of every query of a session.

    Parameters
    ----------
    state
        Where it is noted.
    """

    def __init__(self, state: OperatorState) -> None:
        self._state = state
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(_WAITING_EVENTS)
        threading.Thread(target=self._note_for_ever, name="gesscale-listener", daemon=True).start()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Begin a query's history."""
        self._later(lambda: self._state.begin(str(event.runId), event.name or str(event.id)))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Keep a finished batch."""

        def note() -> None:
            report = event.progress
            self._state.progress(str(report["runId"]), report["name"] or str(report["id"]), report)

        self._later(note)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Keep the query's liveness fresh."""
        self._later(lambda: self._state.idle(str(event.runId)))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """End a query's history."""
        self._later(lambda: self._state.end(str(event.runId)))

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
