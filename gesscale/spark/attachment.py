"""Attach the listener and its endpoint to a Spark session: the only lines here that know both."""

import contextlib
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gesscale.spark.offsets import OffsetRows, sum_of_leaves
from gesscale.spark.records import OperatorSettings

if TYPE_CHECKING:
    from gesscale.spark.endpoint import Endpoint, Page
    from gesscale.spark.operator_state import OperatorState

_LOG = logging.getLogger("gesscale.spark")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A session that is being watched.

    Attributes
    ----------
    url
        Where the endpoint listens, such as ``http://127.0.0.1:9108``; None where metrics are off.
    """

    url: str | None
    _spark: Any
    _listener: Any
    _endpoint: "Endpoint | None"

    def close(self) -> None:
        """Take the listener off and stop the endpoint; safe after the session has stopped."""
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
    offset_rows: OffsetRows = sum_of_leaves,
) -> Attachment:
    """Watch a session's streaming queries; call it before they start.

    Nothing that happens afterwards can fail a query: a port in use or a Spark that does not answer is logged,
    and metrics are off or incomplete.

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
        The trigger's interval.
    offset_rows
        Counts the rows of a source's offset (JSON text); by default the sum of its numbers.

    Returns
    -------
    Attachment
        Tells the address; closing it is optional, all threads are daemons.

    Raises
    ------
    InputError
        Where an argument cannot be right. Nothing else.
    """
    settings = OperatorSettings(
        app=_app_name(spark),
        operator=operator,
        cap_rows=cap_rows,
        cap_rows_per_replica=cap_rows_per_replica,
        trigger_s=trigger_s,
        offset_rows=offset_rows,
    )
    from gesscale.spark.executors import ExecutorWatch, live_hosts
    from gesscale.spark.operator_state import OperatorState

    state = OperatorState(settings, ExecutorWatch(lambda: live_hosts(spark), time.time), time.time)
    endpoint = _serve(host or _address(spark), port, state)
    if endpoint is None:
        return Attachment(None, spark, None, None)
    return Attachment(endpoint.url, spark, _listen(spark, state), endpoint)


def _listen(spark: Any, state: "OperatorState") -> Any:
    try:
        from gesscale.spark.listener import ProgressListener

        listener = ProgressListener(state)
        spark.streams.addListener(listener)
    except Exception as error:  # noqa: BLE001 - the contract: the query runs, watched or not
        state.count_error("no listener could be added to the session; there will be no batches", error)
        return None
    return listener


def _serve(host: str, port: int, state: "OperatorState") -> "Endpoint | None":
    from gesscale.spark.endpoint import Endpoint

    try:
        return Endpoint(host, port, _pages(state))
    except (OSError, OverflowError) as error:
        _LOG.warning(
            "operator %s: expected to serve metrics on %s:%s, but %s; metrics are off and the query runs "
            "without them. Free the port, or give attach another one (0 takes any).",
            state.settings.operator, host, port, error,
        )  # fmt: skip
        return None


def _pages(state: "OperatorState") -> "Mapping[str, Page]":
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

    from gesscale.spark.endpoint import json_body
    from gesscale.spark.gauges import OperatorGauges

    registry = CollectorRegistry(auto_describe=False)
    registry.register(OperatorGauges(state.settings, state.histories, state.executors, lambda: state.errors))

    def batches(parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        text = parameters.get("after", ["-1"])[-1]
        try:
            after = int(text)
        except ValueError:
            message = f"after: expected the number of a batch, got {text!r}"
            raise ValueError(message) from None
        return json_body(state.document(after=after))

    def replicas(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        executors = state.executors()
        hosts = None if executors is None else executors.hosts
        return json_body({"replicas": None if hosts is None else len(hosts), "hosts": hosts})

    return {
        "/metrics": lambda _parameters: (CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry)),
        "/batches": batches,
        "/replicas": replicas,
    }


def _app_name(spark: Any) -> str:
    try:
        return str(spark.sparkContext.appName)
    except Exception:  # noqa: BLE001 - Spark Connect has no context
        return "unknown"


def _address(spark: Any) -> str:
    loopback = "127.0.0.1"
    try:
        conf = spark.sparkContext.getConf()
        if str(conf.get("spark.master", "local")).partition("[")[0] == "local":
            return loopback
        return str(conf.get("spark.driver.bindAddress") or conf.get("spark.driver.host") or loopback)
    except Exception:  # noqa: BLE001 - Spark Connect has no context
        return loopback
