"""Fetches Kafka's jars from Maven Central into a cache folder, with the Ivy that PySpark contains."""

import re
import tempfile
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.doctor.machine import java_program
from gesscale.errors import ClusterError, GesscaleError
from testbed.cluster.commands import run
from testbed.cluster.state import cache_directory

BROKER = ("org.apache.kafka", "kafka_2.13", "4.3.1")
#: The newest on Maven Central; it works with PySpark 4.3.
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0")

_FETCH_TIMEOUT_S = 300.0


def require_kafka() -> None:
    """Check that client, broker and connector are available; the first call fetches the jars of the latter two.

    Raises
    ------
    ModuleNotFoundError
        If the client is not installed.
    GesscaleError
        If the jars cannot be fetched.
    """
    import_module("confluent_kafka")
    broker_jars()
    connector_jars()


def broker_jars() -> tuple[Path, ...]:
    """Return the broker's jars; the first call fetches about 44 MB.

    Raises
    ------
    GesscaleError
        If they cannot be fetched.
    """
    return _fetched(BROKER)


def connector_jars() -> tuple[Path, ...]:
    """Return the jars that Spark's Kafka source needs in addition to those of PySpark.

    Raises
    ------
    GesscaleError
        If they cannot be fetched.
    """
    shipped = {_module(path) for path in _pyspark_jars()}
    if CONNECTOR[1] in shipped:  # in an image such as that of the taxi example
        return ()
    return tuple(path for path in _fetched(CONNECTOR) if _module(path) not in shipped)


def _fetched(artifact: tuple[str, str, str]) -> tuple[Path, ...]:
    """Return the jars of an artifact and its dependencies."""
    folder = cache_directory() / "jars" / "-".join(artifact[1:])
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            whole = Path(scratch) / "jars"
            _run_ivy(artifact, whole)
            try:
                whole.rename(folder)  # atomically: no process sees a partial folder
            except OSError:
                if not folder.is_dir():  # otherwise another process was faster
                    raise
    return tuple(sorted(folder.glob("*.jar")))


def _run_ivy(artifact: tuple[str, str, str], target: Path) -> None:
    ivy = next(path for path in _pyspark_jars() if _module(path) == "ivy")
    command = (
        *(java_program(), "-jar", str(ivy), "-cache", str(cache_directory() / "ivy")),
        *("-dependency", *artifact, "-confs", "default"),
        *("-retrieve", f"{target}/[artifact]-[revision](-[classifier]).[ext]"),
    )
    try:
        run(command, timeout_s=_FETCH_TIMEOUT_S, failure=Problem("jars-not-fetched", {"artifact": ":".join(artifact)}))
    except ClusterError as error:
        lines = str(error.fields.get("cause", error)).splitlines() or [""]
        reason = next((line for line in lines if "not found" in line), lines[-1]).strip(": \t")
        raise GesscaleError("kafka-jars-missing", cause=reason) from error


def _pyspark_jars() -> list[Path]:
    return [Path(str(path)) for path in (files("pyspark") / "jars").iterdir() if path.name.endswith(".jar")]


def _module(jar: Path) -> str:
    return re.split(r"-\d+\.", jar.name, maxsplit=1)[0]
