"""Which nodes can take executors of which operators, as the scheduler would judge; and what is promised already."""

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
    """What one executor needs of a node."""

    #: Its requests, and one pod.
    takes: Room = ONE_POD
    #: The nodes that it may be on.
    pool: LabelSelector = ALL_NODES
    #: Those that its image runs on; empty for any.
    architectures: frozenset[str] = frozenset()
    #: The taints that it does not mind.
    tolerations: tuple[Toleration, ...] = ()


def room_taken(pods: Iterable[PodRecord]) -> dict[str, Room]:
    """Return by node the room that pods take, those that have ended left out."""
    taken: dict[str, Room] = {}
    for pod in pods:
        if pod.node and not pod.over:
            taken[pod.node] = taken.get(pod.node, Room()) + pod.takes
    return taken


def judge_node(node: NodeRecord, taken: Room, needs: ExecutorNeeds) -> Node:
    """Return one node as an operator may use it, given the room that is taken of it."""
    judged = Node(name=node.name, address=node.address, weight=node.weight)
    problems = {
        Reason.NOT_IN_POOL: _outside(node, needs.pool),
        Reason.NOT_READY: node.unready,
        Reason.CORDONED: node.closed_to(lambda taint: tolerated(taint, needs.tolerations)),
        Reason.WRONG_ARCHITECTURE: _misfit(node, needs.architectures),
        Reason.NO_ROOM: _lack(node, taken, needs.takes),
    }
    first = next(((reason, problem) for reason, problem in problems.items() if problem), None)
    return judged if first is None else replace(judged, reason=first[0], problem=first[1])


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
    if not architectures or node.architecture in architectures:
        return ""
    has = f"the node is {node.architecture}" if node.architecture else "the node does not say what it is"
    return f"the executor runs on {', '.join(sorted(architectures))}, {has}"


def _lack(node: NodeRecord, taken: Room, asked: Room) -> str:
    if node.room is None:
        return "it has not said yet what room it has"
    return asked.lack(node.room.without(taken), node.room)


def shared_room(
    nodes: Iterable[NodeRecord], pods: Iterable[PodRecord], takes: Sequence[Room], *, reserved: Mapping[str, Room]
) -> dict[str, int]:
    """Tell for each node how many executors it can take, one of an operator, where that is not one of each operator."""
    taken, nothing = room_taken(pods), Room()
    largest_first = sorted(takes, key=lambda each: (each.cpu_m, each.memory_bytes), reverse=True)
    found: dict[str, int] = {}
    for node in nodes:
        whole = node.room or Room()
        left, count = whole.without(taken.get(node.name, nothing) + reserved.get(node.name, nothing)), 0
        for each in largest_first:
            if not each.lack(left, whole):
                left, count = left.without(each), count + 1
        if count < len(takes):
            found[node.name] = count
    return found


#: So many times as long as it was waited for, a node is left alone.
BACKOFF_FACTOR = 3.0


@dataclass(slots=True)
class NodeBackoff:
    """Of one operator."""

    #: How long an executor may take to become ready, seconds.
    wait_s: float = 60.0
    _since_s: dict[str, float] = field(default_factory=dict, init=False)
    _refused: dict[str, tuple[float, str]] = field(default_factory=dict, init=False)

    def judge(self, executors: Iterable[PodRecord], awaited: Collection[str], now_s: float) -> dict[str, str]:
        """Return the nodes that are left alone, with the reason in a sentence."""
        pods = tuple(pod for pod in executors if not pod.leaving)
        ready = {pod.node for pod in pods if pod.ready}
        missing = {*awaited, *(pod.node for pod in pods if pod.node)} - ready
        self._since_s = {node: self._since_s.get(node, now_s) for node in missing}
        for node, since_s in self._since_s.items():
            if now_s - since_s >= self.wait_s and node not in self._refused:
                self._refused[node] = (now_s + BACKOFF_FACTOR * self.wait_s, self._sentence(node, pods))
        self._refused = {
            node: refusal for node, refusal in self._refused.items() if now_s < refusal[0] and node not in ready
        }
        return {node: problem for node, (_, problem) in self._refused.items()}

    def _sentence(self, node: str, pods: Iterable[PodRecord]) -> str:
        waiting = [pod for pod in pods if not pod.ready]
        blamed = next((pod for pod in waiting if pod.node == node), None) or next(
            (pod for pod in waiting if not pod.node), None
        )
        why = f": {blamed.problem or blamed.phase}" if blamed is not None else ": its pod was never created"
        return f"no executor became ready there within {format_duration(self.wait_s)}{why}"
