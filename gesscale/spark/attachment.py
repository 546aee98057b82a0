"""Attach the listener, its endpoint and the reconciler to a Spark session: the only lines here that know them all."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from gesscale.common.errors import InputError
from gesscale.common.http_server import Page, PageServer, json_body
from gesscale.common.metrics_text import CONTENT_TYPE, exposition
from gesscale.spark.executors import ExecutorWatch, JobWatch
from gesscale.spark.metrics import operator_metrics
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.orders import OrderFollower, follow_orders
from gesscale.spark.reconcile import LiveExecutor
from gesscale.spark.records import QuerySettings
from gesscale.spark.restarting import RestartableQuery, StartQuery
from gesscale.spark.scheduler import SparkJobs, live_executors
from gesscale.spark.sources import OffsetRows
from gesscale.spark.triggers import trigger_of

_LOG = logging.getLogger("gesscale.spark")
_LOOPBACK = "127.0.0.1"
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A session that is being watched, and steered where there is a StreamAutoscaler."""

    #: Where the endpoint listens, such as ``http://127.0.0.1:9108``; None where metrics are off.
    url: str | None
    _spark: Any
    _listener: Any
    _endpoint: PageServer | None
    _order_follower: OrderFollower | None = None
    _restartable: RestartableQuery | None = None

    @property
    def query(self) -> Any:
        """Return the query of ``restart`` that runs now; None before `run` or without ``restart``."""
        return self._restartable.query if self._restartable is not None else None

    def run(self, stopping: threading.Event | None = None) -> None:
        """Start the query of ``restart``, start it again by every order that asks for it, return when it has ended.

        Parameters
        ----------
        stopping
            Set it to stop the query.

        Raises
        ------
        InputError
            Where ``attach`` was given no ``restart``.
        Exception
            What ended the query.
        """
        if self._restartable is None:
            raise InputError(
                "Attachment.run: expected attach(..., restart=start_query), got none; start the query yourself"
            )
        self._restartable.run(_first_replicas(self._spark), stopping or threading.Event())

    def close(self) -> None:
        """Take the listener off and stop endpoint and reconciler; safe after the session has stopped."""
        if self._order_follower is not None:
            self._order_follower.stop()
        if self._endpoint is not None:
            self._endpoint.close()
        if self._listener is not None:
            with contextlib.suppress(Exception):  # a stopped session has no listeners any more
                self._spark.streams.removeListener(self._listener)


def attach(
    spark: Any,
    *,
    operator: str,
    port: int = 9108,
    host: str | None = None,
    cap_rows: int | None = None,
    cap_rows_per_replica: int | None = None,
    trigger_s: float | None = None,
    max_replicas: int | None = None,
    offset_rows: OffsetRows | None = None,
    autoscaler: str | None = None,
    namespace: str | None = None,
    restart: StartQuery | None = None,
) -> Attachment:
    """Watch a session's streaming queries, and obey the orders of a StreamAutoscaler; call it before they start.

    Nothing that happens afterwards can fail a query. A port in use, or a Spark or an API server that does not answer,
    is logged. Then metrics are off or incomplete, or executors stay where they are.

    Parameters
    ----------
    spark
        The session.
    operator
        Name of the operator in the workflow.
    port
        Where to serve ``/metrics``, ``/batches`` and ``/replicas``; 0 takes a free port.
    host
        Address to listen on; by default loopback in local mode, else the driver's own bind address.
    cap_rows
        The cap on the rows of a batch, such as Kafka's ``maxOffsetsPerTrigger``.
    cap_rows_per_replica
        The same where it grows with the replicas.
    trigger_s
        The trigger's interval, where the query's own cannot be read.
    max_replicas
        How many replicas it may get: fewer partitions of state than that are said.
    offset_rows
        Counts the rows of a source's offset (JSON text), of a source that is not known or not read right.
    autoscaler, namespace
        The StreamAutoscaler whose orders are obeyed; by default the one given to `gesscale.spark.place`.
        Outside Kubernetes there is nothing to steer, which is said.
    restart
        Starts the query, for orders of strategy Restart: session and replicas in, StreamingQuery out. Then start
        it by `Attachment.run`.

    Returns
    -------
    Attachment
        Tells the address; closing it is optional, all threads are daemons.

    Raises
    ------
    InputError
        Where an argument cannot be right, such as the session of a Spark Connect client. Nothing else.
    """
    _refuse_connect(spark)
    settings = QuerySettings(
        app=_or_else(lambda: str(spark.sparkContext.appName), "unknown"),
        operator=operator,
        cap_rows=cap_rows,
        cap_rows_per_replica=cap_rows_per_replica,
        trigger_s=trigger_s,
        max_replicas=max_replicas,
        offset_rows=offset_rows,
        locality_wait_s=_or_else(lambda: _locality_wait_s(spark), None),
    )

    watch = ExecutorWatch(lambda: live_executors(spark), time.time)
    state = OperatorState(settings, watch, time.time, _or_else(lambda: JobWatch(SparkJobs(spark)), None))
    restartable = RestartableQuery(spark, restart, state) if restart is not None else None
    order_follower = follow_orders(spark, state, watch, autoscaler=autoscaler, namespace=namespace, restart=restartable)
    endpoint = _serve(
        host or _or_else(lambda: _address(spark), _LOOPBACK),
        port,
        _pages(state, watch, order_follower, restartable),
        operator,
    )
    watched = endpoint is not None or order_follower is not None or restartable is not None
    listener = _listen(spark, state) if watched else None
    if listener is not None and cap_rows is None and cap_rows_per_replica is None:
        state.say(
            "attach got no cap: without one a backlog hides in growing batches, and saturation is seen by late batches "
            "only. Cap the source, such as Kafka by maxOffsetsPerTrigger, and give attach the same cap_rows"
        )
    return Attachment(endpoint.url if endpoint else None, spark, listener, endpoint, order_follower, restartable)


