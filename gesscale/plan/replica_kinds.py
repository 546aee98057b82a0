"""The replicas of an operator by kind: ordered, running, working, and those that are missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gesscale.model.cycles import working_nodes
from gesscale.model.decision import Decision
from gesscale.ports import ClusterState, Knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaKinds:
    """The nodes of the replicas of one operator, sorted; None if unknown."""

    #: Of the order in force; None without one.
    ordered: tuple[str, ...] | None = None
    #: With a running replica.
    running: tuple[str, ...] | None = None
    #: Of these, those whose replica ran a task in the newest batches; None without a recent batch with rows.
    working: tuple[str, ...] | None = None
    #: Ordered nodes that can no longer hold their replica, with the cause.
    left: Mapping[str, str] = field(default_factory=dict)
    #: Ordered nodes without a replica, with the cause; while the order is pending, only those that have left.
    missing: Mapping[str, str] = field(default_factory=dict)


def replica_kinds(decision: Decision, known: Knowledge, cluster: ClusterState) -> ReplicaKinds:
    """Return the replicas of an operator after a step."""
    name, reading, order = decision.operator, decision.analysis.reading, known.latest(decision.operator)
    reported = reading.placement if reading is not None and not cluster.problem else None
    running = cluster.placements.get(name, reported)
    working = working_nodes(reading.batches, reading.at_s) if reading else None
    left = cluster.left.get(name, {})
    missing = dict(left)
    if order is not None and not order.is_pending and name in cluster.placements:
        starting = cluster.starting.get(name, ())
        causes = {node: "it is starting" if node in starting else "no executor" for node in order.placement}
        missing |= {node: cause for node, cause in causes.items() if node not in {*(running or ()), *left}}
    return ReplicaKinds(
        ordered=None if order is None else order.placement,
        running=running,
        working=None if working is None or running is None else tuple(sorted(working & {*running})),
        left=left,
        missing=missing,
    )
