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

import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes, spark_archive, spark_command, spark_rest, state
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Process, Role
from testbed.cluster.spark_application import POLL_S, SparkApplication
from testbed.cluster.topology import EdgeNode, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStart:
    """How long a new replica took, seconds from the order.

    Attributes
    ----------
    registered_s
        Until the driver had it.
    first_task_s
        Until it had finished a task; None where it had none within the time allowed.
    """

    registered_s: float
    first_task_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSpark(SparkApplication):
    """An application whose replicas the test bed places."""

    def replicas(self) -> tuple[str, ...]:
        """Return the nodes that hold a live executor, sorted.

        Raises
        ------
        ClusterError
            Where the driver does not answer.
        """
        listed = spark_rest.executors(self.base_url, spark_rest.application_id(self.base_url))
        active = {executor.executor_id for executor in listed if executor.active}
        running = self.running(Role.EXECUTOR)
        return tuple(sorted(process.mark.node for process in running if process.mark.serial in active))

    def add_replicas(
        self, nodes: Sequence[str], *, register_timeout_s: float = 60.0, first_task_timeout_s: float = 0.0
    ) -> dict[str, ReplicaStart]:
        """Start an executor on each of these nodes, all at once, and wait for them.

        Parameters
        ----------
        register_timeout_s
            How long to wait until the driver has them.
        first_task_timeout_s
            How long to wait for their first finished task after that; 0 for not at all.

        Returns
        -------
        dict
            By node. Nodes that are missing did not make it in time, and nothing was left running on them.

        Raises
        ------
        ClusterError
            Where a node holds a replica already, or the driver does not answer.
        """
        began = time.monotonic()
        targets = [self.topology.node(name) for name in nodes]
        taken = {process.mark.node for process in self.running(Role.EXECUTOR)} & set(nodes)
        if taken:
            message = f"operator {self.operator!r} has an executor on {', '.join(sorted(taken))} already"
            raise ClusterError(message)
        application = spark_rest.application_id(self.base_url)
        first_id = self._next_executor_id(application)
        started = [
            self._start_executor(node, application, number) for number, node in enumerate(targets, first_id)
        ]
        registered = self._await_each(
            application, started, register_timeout_s, lambda executor: executor.active
        )
        there = [process for process in started if process.mark.node in registered]
        processes.stop(set(started) - set(there), grace_s=1.0)
        worked = self._await_each(
            application, there, first_task_timeout_s, lambda executor: executor.completed_tasks > 0
        )
        return {
            node: ReplicaStart(
                registered_s=at_s - began, first_task_s=worked[node] - began if node in worked else None
            )
            for node, at_s in registered.items()
        }

    def remove_replicas(self, nodes: Sequence[str], *, timeout_s: float = 60.0) -> tuple[str, ...]:
        """Decommission the executors on these nodes, all at once, and wait until they have gone.

        Returns
        -------
        tuple of str
            The nodes whose executor was killed after `timeout_s`; its task is done again elsewhere.
        """
        leaving = [process for process in self.running(Role.EXECUTOR) if process.mark.node in nodes]
        killed = processes.stop(leaving, grace_s=timeout_s, first=signal.SIGPWR)
        return tuple(sorted(process.mark.node for process in killed))

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

    def _await_each(
        self,
        application: str,
        started: Sequence[Process],
        timeout_s: float,
        reached: Callable[[spark_rest.ExecutorState], bool],
    ) -> dict[str, float]:
        """Return by node when its executor reached a state; without those that had not in time."""
        when: dict[str, float] = {}
        waiting = {process.mark.serial: process.mark.node for process in started}
        deadline = time.monotonic() + timeout_s
        while waiting and time.monotonic() < deadline:
            for executor in self._seen(application):
                if executor.executor_id in waiting and reached(executor):
                    when[waiting.pop(executor.executor_id)] = time.monotonic()
            alive = {process.mark.serial for process in self.running(Role.EXECUTOR)}
            waiting = {number: node for number, node in waiting.items() if number in alive}
            if waiting:
                time.sleep(POLL_S)
        return when

    def _seen(self, application: str) -> tuple[spark_rest.ExecutorState, ...]:
        """Return the executors; none where the driver is too busy to answer this time."""
        try:
            return spark_rest.executors(self.base_url, application)
        except ClusterError:
            return ()

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
