"""More partitions for the state of a stopped query: their number is fixed when a query first begins."""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from gesscale.errors import InputError
from gesscale.spark.records import state_partitions

_LOG = logging.getLogger("gesscale.spark")
_FILE_SINK = "FileSink["


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
