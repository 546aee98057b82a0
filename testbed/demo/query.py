"""The streaming query that the loop scales: its driver and its first replica on the emulated nodes."""

import time
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
    spark.start_driver(_program(scenario, rides, folder, start_at_s))
    spark.await_driver(DRIVER_S)
    spark.add_replicas([topology.driver_node])
    _await_metrics(scenario.metrics_url(topology))
    return spark


def _program(scenario: Scenario, rides: Path, folder: Path, start_at_s: float) -> tuple[str, ...]:
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
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ("-m", "testbed.pipeline", "stream", *given, "--linger")


def _await_metrics(url: str) -> None:
    deadline_s = time.monotonic() + METRICS_S
    while True:
        try:
            fetch(f"{url}/replicas", timeout_s=2.0, max_bytes=100_000)
        except MetricsUnavailableError as error:
            if time.monotonic() > deadline_s:
                message = f"the driver runs, but after {METRICS_S:g} s its metrics cannot be read: {error}"
                raise ClusterError(message) from error
            time.sleep(0.5)
        else:
            return
