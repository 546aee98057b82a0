"""Which nodes can take one executor of an operator, and why the others cannot: as the scheduler would judge."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gesscale.kubernetes.placement.nodes import NodeRecord, Taint
from gesscale.kubernetes.placement.pods import PodRecord, Toleration
from gesscale.kubernetes.placement.quantity import ONE_POD, Room
from gesscale.kubernetes.resource.selector import LabelSelector, Requirement
from gesscale.model.decision import Reason
from gesscale.ports import Node
from latency_map.choose.candidates import Unfit, first_problem, runs_on

ALL_NODES = LabelSelector()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorNeeds:
    """What one executor needs of a node.

    Attributes
    ----------
    takes
        Its requests, and one pod.
    pool
        The nodes that it may be on.
    architectures
        Those that its image runs on; empty for any.
    tolerations
        The taints that it does not mind.
    """

    takes: Room = ONE_POD
    pool: LabelSelector = ALL_NODES
    architectures: frozenset[str] = frozenset()
    tolerations: tuple[Toleration, ...] = ()


def room_taken(pods: Iterable[PodRecord]) -> dict[str, Room]:
    """Return by node the room that pods take, those that have ended left out."""
    taken: dict[str, Room] = {}
    for pod in pods:
        if pod.node and not pod.over:
            taken[pod.node] = taken.get(pod.node, Room()) + pod.takes
    return taken


def judge_node(node: NodeRecord, taken: Room, needs: ExecutorNeeds) -> Node:
    """Tell of one node what `judge_nodes` tells of each, given the room that is taken of it."""
    judged = Node(name=node.name, address=node.address, weight=node.weight)
    found = first_problem(
        {
            Unfit.NOT_IN_POOL: _outside(node, needs.pool),
            Unfit.NOT_READY: node.unready,
            Unfit.CORDONED: node.closed_to(lambda taint: tolerated(taint, needs.tolerations)),
            Unfit.WRONG_ARCHITECTURE: _misfit(node, needs.architectures),
            Unfit.NO_ROOM: _lack(node, taken, needs.takes),
        }
    )
    return judged if found is None else replace(judged, reason=Reason(found[0].value), problem=found[1])


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether labels fulfil a selector; an empty one takes all."""
    return not _unfulfilled(selector, labels)


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Return whether a pod with these tolerations does not mind a taint."""
    return any(
        (not each.effect or each.effect == taint.effect)
        and (each.key == taint.key or (not each.key and each.operator == "Exists"))
        and (each.operator == "Exists" or each.value == taint.value)
        for each in tolerations
    )


def _outside(node: NodeRecord, pool: LabelSelector) -> str:
    unfulfilled = _unfulfilled(pool, node.labels)
    return f"the pool asks for {unfulfilled}" if unfulfilled else ""


def _unfulfilled(selector: LabelSelector, labels: Mapping[str, str]) -> str:
    """Return the first requirement that labels do not fulfil, and what they have instead; empty where all hold."""
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return f"{key}={value}, the node has {_label(labels, key)}"
    for each in selector.match_expressions:
        if not _fulfils(each, labels.get(each.key)):
            values = f" ({', '.join(each.values)})" if each.values else ""
            return f"{each.key} {each.operator}{values}, the node has {_label(labels, each.key)}"
    return ""


def _fulfils(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None


def _label(labels: Mapping[str, str], key: str) -> str:
    return f"{key}={labels[key]}" if key in labels else "no such label"


def _misfit(node: NodeRecord, architectures: frozenset[str]) -> str:
    if runs_on(node.architecture, architectures):
        return ""
    has = f"the node is {node.architecture}" if node.architecture else "the node does not say what it is"
    return f"the executor runs on {', '.join(sorted(architectures))}, {has}"


def _lack(node: NodeRecord, taken: Room, asked: Room) -> str:
    if node.room is None:
        return "it has not said yet what room it has"
    return asked.lack(node.room.without(taken), node.room)
