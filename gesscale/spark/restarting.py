"""A query that stops at a batch border and starts again from its checkpoint: for jobs that cannot grow running."""

import inspect
import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gesscale.common.errors import InputError
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.records import state_partitions

_LOG = logging.getLogger("gesscale.spark")
_POLL_S = 0.1
_BATCH_END_WITHIN_S = 60.0
_REMEMBERED = 10
_FILE_SINK = "FileSink["

StartQuery = Callable[..., Any]
"""Starts the query: session and replicas in, StreamingQuery out; the same checkpoint each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """One restart.

    Attributes
    ----------
    order
        By which order.
    replicas
        With how many it was started again.
    stopped_run, started_run
        Spark's run ids.
    state_partitions
        Into how many partitions the state was cut in between; None where it was left as it is.
    """

    order: str
    replicas: int
    state_partitions: int | None
    stopped_run: str
    started_run: str


def partitions_due(progress: Mapping[str, Any] | None, replicas: int) -> int | None:
    """Return into how many partitions the state is to be cut; None where it has enough, or must stay as it is.

    The number is doubled until each replica gets a part, so that the next few changes need no repartition.

    Parameters
    ----------
    progress
        Spark's last progress report of the query, JSON values; None before the first.
    replicas
        With how many it starts again.

    Notes
    -----
    Spark writes the repartition as a batch of its own, which the log of a file sink has no entry for. The next
    compaction of that log fails then, and with it the query, for good (seen with Spark 4.3.0).
    """
    partitions = state_partitions(progress) if progress is not None else None
    if progress is None or partitions is None or partitions >= replicas:
        return None
    if str((progress.get("sink") or {}).get("description", "")).startswith(_FILE_SINK):
        _LOG.warning(
            "the state has %s partitions for %s replicas, and is not repartitioned: Spark's file sink does not "
            "outlive it. Write by foreachBatch",
            partitions, replicas,
        )  # fmt: skip
        return None
    while partitions < replicas:
        partitions *= 2
    return partitions


class StateRepartition:
    """Cuts the state in a checkpoint into more partitions, while no query runs on it.

    Parameters
    ----------
    spark
        The session.
    checkpoint
        The query's ``checkpointLocation``.
    start
        Starts the query; with ``once=True`` such that it runs one batch and ends.

    Raises
    ------
    InputError
        Where ``start`` takes no ``once``, or this Spark cannot repartition state.

    Notes
    -----
    Experimental in Spark (``StreamingCheckpointManager.repartition``, since 4.2; state in RocksDB). It refuses a
    checkpoint whose last batch is not committed, and a stop cuts a batch short. So one batch is run to its end first:
    where one was cut short, that one.
    """

    def __init__(self, spark: Any, checkpoint: str, start: Callable[..., Any]) -> None:
        if "once" not in inspect.signature(start).parameters:
            message = (
                "gesscale.spark.attach: state_checkpoint needs a restart=start_query(spark, replicas, once=False), "
                "got one without `once`; with once=True it starts the query with trigger(once=True)"
            )
            raise InputError(message)
        if not hasattr(type(spark), "_streamingCheckpointManager"):
            message = f"gesscale.spark.attach: state_checkpoint needs Spark 4.2 or later, got {spark.version}"
            raise InputError(message)
        self._spark, self._checkpoint, self._start = spark, checkpoint, start

    def repartition(self, partitions: int, replicas: int, *, within_s: float) -> bool:
        """Do it; return False, logged, where it cannot be done: the query starts with what it had.

        Parameters
        ----------
        partitions
            How many there shall be.
        replicas
            With how many the last batch is run.
        within_s
            How long that batch may take.
        """
        try:
            last = self._start(self._spark, replicas, once=True)
            if not last.awaitTermination(within_s):
                last.stop()
                _LOG.warning("the state is not repartitioned: its last batch took more than %g s", within_s)
                return False
            self._spark._streamingCheckpointManager.repartition(self._checkpoint, partitions)
        except Exception as error:  # noqa: BLE001 - the query goes on with the partitions that it has
            reason = str(error).splitlines()[:2]
            _LOG.warning("the state in %s is not repartitioned: %s", self._checkpoint, " ".join(reason))
            return False
        _LOG.info("the state in %s has %s partitions now", self._checkpoint, partitions)
        return True


class RestartableQuery:
    """Holds the query that runs now.

    Parameters
    ----------
    spark
        The session.
    start
        Starts the query.
    state
        The operator's batches, which tell the downtime.
    repartition
        Gives its state more partitions where there are fewer than replicas; None where it shall not.
    """

    def __init__(
        self, spark: Any, start: StartQuery, state: OperatorState, repartition: StateRepartition | None = None
    ) -> None:
        self._spark, self._start, self._state, self._repartition = spark, start, state, repartition
        self._lock = threading.Lock()
        self._border = threading.Event()
        state.notify_of_batch_ends(self._border.set)
        self._query: Any = None
        self._replicas: int | None = None
        self._failure: Exception | None = None
        self._restarts: list[Restart] = []

    @property
    def query(self) -> Any:
        """Return the query that runs, or the last one; None before the first start."""
        return self._query

    @property
    def replicas(self) -> int | None:
        """Return how many replicas it was started with; None before the first start."""
        return self._replicas

    def run(self, replicas: int, stopping: threading.Event) -> None:
        """Start the query, and return when it has ended by itself or was asked to stop.

        Parameters
        ----------
        replicas
            To start with.
        stopping
            Set to stop it.

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
                if not self._query.isActive:
                    break
        with self._lock:
            stopped = stopping.is_set() and self._query.isActive
            if stopped:
                self._query.stop()
            failure = self._query.exception()
        if failure is not None and stopped:
            _LOG.warning("the query was asked to stop, and its last batch ended with an error: %s", failure)
        elif failure is not None:
            raise failure

    def restart(self, order: str, exchange: Callable[[], int]) -> None:
        """Stop the query at a batch border, exchange the executors, and start it from its checkpoint.

        Parameters
        ----------
        order
            By which order.
        exchange
            Lets executors go, and returns how many replicas there are.
        """
        if self._query is None:
            return  # it starts on what is there
        self._await_batch_end()
        with self._lock:  # from here on `run` waits
            stopped = self._query
            if not stopped.isActive:
                return  # it has ended by itself
            stopped.stop()
            try:
                replicas = exchange()
                partitions = self._repartitioned(stopped, replicas)
                self._begin(replicas)
            except Exception as error:
                self._failure = error
                raise
            self._restarts.append(
                Restart(
                    order=order,
                    replicas=replicas,
                    state_partitions=partitions,
                    stopped_run=str(stopped.runId),
                    started_run=str(self._query.runId),
                )
            )
            del self._restarts[:-_REMEMBERED]
        _LOG.info("order %s: the query runs again with %s replicas", order, self._replicas)

    def document(self) -> list[dict[str, Any]]:
        """Return the last restarts as JSON values, each with its downtime once a batch has ended after it."""
        return [asdict(each) | self._downtime(each) for each in self._restarts]

    def _begin(self, replicas: int) -> None:
        self._query = self._start(self._spark, replicas)
        self._replicas = replicas

    def _repartitioned(self, stopped: Any, replicas: int) -> int | None:
        if self._repartition is None:
            return None
        due = partitions_due(_last_progress(stopped), replicas)
        if due is None or not self._repartition.repartition(due, replicas, within_s=_BATCH_END_WITHIN_S):
            return None
        return due

    def _await_batch_end(self) -> None:
        """Wait until no batch is worked on, or one has just ended; a batch that is stopped would be done again."""
        self._border.clear()
        waited_s = 0.0
        while (
            waited_s < _BATCH_END_WITHIN_S and self._query.isActive and self._query.status["isTriggerActive"]
        ):
            if self._border.wait(_POLL_S):
                return
            waited_s += _POLL_S

    def _downtime(self, restart: Restart) -> dict[str, float | None]:
        before, after = (self._state.batch_ends_s(run) for run in (restart.stopped_run, restart.started_run))
        return {
            "last_batch_ended_at_s": before[1] if before else None,
            "first_batch_ended_at_s": after[0] if after else None,
            "downtime_s": after[0] - before[1] if before and after else None,
        }


def _last_progress(query: Any) -> Mapping[str, Any] | None:
    report = query.lastProgress
    return None if report is None else json.loads(report.json)
