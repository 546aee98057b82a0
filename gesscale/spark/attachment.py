"""Attaches listener, HTTP endpoint and order follower to a Spark session."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from gesscale.common.errors import InputError, InvalidValueError
from gesscale.common.http_server import Page, PageServer, json_body
from gesscale.common.logs import log_problem
from gesscale.common.metrics_text import CONTENT_TYPE, exposition
from gesscale.spark.active_queries import active_queries, add_listener
from gesscale.spark.executors import ExecutorWatch, JobWatch
from gesscale.spark.metrics import operator_metrics
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.orders import OrderFollower, follow_orders
from gesscale.spark.query_restart import RestartableQuery, StartQuery
from gesscale.spark.reconcile_actions import LiveExecutor
from gesscale.spark.records import ATTACH, QuerySettings
from gesscale.spark.scheduler import SparkJobs, live_executors
from gesscale.spark.sources import OffsetRows
from gesscale.spark.versions import attach_problem

_LOG = logging.getLogger("gesscale.spark")
_LOOPBACK = "127.0.0.1"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A monitored session; also scaled if there is a StreamAutoscaler."""

    #: Address of the endpoint, such as ``http://127.0.0.1:9108``; None if it could not be opened.
    url: str | None
    _spark: Any
    _listener: Any
    _endpoint: PageServer | None
    _order_follower: OrderFollower | None = None
    _restartable: RestartableQuery | None = None

    @property
    def query(self) -> Any:
        """The running query of ``restart``; None before `run` or without ``restart``."""
        return self._restartable.query if self._restartable is not None else None

    def run(self, stopping: threading.Event | None = None) -> None:
        """Start the query of ``restart``, restart it when an order requires it, and return when it has ended.

        Parameters
        ----------
        stopping
            Set it to stop the query.

        Raises
        ------
        InputError
            If ``attach`` had no ``restart``.
        Exception
            The error that ended the query.
        """
        if self._restartable is None:
            raise InputError("restart-function-missing", source="Attachment.run")
        self._restartable.run(_first_replicas(self._spark), stopping or threading.Event())

    def close(self) -> None:
        """Remove the listener and stop the endpoint and the order follower; safe after the session has stopped."""
        if self._order_follower is not None:
            self._order_follower.stop()
        if self._endpoint is not None:
            self._endpoint.close()
        if self._listener is not None:
            with contextlib.suppress(Exception):  # a stopped session has no listeners
                self._listener.remove()


