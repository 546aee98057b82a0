"""The local cluster as the loop's port `gesscale.ports.Cluster`."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.decision import Change, Outcome, OutcomeStatus
from gesscale.errors import ClusterError, InputError
from gesscale.ports import ClusterState, Node
from testbed.cluster import lifecycle, privilege, state
from testbed.cluster.spark import LocalSpark, open_spark, operators
from testbed.cluster.topology import Topology, read_topology

OPTIONS = ("topology", "first_task_timeout_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCluster:
    """Starts and removes executors on the emulated nodes of this machine.

    Attributes
    ----------
    topology
        The nodes.
    first_task_timeout_s
        How long `apply` waits for the first task on each new node, to tell when it was; 0 for not at all.
    register_timeout_s, leave_timeout_s
        How long a new replica may take to register, and a leaving one to end its task.
    """

    topology: Topology
    first_task_timeout_s: float = 20.0
    register_timeout_s: float = 60.0
    leave_timeout_s: float = 60.0

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
        placements = {spark.operator: spark.replicas() for spark in opened if spark.driver() is not None}
        return ClusterState(nodes=nodes, placements=placements)

    def apply(self, operator: str, change: Change) -> Outcome:
        """Start the new replicas, then let the leaving ones finish and go.

        Raises
        ------
        ClusterError
            Where nothing could be done at all.
        """
        spark = self._spark(operator)
        added = spark.add_replicas(
            change.add,
            register_timeout_s=self.register_timeout_s,
            first_task_timeout_s=self.first_task_timeout_s,
        )
        ready_s = max((start.registered_s for start in added.values()), default=0.0)
        began = time.monotonic()
        killed = spark.remove_replicas(change.remove, timeout_s=self.leave_timeout_s)
        late = [node for node in change.add if node not in added]
        return Outcome(
            status=_status(complete=not late, anything=bool(added or change.remove)),
            added=tuple(node for node in change.add if node in added),
            removed=change.remove,
            seconds=ready_s + time.monotonic() - began,
            first_task_s={node: start.first_task_s for node, start in added.items() if start.first_task_s},
            detail="; ".join(
                [f"{node} did not register within {self.register_timeout_s:g} s" for node in late]
                + [f"{node} did not leave within {self.leave_timeout_s:g} s, killed" for node in killed]
            ),
        )

    def _spark(self, operator: str) -> LocalSpark:
        known = operators(self.topology.name)
        if operator not in known:
            message = (
                f"cluster {self.topology.name!r} runs no operator {operator!r}; its operators are "
                f"{', '.join(known) or 'none'}: start its driver on the cluster first"
            )
            raise ClusterError(message)
        return open_spark(self.topology, operator)


def open_local_cluster(options: Mapping[str, str]) -> LocalCluster:
    """Open the cluster that ``execute.options`` describe; it must be up.

    Parameters
    ----------
    options
        ``topology``: its file or bundled name, may be left out where one cluster is up;
        ``first_task_timeout_s``: see `LocalCluster`.

    Raises
    ------
    InputError
        At an unknown option or value, or where it is not clear which cluster is meant.
    ClusterError
        Where the cluster is not up, or this process may not use it.
    """
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        message = (
            f"execute.options: expected only {', '.join(OPTIONS)} for cluster local, got {', '.join(unknown)}"
        )
        raise InputError(message)
    timeout_s = _seconds(options.get("first_task_timeout_s", "20"))
    privilege.enter()
    name = state.only_cluster(read_topology(options["topology"]).name if "topology" in options else None)
    _, topology = state.load(name)
    return LocalCluster(topology=topology, first_task_timeout_s=timeout_s)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 600:
        message = f"execute.options.first_task_timeout_s: expected 0 to 600 seconds, got {text!r}"
        raise InputError(message)
    return value


def _status(*, complete: bool, anything: bool) -> OutcomeStatus:
    if complete:
        return OutcomeStatus.APPLIED
    return OutcomeStatus.PARTLY_APPLIED if anything else OutcomeStatus.FAILED
