"""The streaming query that the loop scales: its driver and its first replica on the emulated nodes."""

import time
from collections.abc import Mapping
from pathlib import Path

from gesscale.errors import ClusterError, MetricsUnavailableError
from gesscale.monitor.fetch import fetch
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import Topology
from testbed.demo.scenario import Scenario

DRIVER_S = 90.0
METRICS_S = 40.0


def start_query(
    scenario: Scenario, topology: Topology, rides: Path, folder: Path, start_at_s: float
) -> LocalSpark:
    """Start the query and wait until it can be observed.

    Parameters
    ----------
    scenario
        Its rate, cap, trigger and service time.
    topology
        The nodes; the driver's own node gets the first replica.
    rides
        Folder of cleaned rides.
    folder
        Where ``sink`` and ``checkpoint`` go.
    start_at_s
        When the first ride is due, seconds since the epoch.

    Returns
    -------
    LocalSpark
        Its Spark application.

    Raises
    ------
    ClusterError
        When the driver ends, or its metrics cannot be read in time.
    """
    spark = open_spark(topology, scenario.operator)
    options = {
        "operator": scenario.operator,
        "rides": rides.resolve(),
        "output": (folder / "sink").resolve(),
        "checkpoint": (folder / "checkpoint").resolve(),
        "speed": scenario.speed,
        "copies": scenario.copies,
        "start-at-s": start_at_s,
        "cap-rows-per-replica": scenario.cap_rows_per_replica,
        "trigger-s": scenario.trigger_s,
        "service-ms-per-row": scenario.service_ms_per_row,
        "metrics-port": scenario.metrics_port,
    }
    spark.start_driver(stream_program(options))
    await_query(spark, scenario.metrics_url(topology))
    return spark


def stream_program(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the driver program of an operator, as arguments for the Python interpreter.

    Parameters
    ----------
    options
        Those of ``python -m testbed.pipeline stream``, by name. It lingers when all is processed.

    Examples
    --------
    >>> stream_program({"trigger-s": 2.0})
    ('-m', 'testbed.pipeline', 'stream', '--trigger-s', '2.0', '--linger')
    """
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ("-m", "testbed.pipeline", "stream", *given, "--linger")


def await_query(spark: LocalSpark, metrics_url: str) -> None:
    """Wait for a driver that was started, give it a first replica on its own node, wait until it can be observed.

    Parameters
    ----------
    spark
        Its application.
    metrics_url
        Where it publishes its batches.

    Raises
    ------
    ClusterError
        When the driver ends, or its metrics cannot be read in time.
    """
    spark.await_driver(DRIVER_S)
    spark.await_replicas(spark.start_replicas([spark.topology.driver_node]))
    deadline_s = time.monotonic() + METRICS_S
    while True:
        try:
            fetch(f"{metrics_url}/replicas", timeout_s=2.0, max_bytes=100_000)
        except MetricsUnavailableError as error:
            if time.monotonic() > deadline_s:
                message = f"the driver runs, but after {METRICS_S:g} s its metrics cannot be read: {error}"
                raise ClusterError(message) from error
            time.sleep(0.5)
        else:
            return


def require_driver(spark: LocalSpark) -> None:
    """Check that a query's driver lives.

    Raises
    ------
    ClusterError
        When it has died.
    """
    if spark.driver() is None:
        message = f"the driver of operator {spark.operator!r} has ended before its day was over"
        raise ClusterError(message)
