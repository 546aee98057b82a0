"""Spark on the cluster: one application per operator, its executors on exactly the nodes that are named.

The documented road to a chosen node is one Master per operator and a Worker on the node. Here the driver has
its Master inside its own JVM (``local-cluster`` with no workers) and the test bed starts the executors, each
in its node's namespace, against the driver. Why, measured with Spark 4.3.0 on two cores:

- a node's first task is done 12.3 s after the start of a Worker, but 5 s after that of an executor (median of
  four, 1.6 s of it to register; 6 s and 2.9 s without the archive of `spark_archive`);
- a Worker costs 156 MB per node, a Master 158 MB per operator and 4 s of waiting for it;
- a Master starts lost executors again by itself, against the scaler whose decision this is.

What is given up: Spark does not restart a lost executor; the scaler sees that it is missing and decides. An
executor leaves by SIGPWR, Spark's own decommissioning: it takes no new task, ends the one it has, and goes.
Never use ``SparkContext.killExecutors`` here: the Master does not know these executors, so they would stay
alive without work.
"""

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes, spark_archive, spark_command, spark_rest, state
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Process, Role
from testbed.cluster.spark_application import POLL_S, SparkApplication
from testbed.cluster.topology import EdgeNode, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSpark(SparkApplication):
    """An application whose replicas the test bed places."""

    def active_executors(self) -> frozenset[int]:
        """Return the numbers of the executors that the driver has.

        Raises
        ------
        ClusterError
            Where the driver does not answer.
        """
        listed = spark_rest.executors(self.base_url, spark_rest.application_id(self.base_url))
        return frozenset(executor.executor_id for executor in listed if executor.active)

    def start_replicas(self, nodes: Sequence[str]) -> tuple[Process, ...]:
        """Start an executor on each of these nodes, all at once, and do not wait for them.

        Raises
        ------
        ClusterError
            Where a node does not exist or has an executor already, or the driver does not answer.
        """
        if not nodes:
            return ()
        targets = [self.topology.node(name) for name in nodes]
        taken = {process.mark.node for process in self.running(Role.EXECUTOR)} & set(nodes)
        if taken:
            message = f"operator {self.operator!r} has an executor on {', '.join(sorted(taken))} already"
            raise ClusterError(message)
        application = spark_rest.application_id(self.base_url)
        first_id = self._next_executor_id(application)
        return tuple(
            self._start_executor(node, application, number) for number, node in enumerate(targets, first_id)
        )

    def await_replicas(self, started: Sequence[Process], *, timeout_s: float = 60.0) -> None:
        """Wait until the driver has these executors.

        Raises
        ------
        ClusterError
            Where it has not in time, or one has ended.
        """
        deadline = time.monotonic() + timeout_s
        missing = {process.mark.serial: process.mark.node for process in started}
        while missing and time.monotonic() < deadline:
            with contextlib.suppress(ClusterError):  # too busy to answer this time
                missing = {
                    number: node for number, node in missing.items() if number not in self.active_executors()
                }
            if not missing.keys() <= {process.mark.serial for process in self.running(Role.EXECUTOR)}:
                break
            if missing:
                time.sleep(POLL_S)
        if missing:
            nodes = ", ".join(missing.values())
            message = (
                f"operator {self.operator!r}: no executor on {nodes} has registered within {timeout_s:g} s"
            )
            raise ClusterError(message)

    def _start_executor(self, node: EdgeNode, application: str, executor_id: int) -> Process:
        arguments = spark_command.executor_arguments(
            node.address,
            driver_address=self.topology.driver.address,
            driver_port=self.driver_port,
            application=application,
            executor_id=executor_id,
        )
        command = spark_command.executor_command(arguments, java_options=spark_archive.java_options())
        return processes.start(
            inside(self.topology.name, node.name, command),
            self.mark(Role.EXECUTOR, node, executor_id),
            environment=self.node_environment(node),
            log=self.log(Role.EXECUTOR, node.name),
            # an executor copies the jars of its application to where it works
            directory=self.directory / "scratch" / node.name / f"executor-{self.operator}-{executor_id}",
        )

    def _next_executor_id(self, application: str) -> int:
        used = [executor.executor_id for executor in spark_rest.executors(self.base_url, application)]
        used += [process.mark.serial for process in self.running(Role.EXECUTOR)]
        return max(used, default=0) + 1


def open_spark(topology: Topology, operator: str) -> LocalSpark:
    """Return the Spark application of an operator on a cluster that is up; its ports are its own for good.

    Raises
    ------
    ClusterError
        Where the cluster is not up.
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
        Where the cluster is not up.
    """
    state.load(cluster)
    try:
        return tuple(json.loads(_register(cluster).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()


def _register(cluster: str) -> Path:
    return state.state_directory(cluster) / "operators.json"
