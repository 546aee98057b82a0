"""The local cluster as the loop's port `gesscale.ports.Cluster`."""

import logging
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
    """The executors of one operator by node: those that work, those that start, those that were asked to leave."""

    ready: Mapping[str, Process]
    starting: Mapping[str, Process]
    leaving: Mapping[str, Process]


@dataclass(slots=True, kw_only=True)
class LocalCluster:
    """Starts and removes executors on the emulated nodes of this machine, and never waits for them.

    Whoever has to leave is asked once all new ones work, so that a move costs no capacity. One that only starts, and
    that a newer order drops, is asked at once: it does no work yet, and its start would only delay the others.
    `state` looks after what is under way: it asks them, and ends what is late.
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
    _held_up: dict[str, frozenset[str]] = field(default_factory=dict, init=False)
    _starting_since_s: dict[Process, float] = field(default_factory=dict, init=False)
    _leaving_since_s: dict[Process, float] = field(default_factory=dict, init=False)

    def state(self) -> ClusterState:
        """Return nodes and live replicas; an operator whose driver does not run is not among them.

        Raises
        ------
        ClusterError
            Where the cluster is not up, or a running driver does not answer.
        """
        problem = lifecycle.status(self.topology.name).problem
        nodes = {
            node.name: Node(name=node.name, address=node.address, weight=node.weight, problem=problem)
            for node in self.topology.nodes
        }
        opened = [open_spark(self.topology, operator) for operator in operators(self.topology.name)]
        seen = {spark.operator: self._look_after(spark) for spark in opened if spark.driver() is not None}
        return ClusterState(
            nodes=nodes,
            placements={name: tuple(sorted(executors.ready)) for name, executors in seen.items()},
            coming={
                name: tuple(sorted({*executors.starting, *self._held_up.get(name, ())}))
                for name, executors in seen.items()
            },
        )

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Start the missing replicas; the others are asked to leave once these work.

        Where the former executor of a node has not left yet, the new one starts when it has.

        Raises
        ------
        ClusterError
            At an operator or node that does not exist, or where the driver does not answer.
        """
        spark, names = self._spark(operator), [node.name for node in self.topology.nodes]
        if unknown := [node for node in placement if node not in names]:
            raise ClusterError(
                f"cluster {self.topology.name!r} has no node {unknown[0]!r}; its nodes are {', '.join(names)}"
            )
        executors = self._executors(spark)
        there, held_up = {*executors.ready, *executors.starting}, self._held_up.get(operator, frozenset())
        added = tuple(node for node in placement if node not in there | held_up)
        is_new = self._ordered.get(operator) != placement
        removed = tuple(node for node in executors.ready if is_new and node not in placement)
        self._ordered[operator] = placement
        self._held_up[operator] = frozenset({*added, *held_up} & set(placement))
        self._look_after(spark)
        changes = bool(added or removed)
        return Outcome(
            status=OutcomeStatus.ORDERED if changes else OutcomeStatus.NOTHING_TO_DO, added=added, removed=removed
        )

    def _look_after(self, spark: LocalSpark) -> _Executors:
        """Take what is under way one step further, and return the executors."""
        executors = self._executors(spark)
        self._end_late(executors.starting, self._starting_since_s, self.register_timeout_s, "register")
        self._end_late(executors.leaving, self._leaving_since_s, self.leave_timeout_s, "leave")
        held_up = self._held_up.get(spark.operator, frozenset())
        free = held_up - executors.leaving.keys()
        spark.start_replicas(tuple(sorted(free)))
        self._held_up[spark.operator] = held_up - free
        ordered = self._ordered.get(spark.operator)
        surplus: list[Process] = []
        if ordered is not None:
            dropped = dict(executors.starting)
            if set(ordered) <= executors.ready.keys():
                dropped |= executors.ready
            surplus = [process for node, process in dropped.items() if node not in ordered]
        processes.ask(surplus, signal.SIGPWR)
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

    def _end_late(
        self, executors: Mapping[str, Process], since_s: Mapping[Process, float], timeout_s: float, what: str
    ) -> None:
        late = {node: process for node, process in executors.items() if self.clock_s() - since_s[process] >= timeout_s}
        for node in late:
            _LOG.warning("the executor on %s did not %s within %g s, it is killed", node, what, timeout_s)
        processes.stop(late.values(), grace_s=0.0)

    def _spark(self, operator: str) -> LocalSpark:
        known = operators(self.topology.name)
        if operator not in known:
            raise ClusterError(
                f"cluster {self.topology.name!r} runs no operator {operator!r}; its operators are "
                f"{', '.join(known) or 'none'}: start its driver on the cluster first"
            )
        return open_spark(self.topology, operator)


def open_local_cluster(options: Mapping[str, str]) -> LocalCluster:
    """Open the cluster that ``execute.options`` describe; it must be up.

    Raises
    ------
    InputError
        At an unknown option, or where it is not clear which cluster is meant.
    ClusterError
        Where the cluster is not up, or this process may not use it.
    """
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise InputError(
            f"execute.options: expected only {', '.join(OPTIONS)} for cluster local, got {', '.join(unknown)}"
        )
    privilege.enter()
    name = state.only_cluster(read_topology(options["topology"]).name if "topology" in options else None)
    _, topology = state.load(name)
    return LocalCluster(topology=topology)