def _refuse_connect(spark: Any) -> None:
    """Refuse the session of a Spark Connect client: it runs in no driver, and has no executors to tell of."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise InputError(
            "gesscale.spark.attach: expected the session of a driver, got that of a Spark Connect client: run the "
            "query in the driver itself, with spark-submit"
        )


def _listen(spark: Any, state: OperatorState) -> Any:
    try:
        from gesscale.spark.listener import ProgressListener

        listener = ProgressListener(state, partial(trigger_of, spark))
        spark.streams.addListener(listener)
    except Exception as error:  # noqa: BLE001 - the contract: the query runs, watched or not
        state.count_error("no listener could be added to the session; there will be no batches", error)
        return None
    return listener


def _serve(host: str, port: int, pages: Mapping[str, Page], operator: str) -> PageServer | None:
    try:
        return PageServer(host, port, pages)
    except (OSError, OverflowError) as error:
        _LOG.warning(
            "operator %s: expected to serve metrics on %s:%s, but %s; metrics are off and the query runs "
            "without them. Free the port, or give attach another one (0 takes any).",
            operator, host, port, error,
        )  # fmt: skip
        return None


def _pages(
    state: OperatorState,
    watch: ExecutorWatch,
    order_follower: OrderFollower | None,
    restartable: RestartableQuery | None,
) -> Mapping[str, Page]:
    def metrics(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        executors = state.executors()
        families = operator_metrics(state.settings, state.histories(), executors, state.errors)
        return CONTENT_TYPE, exposition(families)

    def batches(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        text = parameters.get("after", ["-1"])[-1]
        try:
            after = int(text)
        except ValueError:
            raise ValueError(f"after: expected the number of a batch, got {text!r}") from None
        return json_body(state.document(after=after))

    def replicas(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        executors = state.executors()
        hosts = None if executors is None else executors.hosts
        document = {
            "replicas": None if hosts is None else len(hosts),
            "hosts": hosts,
            "executors": [_told(each, watch) for each in executors.members] if executors else None,
            "reconciler": order_follower.document() if order_follower is not None else None,
            "restarts": restartable.document() if restartable is not None else [],
        }
        return json_body(document)

    return {"/metrics": metrics, "/batches": batches, "/replicas": replicas}


def _told(executor: LiveExecutor, watch: ExecutorWatch) -> dict[str, Any]:
    return {
        "id": executor.id,
        "node": executor.node or executor.host,
        "order": executor.order or None,
        "added_at_s": executor.added_at_s,
        "first_task_at_s": watch.first_task_at_s(executor.id),
    }


def _first_replicas(spark: Any) -> int:
    """Return how many replicas the first start is for: as many as were asked for, else as live."""

    def asked() -> int:
        count = spark.sparkContext.getConf().get("spark.executor.instances")
        return max(1, int(count or spark.sparkContext.defaultParallelism))

    return _or_else(asked, 1)


def _locality_wait_s(spark: Any) -> float:
    conf = spark._jsc.sc().conf()
    wait = conf.get("spark.locality.wait", "3s")
    return float(conf.getTimeAsMs("spark.locality.wait.process", wait)) / 1000


def _address(spark: Any) -> str:
    conf = spark.sparkContext.getConf()
    if str(conf.get("spark.master", "local")).partition("[")[0] == "local":
        return _LOOPBACK
    return str(conf.get("spark.driver.bindAddress") or conf.get("spark.driver.host") or _LOOPBACK)


def _or_else(ask: Callable[[], Told], otherwise: Told) -> Told:
    """Return what Spark tells, or something else: what is no session of a driver tells nothing."""
    try:
        return ask()
    except Exception:  # noqa: BLE001 - py4j raises what it likes; the query must not feel it
        return otherwise
