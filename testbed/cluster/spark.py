"""Spark on the cluster: one application per operator, with executors on exactly the given nodes.

The documented way to choose a node is one Master per operator and a Worker on the node. Here the driver has its
Master inside its own JVM (``local-cluster`` with no workers), and the test bed starts the executors against the
driver, each in its node's namespace. The reasons, measured with Spark 4.3.0 on two cores:

- a node's first task completes 12.3 s after the start of a Worker, but 6 s after that of an executor (median of
  four, 2.9 s of it to register);
- a Worker costs 156 MB per node, a Master 158 MB per operator and 4 s of start-up;
- a Master restarts lost executors, which is the scaler's decision here.

The cost: Spark does not restart a lost executor; the scaler notices that it is missing and decides. An executor
leaves on SIGPWR, Spark's own decommissioning: it takes no new task, completes the current one, and exits. Never use
``SparkContext.killExecutors`` here: the Master does not know these executors, so they would stay alive without work.
"""

import contextlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.common.shell import command_line
from gesscale.common.text import shortened
from gesscale.doctor.machine import java_program
from gesscale.errors import ClusterError
from testbed.cluster import processes, spark_command, state
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.topology import EdgeNode, Topology

FIRST_DRIVER_PORT = 7078
FIRST_UI_PORT = 4040
POLL_S = 0.2
_TIMEOUT_S = 5.0
_LARGEST_ANSWER = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSpark:
    """The application of one operator. It is stateless, so every process may create one."""

    topology: Topology
    operator: str
    #: Position among the cluster's operators; its ports follow from it.
    index: int

    @property
    def base_url(self) -> str:
        """URL of the driver's REST interface, reachable from outside the nodes too."""
        return f"http://{self.topology.driver.address}:{FIRST_UI_PORT + self.index}"

    @property
    def driver_port(self) -> int:
        """Port at which executors register with the driver."""
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

        Raises
        ------
        ClusterError
            If a driver of this operator is already running, or it cannot be started.
        """
        if self.driver() is not None:
            raise ClusterError("driver-already-running", operator=self.operator)
        java_program()
        node = self.topology.driver
        fixed = spark_command.driver_settings(
            node.address, driver_port=self.driver_port, ui_port=FIRST_UI_PORT + self.index
        )
        properties = self.directory / f"driver-{self.operator}.properties"
        all_settings = {**spark_command.warm_executors(), **(settings or {}), **fixed}
        properties.write_text("".join(f"{name} {value}\n" for name, value in all_settings.items()), encoding="utf-8")
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
        """Return the driver's process; None if it is not running."""
        return next(iter(self.running(Role.DRIVER)), None)

    def await_driver(self, timeout_s: float) -> str:
        """Wait until the driver accepts executors; return its application's id.

        Raises
        ------
        ClusterError
            If it exits, or does not respond in time; the message has the end of its log.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.driver() is None:
                raise ClusterError("driver-exited", operator=self.operator, **self._log_end())
            try:
                return application_id(self.base_url)
            except ClusterError:
                time.sleep(POLL_S)
        raise ClusterError("driver-timeout", operator=self.operator, timeout_s=timeout_s, **self._log_end())

    def stop_driver(self, grace_s: float = 30.0) -> None:
        """End the driver, by SIGTERM first, and its executors; no error if it does not run.

        Only the Python program gets SIGTERM: it stops its query and then its JVM. A signal to both would hang them.
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
        return Mark(cluster=str(self.directory), role=role, node=node.name, operator=self.operator, serial=serial)

    def node_environment(self, node: EdgeNode) -> dict[str, str]:
        """Return the environment of a Spark process on a node; its Python workers read the weight of a slot."""
        scratch = self.directory / "scratch" / node.name
        scratch.mkdir(parents=True, exist_ok=True)
        return {
            **processes.base_environment(),
            **spark_command.node_environment(node.address, scratch, sys.executable),
            "GESSCALE_NODE_WEIGHT": str(node.weight / node.slots),
        }

    def active_executors(self) -> frozenset[int]:
        """Return the numbers of the executors that are registered with the driver.

        Raises
        ------
        ClusterError
            If the driver does not respond.
        """
        listed = executors(self.base_url, application_id(self.base_url))
        return frozenset(number for number, active in listed.items() if active)

    def start_replicas(self, nodes: Sequence[str]) -> tuple[Process, ...]:
        """Start an executor on each of these nodes without waiting for them.

        Raises
        ------
        ClusterError
            If a node does not exist or already has an executor, or the driver does not respond.
        """
        if not nodes:
            return ()
        targets = [self.topology.node(name) for name in nodes]
        taken = {process.mark.node for process in self.running(Role.EXECUTOR)} & set(nodes)
        if taken:
            raise ClusterError("executor-already-running", operator=self.operator, nodes=sorted(taken))
        application = application_id(self.base_url)
        first_id = self._next_executor_id(application)
        return tuple(self._start_executor(node, application, number) for number, node in enumerate(targets, first_id))

    def await_replicas(self, started: Sequence[Process], *, timeout_s: float = 240.0) -> None:
        """Wait until these executors have registered with the driver.

        Raises
        ------
        ClusterError
            If one does not in time, or has ended.
        """
        deadline = time.monotonic() + timeout_s
        missing = {process.mark.serial: process.mark.node for process in started}
        while missing and time.monotonic() < deadline:
            with contextlib.suppress(ClusterError):  # too busy to respond this time
                missing = {number: node for number, node in missing.items() if number not in self.active_executors()}
            if not missing.keys() <= {process.mark.serial for process in self.running(Role.EXECUTOR)}:
                break
            if missing:
                time.sleep(POLL_S)
        if missing:
            raise ClusterError(
                "executor-timeout", operator=self.operator, nodes=list(missing.values()), timeout_s=timeout_s
            )

    def _start_executor(self, node: EdgeNode, application: str, executor_id: int) -> Process:
        command = spark_command.executor_command(
            node.address,
            driver_address=self.topology.driver.address,
            driver_port=self.driver_port,
            application=application,
            executor_id=executor_id,
            slots=node.slots,
        )
        return processes.start(
            inside(self.topology.name, node.name, command),
            self.mark(Role.EXECUTOR, node, executor_id),
            environment=self.node_environment(node),
            log=self.log(Role.EXECUTOR, node.name),
            # an executor copies the jars of its application into its working directory
            directory=self.directory / "scratch" / node.name / f"executor-{self.operator}-{executor_id}",
        )

    def _next_executor_id(self, application: str) -> int:
        used = [*executors(self.base_url, application)]
        used += [process.mark.serial for process in self.running(Role.EXECUTOR)]
        return max(used, default=0) + 1

    def _log_end(self) -> dict[str, str]:
        """Return the driver's log and its last lines, as fields of an error."""
        log = self.log(Role.DRIVER, self.topology.driver_node)
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return {"log": str(log), "end": " | ".join(lines[-3:]) or "empty"}


