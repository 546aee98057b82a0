"""Runs a Kafka broker: one KRaft node on a loopback or namespace address."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.doctor.machine import java_program
from gesscale.errors import GesscaleError
from testbed.cluster.commands import run
from testbed.free_port import free_port
from testbed.pipeline.kafka_jars import broker_jars

_START_TIMEOUT_S = 180.0
_STOP_TIMEOUT_S = 15.0
BROKER_S = 20.0
_CLUSTER = "gesscale-broker-000000"  # Kafka requires 16 bytes in base64
_HEAP = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(slots=True, kw_only=True)
class KafkaBroker:
    """A broker whose data outlives its process."""

    #: Its address, such as ``127.0.0.1:19092``.
    bootstrap: str
    #: Command and environment of its process (command, environment).
    command: Sequence[str]
    environment: Mapping[str, str]
    #: File of its output, also after a restart.
    log: Path
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def pid(self) -> int:
        """Pid of its process; 0 if it does not run."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, and wait until it responds.

        Raises
        ------
        GesscaleError
            If it exits or does not respond in time; with the end of its log.
        """
        with self.log.open("a") as out:
            self._process = subprocess.Popen(
                self.command, stdout=out, stderr=subprocess.STDOUT, env=dict(self.environment)
            )
        _await_broker(self._process, self.bootstrap, self.log)

    def kill(self) -> None:
        """Kill it with SIGKILL, like a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_STOP_TIMEOUT_S)

    def stop(self) -> None:
        """Stop it gracefully."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()


@contextlib.contextmanager
def running_broker(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    partitions: int = 4,
    way_in: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Iterator[KafkaBroker]:
    """Format and start a broker; at the end, stop it and remove its folder.

    Raises
    ------
    GesscaleError
        If it does not start; with the end of its log.
    """
    class_path = os.pathsep.join(map(str, broker_jars()))
    folder.mkdir(parents=True)
    try:
        port, controller_port = (port, port + 1) if port else (free_port(host), free_port(host))
        properties = folder / "server.properties"
        template = (files("testbed.pipeline") / "data" / "broker.properties").read_text()
        properties.write_text(
            template.format(host=host, port=port, controller_port=controller_port, folder=folder, partitions=partitions)
        )
        java_command = [java_program(), *_HEAP, "-cp", class_path]
        run(
            [*java_command, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties)],
            failure=Problem("kafka-storage-not-formatted"),
            timeout_s=_START_TIMEOUT_S,
        )
        broker = KafkaBroker(
            bootstrap=f"{host}:{port}",
            command=[*way_in, *java_command, "kafka.Kafka", str(properties)],
            environment=environment,
            log=folder / "broker.log",
        )
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _await_broker(process: "subprocess.Popen[bytes]", bootstrap: str, log: Path) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline_s and process.poll() is None:
        with contextlib.suppress(GesscaleError):
            require_broker(bootstrap, timeout_s=2.0)
            return
    raise GesscaleError("kafka-not-started", broker=bootstrap, log=log.read_text()[-500:])


def require_broker(bootstrap: str, timeout_s: float = BROKER_S) -> None:
    """Check that a broker responds, before Spark starts, which would report it only after minutes.

    Raises
    ------
    GesscaleError
        If it does not respond.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=timeout_s)
    except KafkaException as error:
        raise GesscaleError(
            "kafka-broker-unreachable", broker=bootstrap, timeout_s=timeout_s, cause=error.args[0].str()
        ) from error
