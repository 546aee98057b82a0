"""The streaming query listener: it notes what Spark tells it, and nothing it does can fail a query."""

import json
from collections.abc import Callable

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from gesscale.spark.operator_state import OperatorState


class ProgressListener(StreamingQueryListener):  # type: ignore[misc] # pyspark is not followed by mypy
    """Notes the progress of every query of a session.

    Parameters
    ----------
    state
        Where it is noted.
    """

    def __init__(self, state: OperatorState) -> None:
        self._state = state

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Begin a query's history."""
        self._guard(
            "a started query", lambda: self._state.begin(str(event.runId), event.name or str(event.id))
        )

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Keep a finished batch."""

        def note() -> None:
            progress = event.progress
            query = progress.name or str(progress.id)
            self._state.progress(str(progress.runId), query, json.loads(progress.json))

        self._guard("a progress report", note)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Keep the query's liveness fresh."""
        self._guard("an idle query", lambda: self._state.idle(str(event.runId)))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """End a query's history."""
        self._guard("a terminated query", lambda: self._state.end(str(event.runId)))

    def _guard(self, what: str, note: Callable[[], None]) -> None:
        try:
            note()
        except Exception as error:  # noqa: BLE001 - the contract: a query never fails because it is watched
            self._state.count_error(f"{what} was not understood", error)
