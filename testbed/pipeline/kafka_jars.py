"""Kafka's jars, from Maven Central into a cache folder, by the Ivy that ships inside PySpark."""

import logging
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version as installed_version
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

from gesscale.errors import GesscaleError
from testbed.cluster.spark_command import java_program
from testbed.cluster.state import cache_directory

_LOG = logging.getLogger(__name__)

BROKER = ("org.apache.kafka", "kafka_2.13", "4.3.1")
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13")
TOKEN_PROVIDER = ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13")
FALLBACK = ("4.2.0", "4.0.0")
"""Connector and token provider where Central lacks PySpark's version: tried together on PySpark 4.3.0."""

_RESOLVE_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Jars:
    """Resolved jars and their version."""

    version: str
    paths: tuple[Path, ...]

    @property
    def class_path(self) -> str:
        """For ``java -cp``."""
        return os.pathsep.join(str(path) for path in self.paths)


def require_kafka() -> None:
    """Check that client, broker and connector are here; the first call fetches the jars of the latter two.

    Raises
    ------
    ModuleNotFoundError
        Where the client is not installed.
    GesscaleError
        Where the jars cannot be fetched.
    """
    import_module("confluent_kafka")
    try:
        broker_jars()
        connector_jars()
    except GesscaleError as error:
        message = (
            f"kafka: its jars are not here, and cannot be fetched ({' '.join(str(error).split())}); where Maven "
            "Central can be reached, run once: python -m testbed.pipeline kafka-jars"
        )
        raise GesscaleError(message) from error


def broker_jars() -> Jars:
    """Return the broker's jars; the first call fetches about 44 MB.

    Raises
    ------
    GesscaleError
        Where they cannot be fetched.
    """
    return _resolve(BROKER, version=BROKER[2])


@lru_cache(maxsize=1)
def connector_jars() -> Jars:
    """Return the jars that Spark's Kafka source needs in addition to PySpark's own.

    The version is PySpark's. Where Maven Central does not hold it, `FALLBACK` is taken and that is logged.

    Raises
    ------
    GesscaleError
        Where neither can be fetched.
    """
    wanted = installed_version("pyspark")
    on_board = [path for path in _pyspark_jars() if path.name.startswith(f"{CONNECTOR[1]}-")]
    if on_board:  # in an image such as that of the taxi example
        return Jars(version=on_board[0].stem.removeprefix(f"{CONNECTOR[1]}-"), paths=())
    try:
        found = _resolve((*CONNECTOR, wanted), version=wanted)
    except GesscaleError as missing:
        connector, token_provider = FALLBACK
        mixed = f"{connector}+token-provider-{token_provider}"
        found = _resolve(
            (*CONNECTOR, connector), version=mixed, overrides=[(*TOKEN_PROVIDER, token_provider)]
        )
        _LOG.warning(
            "Kafka connector of Spark %s cannot be had (%s); instead, of another version: %s",
            wanted, missing, mixed,
        )  # fmt: skip
    shipped = {_module(path) for path in _pyspark_jars()}
    return Jars(version=found.version, paths=tuple(p for p in found.paths if _module(p) not in shipped))


def _resolve(
    artifact: tuple[str, str, str], *, version: str, overrides: Sequence[tuple[str, str, str]] = ()
) -> Jars:
    folder = cache_directory() / "jars" / f"{artifact[1]}-{version}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            whole = Path(scratch) / "jars"
            _run_ivy(artifact, overrides, Path(scratch), whole)
            try:
                whole.rename(folder)  # at once: no process sees half a folder
            except OSError:
                if not folder.is_dir():  # else another process was quicker
                    raise
    return Jars(version=version, paths=tuple(sorted(folder.glob("*.jar"))))


def _run_ivy(
    artifact: tuple[str, str, str], overrides: Sequence[tuple[str, str, str]], scratch: Path, target: Path
) -> None:
    module = scratch / "ivy.xml"
    module.write_text(ivy_module(artifact, overrides))
    ivy = next(path for path in _pyspark_jars() if path.name.startswith("ivy-"))
    command = [
        java_program(), "-jar", str(ivy), "-cache", str(cache_directory() / "ivy"), "-ivy", str(module),
        "-confs", "default", "-retrieve", f"{target}/[artifact]-[revision](-[classifier]).[ext]",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_RESOLVE_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        name = ":".join(artifact)
        message = f"kafka: {name} did not arrive within {_RESOLVE_TIMEOUT_S:.0f} s; is there a network?"
        raise GesscaleError(message) from error
    if done.returncode != 0 or not target.is_dir():
        reason = next((line for line in done.stdout.splitlines() if "not found" in line), done.stderr[-200:])
        message = f"{':'.join(artifact)} was not resolved: {reason.strip().strip(':').strip()}"
        raise GesscaleError(message)


def ivy_module(artifact: tuple[str, str, str], overrides: Sequence[tuple[str, str, str]]) -> str:
    """Write Ivy's description of what to fetch.

    Parameters
    ----------
    artifact
        Organisation, module and revision.
    overrides
        The same for modules whose revision is forced.

    Returns
    -------
    str
        XML.
    """

    def attributes(names: tuple[str, str, str], values: tuple[str, str, str]) -> str:
        return " ".join(f"{name}={quoteattr(value)}" for name, value in zip(names, values, strict=True))

    forced = "".join(f"<override {attributes(('org', 'module', 'rev'), each)}/>" for each in overrides)
    wanted = f'<dependency {attributes(("org", "name", "rev"), artifact)} conf="default->default"/>'
    info = '<info organisation="dev.gesscale" module="fetched"/>'
    return f'<ivy-module version="2.0">{info}<dependencies>{wanted}{forced}</dependencies></ivy-module>'


def _pyspark_jars() -> list[Path]:
    return [Path(str(path)) for path in (files("pyspark") / "jars").iterdir() if path.name.endswith(".jar")]


def _module(jar: Path) -> str:
    return re.split(r"-\d", jar.name, maxsplit=1)[0]
