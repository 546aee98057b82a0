"""The Spark application of one operator: its ports, files and processes, and its driver."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from latency_map.shell import command_line
from testbed.cluster import processes, spark_command, spark_rest, state
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.topology import EdgeNode, Topology

FIRST_DRIVER_PORT = 7078
FIRST_UI_PORT = 4040
POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """One operator's application; nothing is kept in here, so any process may hold one.

    Attributes
    ----------
    index
        Position among the cluster's operators; tells its ports.
    """

    topology: Topology
    operator: str
    index: int

    @property
    def base_url(self) -> str:
        """Where the driver's REST interface answers, also from outside the nodes."""
        return f"http://{self.topology.driver.address}:{FIRST_UI_PORT + self.index}"

    @property
    def driver_port(self) -> int:
        """Where executors register with the driver."""
        return FIRST_DRIVER_PORT + self.index

    @property
    def directory(self) -> Path:
        """The state directory of the cluster."""
        return state.state_directory(self.topology.name)

    def log(self, role: Role, node: str) -> Path:
        """Return the file with the output of a process."""
        return self.directory / "logs" / f"{role.value}-{self.operator}-{node}.log"

    def start_driver(
        self,
        program: Sequence[str],
        *,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        """Start the driver program on the driver's node.

        Parameters
        ----------
        program
            Arguments for the Python interpreter, such as ``("-m", "package.module")``; the program makes its
            session with ``SparkSession.builder.getOrCreate()`` and names no master.
        settings
            Spark settings beside those of the cluster; those of the cluster cannot be overridden.
        environment
            Variables beside those of the cluster.

        Raises
        ------
        ClusterError
            Where a driver of this operator is running already, or it cannot be started.
        """
        if self.driver() is not None:
            message = f"operator {self.operator!r} has a driver already; stop it first"
            raise ClusterError(message)
        spark_command.java_program()
        node = self.topology.driver
        fixed = spark_command.driver_settings(
            node.address, driver_port=self.driver_port, ui_port=FIRST_UI_PORT + self.index
        )
        properties = self.directory / f"driver-{self.operator}.properties"
        properties.write_text(spark_command.properties_text({**(settings or {}), **fixed}), encoding="utf-8")
        return processes.start(
            inside(self.topology.name, node.name, (sys.executable, *program)),
            self.mark(Role.DRIVER, node),
            environment={
                **self.node_environment(node),
                "PYSPARK_SUBMIT_ARGS": command_line(("--properties-file", str(properties), "pyspark-shell")),
                **(environment or {}),
            },
            log=self.log(Role.DRIVER, node.name),
        )

    def driver(self) -> Process | None:
        """Return the driver's process; None where it is not running."""
        return next(iter(self.running(Role.DRIVER)), None)

    def await_driver(self, timeout_s: float) -> str:
        """Wait until the driver can take executors; return its application's id.

        Raises
        ------
        ClusterError
            Where it ends, or does not answer in time; the message has its last words.
        """
        fate = f"does not answer within {timeout_s:g} s"
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.driver() is None:
                fate = "has ended"
                break
            try:
                return spark_rest.application_id(self.base_url)
            except ClusterError:
                time.sleep(POLL_S)
        message = f"the driver of operator {self.operator!r} {fate}; {self._last_words()}"
        raise ClusterError(message)

    def stop_driver(self, grace_s: float = 30.0) -> None:
        """End the driver, by SIGTERM first, and with it its executors; nothing to do is no error.

        Only the program itself is asked: it stops its query and its JVM in order, where both at once would hang.
        """
        program = sorted(self.running(Role.DRIVER), key=lambda process: process.pid)[:1]
        processes.stop(program, grace_s=grace_s)
        left = [each for each in processes.find(str(self.directory)) if each.mark.operator == self.operator]
        processes.stop(left, grace_s=5.0)

    def running(self, role: Role) -> tuple[Process, ...]:
        """Return the application's live processes of a role."""
        return tuple(
            process
            for process in processes.find(str(self.directory))
            if process.started and process.mark.role is role and process.mark.operator == self.operator
        )

    def mark(self, role: Role, node: EdgeNode, serial: int = 0) -> Mark:
        """Return the mark of a process of this application."""
        return Mark(
            cluster=str(self.directory), role=role, node=node.name, operator=self.operator, serial=serial
        )

    def node_environment(self, node: EdgeNode) -> dict[str, str]:
        """Return the environment of a Spark process on a node; its Python workers read the weight."""
        scratch = self.directory / "scratch" / node.name
        scratch.mkdir(parents=True, exist_ok=True)
        return {
            **processes.base_environment(),
            **spark_command.node_environment(node.address, scratch, sys.executable),
            "GESSCALE_NODE_WEIGHT": str(node.weight),
        }

    def _last_words(self) -> str:
        log = self.log(Role.DRIVER, self.topology.driver_node)
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return f"it has no log {log}"
        return f"the end of {log}: {' | '.join(lines[-3:])}"
