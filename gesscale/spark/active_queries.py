"""The active queries of all sessions of an application, and the listener bus that hears all of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from gesscale.spark.triggers import QueryTrigger, parse_trigger


class ActiveQuery(NamedTuple):
    """An active query of any session."""

    run_id: str
    #: Its name, else its id.
    query: str
    trigger: QueryTrigger


def stream_executions(spark: Any) -> list[Any]:
    """Return Spark's active queries of this session and all others that share its state, such as a `newSession`."""
    return list(spark._jsparkSession.sharedState().activeStreamingQueries().values())


def active_queries(spark: Any) -> list[ActiveQuery]:
    """Return the active queries, also those that began before any listener was added."""
    return [
        ActiveQuery(
            str(each.runId().toString()),
            str(each.name() or each.id().toString()),
            parse_trigger(str(each.trigger().toString())),
        )
        for each in stream_executions(spark)
    ]


def add_listener(spark: Any, listener: Any) -> Callable[[], None]:
    """Add a listener to the streaming events of all sessions; return what removes it.

    The listener of ``spark.streams`` hears the queries of its own session only, since its bus filters them by the
    bus it belongs to. A bus that belongs to none, as Spark's history server has, passes on every event of its queue.
    """
    from py4j.java_gateway import JavaClass
    from pyspark.java_gateway import ensure_callback_server_started

    context, jvm = spark._jsc.sc(), spark._jvm
    ensure_callback_server_started(spark.sparkContext._gateway)
    streaming = jvm.org.apache.spark.sql.execution.streaming
    kind = streaming.runtime.StreamingQueryListenerBus
    if not isinstance(kind, JavaClass):  # Spark 3.5 and 4.0
        kind = streaming.StreamingQueryListenerBus
    bus = kind(jvm.scala.Option.empty())
    bus.addListener(jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(listener))
    context.listenerBus().addToQueue(bus, "streams")
    return lambda: context.listenerBus().removeListener(bus)
