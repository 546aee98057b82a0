"""An archive of the executor's classes (AppCDS), so that new replicas start sooner.

Made once per Java and Spark by a training run, ``testbed prepare``: a driver and one executor on the loopback
device run a small batch and a small streaming query, and the executor writes what it loaded when it ends.
Everything works without the archive too, and the JVM ignores one that does not fit.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gesscale.common.text import command_line
from testbed.cluster import processes, spark_command
from testbed.cluster.commands import run
from testbed.cluster.relay_link import cache_directory

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

TRAINING_TIMEOUT_S = 180
_EXIT_TIMEOUT_S = 60
_LOOPBACK = "127.0.0.1"


def java_options() -> tuple[str, ...]:
    """Return the options that make an executor use the archive; none where there is no archive."""
    archive = archive_path()
    if not archive.exists():
        return ()
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:class+path=off")


def archive_path() -> Path:
    """Return where the archive of this Java and this Spark is kept."""
    java = Path(spark_command.java_program()).resolve()
    spark = spark_command.spark_home()
    identity = f"{java} {java.stat().st_mtime_ns} {spark} {spark.stat().st_mtime_ns}"
    return cache_directory() / f"executor-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"


def prepare_archive() -> bool:
    """Make the archive unless it is there already.

    Returns
    -------
    bool
        Whether it was made now.

    Raises
    ------
    ClusterError
        Where the training run fails.
    """
    archive = archive_path()
    if archive.exists():
        return False
    archive.parent.mkdir(parents=True, exist_ok=True)
    scratch = archive.with_name(f"{archive.name}.{os.getpid()}")
    settings = spark_command.driver_settings(_LOOPBACK, driver_port=0, ui_port=0)
    settings = {name: value for name, value in settings.items() if name != "spark.ui.port"}
    settings["spark.ui.enabled"] = "false"
    options = (word for name, value in settings.items() for word in ("--conf", f"{name}={value}"))
    environment = {
        **processes.base_environment(),
        **spark_command.node_environment(_LOOPBACK, Path(tempfile.gettempdir()), sys.executable),
        "PYSPARK_SUBMIT_ARGS": command_line((*options, "pyspark-shell")),
    }
    try:
        run(
            (sys.executable, "-m", "testbed.cluster.spark_archive", str(scratch)),
            failure="the archive of the executor's classes was not made (replicas start slower without)",
            environment=environment,
            timeout_s=TRAINING_TIMEOUT_S,
        )
        scratch.replace(archive)
    finally:
        scratch.unlink(missing_ok=True)
    return True


def _train(scratch: Path) -> None:
    """Run the driver and the executor of the training run; the executor writes the archive as it ends."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("training").getOrCreate()
    arguments = spark_command.executor_arguments(
        _LOOPBACK,
        driver_address=_LOOPBACK,
        driver_port=int(spark.conf.get("spark.driver.port") or 0),
        application=spark.sparkContext.applicationId,
        executor_id=1,
    )
    command = spark_command.executor_command(arguments, java_options=(f"-XX:ArchiveClassesAtExit={scratch}",))
    executor = subprocess.Popen(command)
    try:
        _use_executor(spark)
        executor.terminate()
        executor.wait(_EXIT_TIMEOUT_S)
    finally:
        executor.kill()
        spark.stop()


def _use_executor(spark: "SparkSession") -> None:
    def same(batches: "Iterator[pd.DataFrame]") -> "Iterator[pd.DataFrame]":
        yield from batches

    rows = spark.range(2000, numPartitions=4)
    rows.mapInPandas(same, rows.schema).selectExpr("id % 7 AS key").groupBy("key").count().collect()
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
    query = stream.mapInPandas(same, stream.schema).writeStream.format("noop").start()
    try:
        query.awaitTermination(5)
    finally:
        query.stop()


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
