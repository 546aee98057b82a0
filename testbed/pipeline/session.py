"""Spark session of the pipeline's programs; spark-submit or the environment may set its master."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gesscale.common.shell import command_line
from gesscale.errors import GesscaleError
from gesscale.spark import attach, place, warm_new_executors
from testbed.cluster.spark_command import WORKERS_IMPORT

_LOG = logging.getLogger(__name__)
_POLL_S = 0.25
_QUIET = "--conf spark.ui.showConsoleProgress=false"  # the default of a shell is true
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataProgressEventInterval": "2s",
}


def open_session(
    app: str, *, jars: str = "", autoscaler: str | None = None, settings: Mapping[str, str] = MappingProxyType({})
) -> Any:
    """Open a session with the settings of spark-submit or PYSPARK_SUBMIT_ARGS; ``local[2]`` without them."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the workers use any python3 of the PATH
    if not os.environ.keys() & {"PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"}:
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--master local[2] {_QUIET} pyspark-shell"
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if jars and "--jars" not in arguments:
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{command_line(('--jars', jars))} {arguments}"
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()  # required before SparkConf has the settings of spark-submit
    conf = SparkConf().setAppName(app)
    for name, value in {**_DEFAULTS, **settings}.items():
        conf.setIfMissing(name, value)
    builder = SparkSession.builder.config(conf=conf)
    if autoscaler is not None:
        builder = warm_new_executors(place(builder, autoscaler), WORKERS_IMPORT)
    return builder.getOrCreate()


def stop_on_signals() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def run_query(
    spark: Any,
    operator: str,
    start: Callable[[str | None], Any],
    is_complete: Callable[[Any], bool],
    stopping: threading.Event,
    **attach_options: Any,
) -> None:
    """Run a streaming query until it is complete or stopped, and end its session.

    Parameters
    ----------
    is_complete
        Returns whether everything is processed, from the last progress report; None before the first.

    Raises
    ------
    GesscaleError
        If the query does not start, or fails.
    """
    from pyspark.errors import PySparkException

    try:
        attachment = attach(spark, operator=operator, **attach_options)
        _LOG.warning("metrics are served operator=%s url=%s", operator, attachment.url)
        query = start(attachment.url)
        while not stopping.wait(_POLL_S) and query.isActive:
            if is_complete(query.lastProgress):
                break
        if (failure := query.exception()) is not None and not stopping.is_set():
            raise GesscaleError("query-failed", operator=operator, cause=str(failure)[:500])
        query.stop()
    except PySparkException as error:
        raise GesscaleError("query-not-started", operator=operator, cause=str(error)[:500]) from error
    finally:
        spark.stop()
