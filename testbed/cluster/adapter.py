"""Implementation of the port `gesscale.ports.Cluster` for the local cluster."""

import logging
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gesscale.common.logs import log_problem
from gesscale.errors import ClusterError, InputError
from gesscale.model.decision import Outcome, OutcomeStatus
from gesscale.ports import ClusterState, Node
from testbed.cluster import lifecycle, privilege, processes, state
from testbed.cluster.processes import Process, Role
from testbed.cluster.spark import LocalSpark, open_spark, operators
from testbed.cluster.topology import Topology, read_topology

OPTIONS = ("topology",)

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Executors:
    """The executors of one operator by node: ready, starting, and asked to leave."""

    ready: Mapping[str, Process]
    starting: Mapping[str, Process]
    leaving: Mapping[str, Process]


@dataclass(slots=True, kw_only=True)
class LocalCluster:
    """Starts and removes executors on the emulated nodes of this machine, without waiting for them.

    Surplus executors are asked to leave once all new ones are ready, so that a move costs no capacity. An executor
    that is still starting, and that a newer order drops, is asked immediately: it does no work yet, and its start
    would only delay the others. `state` drives pending changes: it sends these requests and kills late executors.
    """

    #: The nodes.
    topology: Topology
    #: How long a new replica may take to register, and a leaving one to end its task; then it is killed
    #: (register_timeout_s, leave_timeout_s).
    register_timeout_s: float = 60.0
    leave_timeout_s: float = 60.0
    #: Seconds of a clock that never jumps.
    clock_s: Callable[[], float] = time.monotonic
    _ordered: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False)
    _waiting: dict[str, frozenset[str]] = field(default_factory=dict, init=False)
    _starting_since_s: dict[Process, float] = field(default_factory=dict, init=False)
    _leaving_since_s: dict[Process, float] = field(default_factory=dict, init=False)

    def state(self) -> ClusterState:
        """Return nodes and live replicas of the operators whose driver runs.

        Raises
        ------
        ClusterError
            If the cluster is not up, or a running driver does not respond.
        """
        problem = lifecycle.status(self.topology.name).problem
        nodes = {
            node.name: Node(name=node.name, address=node.address, weight=node.weight, price=node.price, problem=problem)
            for node in self.topology.nodes
        }
        sparks = [open_spark(self.topology, operator) for operator in operators(self.topology.name)]
        by_operator = {spark.operator: self._advance(spark) for spark in sparks if spark.driver() is not None}
        return ClusterState(
            nodes=nodes,
            placements={name: tuple(sorted(executors.ready)) for name, executors in by_operator.items()},
            starting={
                name: tuple(sorted({*executors.starting, *self._waiting.get(name, ())}))
                for name, executors in by_operator.items()
            },
        )

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Start the missing replicas, and ask the surplus ones to leave once these are ready.

        A new executor waits until the former one of its node has left.

        Raises
        ------
        ClusterError
            If the operator or a node does not exist, or the driver does not respond.
        """
        spark, names = self._spark(operator), [node.name for node in self.topology.nodes]
        if unknown := [node for node in placement if node not in names]:
            raise ClusterError(
                "topology-node-unknown", topology=self.topology.name, node=unknown[0], nodes=tuple(names)
            )
        executors = self._executors(spark)
        present, waiting = {*executors.ready, *executors.starting}, self._waiting.get(operator, frozenset())
        added = tuple(node for node in placement if node not in present | waiting)
        is_new = self._ordered.get(operator) != placement
        removed = tuple(node for node in executors.ready if is_new and node not in placement)
        self._ordered[operator] = placement
        self._waiting[operator] = frozenset({*added, *waiting} & set(placement))
        self._advance(spark)
        changes = bool(added or removed)
        return Outcome(
            status=OutcomeStatus.ORDERED if changes else OutcomeStatus.NOTHING_TO_DO, added=added, removed=removed
        )

    def _advance(self, spark: LocalSpark) -> _Executors:
        """Advance pending changes by one step, and return the executors."""
        executors = self._executors(spark)
        self._kill_late(executors.starting, self._starting_since_s, self.register_timeout_s, "register")
        self._kill_late(executors.leaving, self._leaving_since_s, self.leave_timeout_s, "leave")
        waiting = self._waiting.get(spark.operator, frozenset())
        free = waiting - executors.leaving.keys()
        spark.start_replicas(tuple(sorted(free)))
        self._waiting[spark.operator] = waiting - free
        ordered = self._ordered.get(spark.operator)
        surplus: list[Process] = []
        if ordered is not None:
            dropped = dict(executors.starting)
            if set(ordered) <= executors.ready.keys():
                dropped |= executors.ready
            surplus = [process for node, process in dropped.items() if node not in ordered]
        processes.send_signal(surplus, signal.SIGPWR)
        self._leaving_since_s |= dict.fromkeys(surplus, self.clock_s())
        return self._executors(spark) if surplus or free else executors

    def _executors(self, spark: LocalSpark) -> _Executors:
        running = spark.running(Role.EXECUTOR)
        for since_s in (self._starting_since_s, self._leaving_since_s):
            for each in [*since_s]:
                if each.mark.operator == spark.operator and each not in running:
                    del since_s[each]
        active = spark.active_executors()
        ready, starting, leaving = {}, {}, {}
        for process in running:
            if process in self._leaving_since_s:
                leaving[process.mark.node] = process
            elif process.mark.serial in active:
                ready[process.mark.node] = process
            else:
                starting[process.mark.node] = process
                self._starting_since_s.setdefault(process, self.clock_s())
        return _Executors(ready=ready, starting=starting, leaving=leaving)

    def _kill_late(
        self, executors: Mapping[str, Process], since_s: Mapping[Process, float], timeout_s: float, action: str
    ) -> None:
        late = {node: process for node, process in executors.items() if self.clock_s() - since_s[process] >= timeout_s}
        for node in late:
            log_problem(
                _LOG, logging.WARNING, "executor-killed-after-timeout", node=node, action=action, timeout_s=timeout_s
            )
        processes.stop(late.values(), grace_s=0.0)

    def _spark(self, operator: str) -> LocalSpark:
        known = operators(self.topology.name)
        if operator not in known:
            raise ClusterError(
                "cluster-operator-unknown", cluster=self.topology.name, operator=operator, operators=known
            )
        return open_spark(self.topology, operator)


def open_local_cluster(options: Mapping[str, str]) -> LocalCluster:
    """Open the cluster that ``execute.options`` describe; it must be up.

    Raises
    ------
    InputError
        If an option is unknown, or several clusters are up and none is named.
    ClusterError
        If the cluster is not up, or this process has no permission to use it.
    """
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise InputError("cluster-option-unknown", place="execute.options", unknown=unknown, expected=OPTIONS)
    privilege.enter()
    name = state.only_cluster(read_topology(options["topology"]).name if "topology" in options else None)
    _, topology = state.load(name)
    return LocalCluster(topology=topology)
