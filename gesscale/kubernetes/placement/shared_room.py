"""How many executors of several operators a node can take together."""

from collections.abc import Iterable, Mapping, Sequence

from gesscale.kubernetes.placement.nodes import NodeRecord
from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.kubernetes.placement.quantity import Room


def shared_room(
    nodes: Iterable[NodeRecord],
    pods: Iterable[PodRecord],
    takes: Sequence[Room],
    *,
    reserved: Mapping[str, Room],
) -> dict[str, int]:
    """Tell for each node how many executors it can take, one of an operator, where that is not one of each operator.

    Parameters
    ----------
    nodes, pods
        The whole cluster's.
    takes
        What an executor of each operator requests.
    reserved
        By node, the room of executors that are ordered and not bound yet.

    Returns
    -------
    dict of str to int
        By node. The largest requests are tried first, so any so many executors that fit alone fit together.
    """
    taken: dict[str, Room] = dict(reserved)
    for pod in pods:
        if pod.node and not pod.over:
            taken[pod.node] = taken.get(pod.node, Room()) + pod.takes
    largest_first = sorted(takes, key=lambda each: (each.cpu_m, each.memory_bytes), reverse=True)
    found: dict[str, int] = {}
    for node in nodes:
        whole = node.room or Room()
        left, count = whole.without(taken.get(node.name, Room())), 0
        for each in largest_first:
            if not each.lack(left, whole):
                left, count = left.without(each), count + 1
        if count < len(takes):
            found[node.name] = count
    return found