def attach(
    spark: Any,
    *,
    operator: str,
    query: str | None = None,
    port: int = 9108,
    host: str | None = None,
    cap_rows: int | None = None,
    cap_rows_per_replica: int | None = None,
    trigger_s: float | None = None,
    max_replicas: int | None = None,
    offset_rows: OffsetRows | None = None,
    python_cpu_s_per_row: float | None = None,
    autoscaler: str | None = None,
    namespace: str | None = None,
    restart: StartQuery | None = None,
) -> Attachment:
    """Monitor an application's streaming query, and follow the orders of a StreamAutoscaler.

    Call it before the query starts, or later. An application of several queries calls it once for each that is judged,
    with the query's name and another port. No later failure affects a query. If a port is in use, or Spark or the API
    server does not respond, a warning is logged; then metrics are off or incomplete, or executors are not changed.

    Parameters
    ----------
    spark
        The session.
    operator
        Name of the operator in the workflow.
    query
        Name of its query (``queryName``), in any session of the application. Without one, the operator is judged only
        while a single query is active.
    port
        Port of ``/metrics``, ``/batches`` and ``/replicas``; 0 for a free port.
    host
        Address to listen on; by default loopback in local mode, else the driver's bind address.
    cap_rows
        The cap on the rows of a batch, such as Kafka's ``maxOffsetsPerTrigger``.
    cap_rows_per_replica
        The same, if it grows with the replicas.
    trigger_s
        The trigger interval, if that of the query cannot be read.
    max_replicas
        Most replicas it may get; if its state has fewer partitions, a warning is logged.
    offset_rows
        Converts an offset (JSON text) to rows, for a source that is unknown or interpreted wrongly.
    python_cpu_s_per_row
        CPU time of the query's Python functions for a row, which Spark does not measure; added to that of the tasks.
    autoscaler, namespace
        The StreamAutoscaler whose orders are followed; by default the one given to `gesscale.spark.place`.
        Outside Kubernetes there are no orders, and a warning is logged.
    restart
        Starts the query, for orders of strategy Restart; receives the session and the replicas, returns a
        StreamingQuery. Start it with `Attachment.run`.

    Returns
    -------
    Attachment
        Has the address; closing it is optional, because all threads are daemons.

    Raises
    ------
    InputError
        If an argument is invalid, such as the session of a Spark Connect client. Nothing else is raised.
    """
    _reject_connect(spark)
    if untried := attach_problem(_or_else(lambda: str(spark.version), "")):
        log_problem(_LOG, logging.WARNING, untried.code, operator=operator, **untried.fields)
    settings = QuerySettings(
        app=_or_else(lambda: str(spark.sparkContext.appName), "unknown"),
        operator=operator,
        query=query or None,
        cap_rows=cap_rows,
        cap_rows_per_replica=cap_rows_per_replica,
        trigger_s=trigger_s,
        max_replicas=max_replicas,
        offset_rows=offset_rows,
        python_cpu_s_per_row=python_cpu_s_per_row,
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
    is_used = endpoint is not None or order_follower is not None or restartable is not None
    listener = _listen(spark, state) if is_used else None
    return Attachment(endpoint.url if endpoint else None, spark, listener, endpoint, order_follower, restartable)


def _reject_connect(spark: Any) -> None:
    """Reject the session of a Spark Connect client, which does not run in the driver."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise InputError("spark-connect-session", source=ATTACH)


def _listen(spark: Any, state: OperatorState) -> Any:
    try:
        from gesscale.spark.listener import ProgressListener

        listener = ProgressListener(state, partial(active_queries, spark))
        listener.remove = add_listener(spark, listener)
        listener.find_active()
    except Exception as error:  # noqa: BLE001 - the query must run, monitored or not
        state.count_failure("listener-not-added", error)
        return None
    return listener


def _serve(host: str, port: int, pages: Mapping[str, Page], operator: str) -> PageServer | None:
    try:
        return PageServer(host, port, pages)
    except (OSError, OverflowError) as error:
        fields = {"operator": operator, "host": host, "port": port, "cause": str(error)}
        log_problem(_LOG, logging.WARNING, "metrics-port-unavailable", **fields)
        return None


def _pages(
    state: OperatorState,
    watch: ExecutorWatch,
    order_follower: OrderFollower | None,
    restartable: RestartableQuery | None,
) -> Mapping[str, Page]:
    def refusal() -> str:
        return order_follower.reconciler.refusal if order_follower is not None else ""

    def metrics(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        executors = state.executors()
        queries, warnings = state.own_queries(), state.warnings.by_code()
        families = operator_metrics(state.settings, queries, executors, state.errors, warnings, bool(refusal()))
        return CONTENT_TYPE, exposition(families)

    def batches(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        text = parameters.get("after", ["-1"])[-1]
        try:
            after = int(text)
        except ValueError:
            raise InvalidValueError("batch-number-invalid", place="after", got=text) from None
        document = state.document(after=after, query=parameters.get("query", [None])[-1])
        return json_body({**document, "executor_refusal": refusal()})

    def replicas(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        executors = state.executors()
        hosts = None if executors is None else executors.hosts
        document = {
            "replicas": None if hosts is None else len(hosts),
            "hosts": hosts,
            "executors": [_executor_document(each, watch) for each in executors.members] if executors else None,
            "reconciler": order_follower.document() if order_follower is not None else None,
            "restarts": restartable.document() if restartable is not None else [],
        }
        return json_body(document)

    return {"/metrics": metrics, "/batches": batches, "/replicas": replicas}


def _executor_document(executor: LiveExecutor, watch: ExecutorWatch) -> dict[str, Any]:
    return {
        "id": executor.id,
        "node": executor.node or executor.host,
        "order": executor.order or None,
        "added_at_s": executor.added_at_s,
        "first_task_at_s": watch.first_task_at_s(executor.id),
    }


def _first_replicas(spark: Any) -> int:
    """Return the replicas of the first start: those requested, else the live ones."""

    def requested() -> int:
        count = spark.sparkContext.getConf().get("spark.executor.instances")
        return max(1, int(count or spark.sparkContext.defaultParallelism))

    return _or_else(requested, 1)


def _locality_wait_s(spark: Any) -> float:
    conf = spark._jsc.sc().conf()
    wait = conf.get("spark.locality.wait", "3s")
    return float(conf.getTimeAsMs("spark.locality.wait.process", wait)) / 1000


def _address(spark: Any) -> str:
    conf = spark.sparkContext.getConf()
    if str(conf.get("spark.master", "local")).partition("[")[0] == "local":
        return _LOOPBACK
    return str(conf.get("spark.driver.bindAddress") or conf.get("spark.driver.host") or _LOOPBACK)


def _or_else(read: Callable[[], T], default: T) -> T:
    """Return a value read from Spark, or a default if that fails."""
    try:
        return read()
    except Exception:  # noqa: BLE001 - py4j may raise anything; the query must not be affected
        return default