def open_spark(topology: Topology, operator: str) -> LocalSpark:
    """Return the Spark application of an operator on a cluster that is up; it keeps its ports.

    Raises
    ------
    ClusterError
        If the cluster is not up.
    """
    known = operators(topology.name)
    if operator not in known:
        with state.locked():
            known = (*operators(topology.name), operator)
            _register(topology.name).write_text(json.dumps(known), encoding="utf-8")
    return LocalSpark(topology=topology, operator=operator, index=known.index(operator))


def operators(cluster: str) -> tuple[str, ...]:
    """Return the operators that were ever opened on a cluster, oldest first.

    Raises
    ------
    ClusterError
        If the cluster is not up.
    """
    state.load(cluster)
    try:
        return tuple(json.loads(_register(cluster).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()


def _register(cluster: str) -> Path:
    return state.state_directory(cluster) / "operators.json"


def application_id(base_url: str) -> str:
    """Return the id of a driver's application.

    Raises
    ------
    ClusterError
        If the driver does not respond, or has no application yet.
    """
    applications = _get(base_url, "applications")
    match applications:
        case [{"id": str(identifier)}, *_]:
            return identifier
    raise ClusterError("spark-application-missing", source=base_url, got=shortened(str(applications)))


def executors(base_url: str, application: str) -> dict[int, bool]:
    """Return the executors of an application by number, ended ones included, and whether each accepts tasks.

    Raises
    ------
    ClusterError
        If the driver does not respond.
    """
    listed = _get(base_url, f"applications/{application}/allexecutors")
    active_by_number = {}
    for entry in listed if isinstance(listed, list) else ():
        match entry:
            case {"id": str(number), "isActive": bool(active)} if number.isdecimal():
                active_by_number[int(number)] = active
    return active_by_number


def _get(base_url: str, path: str) -> object:
    try:
        url = f"{base_url}/api/v1/{path}"
        return json.loads(UNRESTRICTED_CLIENT.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_LARGEST_ANSWER))
    except (FetchError, ValueError, RecursionError) as error:
        raise ClusterError("spark-api-unavailable", source=base_url, cause=str(error)) from error
