"""Command lines and settings of the Spark processes, as values; only Spark's own launcher is run."""

import os
from functools import cache
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.common.yaml_text import read_yaml
from gesscale.doctor.machine import java_program
from gesscale.errors import ClusterError, InputError
from gesscale.extras import how_to_install
from gesscale.spark.warm_up import JAR, JARS_SETTING, warm_up_settings
from testbed.cluster.commands import run

#: Modules that the Python workers of the test bed's programs need, in addition to pandas and PyArrow.
WORKERS_IMPORT = ("testbed.pipeline.operator", "testbed.pipeline.replay", "testbed.nexmark.source")
EXECUTOR_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
EXECUTOR_MEMORY_MB = 512
#: One collector thread and the quick compiler only: many JVMs share few cores here.
SMALL_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_LAUNCHER_TIMEOUT_S = 180
#: Spark's timeout for a silent executor, and how often it looks for one.
NETWORK_TIMEOUT_S = 60


def warm_executors() -> dict[str, str]:
    """Return the settings by which new executors warm up before their first task; the jar is on their class path."""
    settings = warm_up_settings(WORKERS_IMPORT)
    return {**settings, "spark.driver.extraClassPath": settings.pop(JARS_SETTING)}


def driver_settings(address: str, *, driver_port: int, ui_port: int) -> dict[str, str]:
    """Return the Spark settings of a driver whose executors the test bed starts."""
    return {
        **read_yaml(Path(__file__).with_name("driver_settings.yaml")),
        # a Master inside the driver's JVM and no worker: executors come from outside only
        "spark.master": f"local-cluster[0,1,{EXECUTOR_MEMORY_MB}]",
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.driver.port": str(driver_port),
        "spark.driver.extraJavaOptions": " ".join(SMALL_JVM),
        "spark.executor.memory": f"{EXECUTOR_MEMORY_MB}m",
        "spark.network.timeout": f"{NETWORK_TIMEOUT_S}s",
        "spark.network.timeoutInterval": f"{NETWORK_TIMEOUT_S}s",
        "spark.ui.port": str(ui_port),
    }


def node_environment(address: str, scratch: Path, python: str) -> dict[str, str]:
    """Return the variables that bind a Spark process to its node."""
    return {
        "SPARK_LOCAL_IP": address,
        "SPARK_LOCAL_HOSTNAME": address,
        "SPARK_PUBLIC_DNS": address,
        "SPARK_LOCAL_DIRS": str(scratch),
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
    }


def executor_command(
    address: str, *, driver_address: str, driver_port: int, application: str, executor_id: int, slots: int = 1
) -> tuple[str, ...]:
    """Return the command line of an executor JVM; its id must be a number for the driver to take it.

    Raises
    ------
    ClusterError
        If there is no Java, or Spark's launcher fails.
    """
    java, *rest = _launcher_command()
    return (
        *(java, *SMALL_JVM, *rest),
        *("--driver-url", f"spark://CoarseGrainedScheduler@{driver_address}:{driver_port}"),
        *("--executor-id", str(executor_id), "--cores", str(slots), "--app-id", application),
        *("--hostname", address, "--bind-address", address, "--resourceProfileId", "0"),
    )


@cache
def spark_home() -> Path:
    """Return the folder of the installed PySpark, jars included."""
    from importlib.util import find_spec

    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise InputError("package-missing", package="pyspark", extra="spark", command=how_to_install("spark"))
    return Path(spec.origin).parent


@cache
def _launcher_command() -> tuple[str, ...]:
    """Ask Spark's launcher for the executor's command line, which depends on Spark's version."""
    command = (java_program(), "-Xshare:auto", "-cp", f"{spark_home()}/jars/*", "org.apache.spark.launcher.Main")
    environment = {
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_EXECUTOR_MEMORY": f"{EXECUTOR_MEMORY_MB}m",
        "SPARK_DIST_CLASSPATH": str(JAR),  # does nothing unless spark.plugins names what is in it
        **{name: os.environ[name] for name in ("JAVA_HOME", "PATH") if name in os.environ},
    }
    written = run(
        (*command, EXECUTOR_CLASS),
        failure=Problem("spark-launcher-failed"),
        environment=environment,
        timeout_s=_LAUNCHER_TIMEOUT_S,
    )
    words = tuple(word for word in written.strip("\0\n").split("\0") if word.strip())
    if EXECUTOR_CLASS not in words:
        raise ClusterError(
            "spark-launcher-failed",
            command=str(spark_home()),
            cause=f"no command for {EXECUTOR_CLASS} in: {' '.join(words)[:200]}",
        )
    return words
