"""A real Kafka broker: one KRaft node on a loopback or name-space address, ended by its pid."""

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import GesscaleError
from testbed.cluster.commands import run
from testbed.cluster.spark_command import java_program
from testbed.free_port import free_port
from testbed.pipeline.kafka_jars import broker_jars

_START_TIMEOUT_S = 180.0
_STOP_TIMEOUT_S = 15.0
_HEAP = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(slots=True, kw_only=True)
class KafkaBroker:
    """A broker on data that outlive its process.

    Attributes
    ----------
    bootstrap
        Its address, such as ``127.0.0.1:19092``.
    command, environment
        Of its process.
    log
        Where its output goes, also after it was started again.
    """

    bootstrap: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def pid(self) -> int:
        """Of its process; 0 where none runs."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises
        ------
        GesscaleError
            Where it ends, or does not answer in time; with the end of its log.
        """
        with self.log.open("a") as out:
            self._process = subprocess.Popen(
                self.command, stdout=out, stderr=subprocess.STDOUT, env=dict(self.environment)
            )
        _await_broker(self._process, self.bootstrap, self.log)

    def kill(self) -> None:
        """End it by SIGKILL, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_STOP_TIMEOUT_S)

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None:
            _stop(self._process)


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
    """Format, start and at the end stop a broker; its folder is removed.

    Parameters
    ----------
    folder
        For its log and data; made here.
    host, port
        Where it listens, with its controller at the next port; port 0 takes two free ones of this machine.
    partitions
        Of a topic that is written to before it is created.
    way_in
        The command line that leads into the network namespace it is to run in; needs a port.
    environment
        Its environment.

    Yields
    ------
    KafkaBroker
        Ready to be used.

    Raises
    ------
    GesscaleError
        Where it does not start; with the end of its log.
    """
    jars = broker_jars()
    folder.mkdir(parents=True)
    try:
        port, controller_port = (port, port + 1) if port else (free_port(host), free_port(host))
        properties = folder / "server.properties"
        properties.write_text(broker_properties(folder, host, port, controller_port, partitions))
        java_command = [java_program(), *_HEAP, "-cp", jars.class_path]
        _format_storage(java_command, properties)
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


def broker_properties(folder: Path, host: str, port: int, controller_port: int, partitions: int) -> str:
    """Write the settings of a single broker that is its own controller."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{host}:{controller_port}",
        "listeners": f"PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{host}:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": folder / "data",
        "num.partitions": partitions,
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _format_storage(java_command: list[str], properties: Path) -> None:
    cluster = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
    command = [
        *java_command,
        "kafka.tools.StorageTool",
        "format",
        f"--cluster-id={cluster}",
        "-c",
        str(properties),
    ]
    run(command, failure="kafka: the storage of the broker was not formatted", timeout_s=_START_TIMEOUT_S)


def _await_broker(process: "subprocess.Popen[bytes]", bootstrap: str, log: Path) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        if process.poll() is not None:
            message = f"kafka: the broker ended with code {process.returncode}: {log.read_text()[-500:]}"
            raise GesscaleError(message)
        with contextlib.suppress(KafkaException):
            quiet = {"bootstrap.servers": bootstrap, "log_level": 0}
            if AdminClient(quiet).list_topics(timeout=2).brokers:
                return
    ending = log.read_text()[-500:]
    message = f"kafka: the broker did not answer on {bootstrap} in {_START_TIMEOUT_S:.0f} s: {ending}"
    raise GesscaleError(message)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_STOP_TIMEOUT_S)
