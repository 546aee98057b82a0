"""Eligibility of nodes for executors, by the rules of the Kubernetes scheduler, and node backoff."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gesscale.formatting import format_duration
from gesscale.kubernetes.placement.nodes import ONE_POD, NodeRecord, Room, Taint
from gesscale.kubernetes.placement.pods import PodRecord, Toleration
from gesscale.kubernetes.resource.spec import LabelSelector, Requirement
from gesscale.model.decision import Reason
from gesscale.ports import Node

ALL_NODES = LabelSelector()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorNeeds:
    """Requirements of one executor on a node."""

    #: Its requests, and one pod.
    requests: Room = ONE_POD
    #: The nodes it may run on.
    pool: LabelSelector = ALL_NODES
    #: Architectures of its image; empty for any.
    architectures: frozenset[str] = frozenset()
    #: Whether these are only those of the nodes that it runs on.
    assumed: bool = False
    #: Its tolerations.
    tolerations: tuple[Toleration, ...] = ()


def room_taken(pods: Iterable[PodRecord]) -> dict[str, Room]:
    """Return the room taken by pods, by node; ended pods do not count."""
    taken: dict[str, Room] = {}
    for pod in pods:
        if pod.node and not pod.ended:
            taken[pod.node] = taken.get(pod.node, Room()) + pod.requests
    return taken


def evaluate_node(node: NodeRecord, taken: Room, needs: ExecutorNeeds) -> Node:
    """Return one node as an operator may use it, given the room taken on it."""
    evaluated = Node(name=node.name, address=node.address, weight=node.weight, price=node.price)
    problems = {
        Reason.NOT_IN_POOL: _outside(node, needs.pool),
        Reason.NOT_READY: node.unready,
        Reason.CORDONED: node.closed_to(lambda taint: tolerated(taint, needs.tolerations)),
        Reason.WRONG_ARCHITECTURE: _wrong_architecture(node, needs),
        Reason.NO_ROOM: _lack(node, taken, needs.requests),
    }
    first = next(((reason, problem) for reason, problem in problems.items() if problem), None)
    return evaluated if first is None else replace(evaluated, reason=first[0], problem=first[1])


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a selector; an empty one matches all."""
    return not _unmet(selector, labels)


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Return whether one of the tolerations matches a taint."""
    return any(
        (not each.effect or each.effect == taint.effect)
        and (each.key == taint.key or (not each.key and each.operator == "Exists"))
        and (each.operator == "Exists" or each.value == taint.value)
        for each in tolerations
    )


def _outside(node: NodeRecord, pool: LabelSelector) -> str:
    unmet = _unmet(pool, node.labels)
    return f"not in the node pool: it requires {unmet}" if unmet else ""


def _unmet(selector: LabelSelector, labels: Mapping[str, str]) -> str:
    """Return the first unmet requirement and the label's value; empty if all are met."""
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


def _wrong_architecture(node: NodeRecord, needs: ExecutorNeeds) -> str:
    if not needs.architectures or node.architecture in needs.architectures:
        return ""
    has = f"the node is {node.architecture}" if node.architecture else "the node's architecture is not known"
    known = ", ".join(sorted(needs.architectures))
    if needs.assumed:
        return f"the application runs on {known}, {has}; if the image has both, list them in executor.architectures"
    return f"spec.executor.architectures has {known}, {has}"


def _lack(node: NodeRecord, taken: Room, requested: Room) -> str:
    if node.room is None:
        return "allocatable resources not reported yet"
    return requested.lack(node.room.without(taken), node.room)


def shared_room(
    nodes: Iterable[NodeRecord], pods: Iterable[PodRecord], requests: Sequence[Room], *, reserved: Mapping[str, Room]
) -> dict[str, int]:
    """Return how many executors, one per operator, each node can take, for nodes without room for one of each."""
    taken, nothing = room_taken(pods), Room()
    largest_first = sorted(requests, key=lambda each: (each.cpu_m, each.memory_bytes), reverse=True)
    found: dict[str, int] = {}
    for node in nodes:
        whole = node.room or Room()
        left, count = whole.without(taken.get(node.name, nothing) + reserved.get(node.name, nothing)), 0
        for each in largest_first:
            if not each.lack(left, whole):
                left, count = left.without(each), count + 1
        if count < len(requests):
            found[node.name] = count
    return found


#: A node is in backoff for this many times the time that was waited for the executor.
BACKOFF_FACTOR = 3.0


@dataclass(slots=True)
class NodeBackoff:
    """Nodes on which executors of one operator failed to start."""

    #: How long an executor may take to become ready, seconds.
    wait_s: float = 60.0
    _since_s: dict[str, float] = field(default_factory=dict, init=False)
    _backed_off: dict[str, tuple[float, str]] = field(default_factory=dict, init=False)

    def update(self, executors: Iterable[PodRecord], expected: Collection[str], now_s: float) -> dict[str, str]:
        """Note which executors are ready; return the nodes in backoff with the reason.

        The time to start begins with a pod: a driver that has created none is starting itself, or was refused.
        """
        pods = tuple(pod for pod in executors if not pod.terminating)
        ready = {pod.node for pod in pods if pod.ready}
        is_unscheduled = any(not pod.node for pod in pods)
        tried = {node for node in expected if is_unscheduled or node in self._since_s}
        missing = tried.union(pod.node for pod in pods if pod.node) - ready
        self._since_s = {node: self._since_s.get(node, now_s) for node in missing}
        for node, since_s in self._since_s.items():
            if now_s - since_s >= self.wait_s and node not in self._backed_off:
                self._backed_off[node] = (now_s + BACKOFF_FACTOR * self.wait_s, self._reason(node, pods))
        self._backed_off = {
            node: entry for node, entry in self._backed_off.items() if now_s < entry[0] and node not in ready
        }
        return {node: problem for node, (_, problem) in self._backed_off.items()}

    def _reason(self, node: str, pods: Iterable[PodRecord]) -> str:
        waiting = [pod for pod in pods if not pod.ready]
        pending = next((pod for pod in waiting if pod.node == node), None) or next(
            (pod for pod in waiting if not pod.node), None
        )
        cause = "its pod has ended" if pending is None else pending.problem or pending.phase
        return f"in backoff: no executor became ready within {format_duration(self.wait_s)}: {cause}"
