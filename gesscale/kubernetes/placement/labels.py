"""Labels that nearly match a selector, for messages about a selector that matches nothing."""

from collections import Counter
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from functools import lru_cache

from gesscale.common.errors import Problem
from gesscale.kubernetes.placement.nodes import NodeRecord
from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.kubernetes.placement.room import selects
from gesscale.kubernetes.resource.spec import LabelSelector

_SIMILAR = 0.75
_NAMED = 3
#: Domain of the labels that every node has.
_BUILT_IN = "kubernetes.io"


def empty_pool(pool: LabelSelector, nodes: Collection[NodeRecord]) -> Problem | None:
    """Return why a node pool has no node, with the labels of nodes that nearly match; None if it has one."""
    if not nodes or any(selects(pool, node.labels) for node in nodes):
        return None
    present = Counter(label for node in nodes for label in node.labels.items())
    similar = {label: count for label, count in present.items() if _is_near(label[0], pool)}
    own = {label: count for label, count in present.items() if not label[0].partition("/")[0].endswith(_BUILT_IN)}
    named = [f"{key}={value} ({n} of {len(nodes)})" for (key, value), n in Counter(similar or own).most_common(_NAMED)]
    return Problem("node-pool-empty", {"labels": _wanted(pool), "nodes": named or ["no labels of yours"]})


def missing_driver(selector: LabelSelector, namespace: str, pods: Iterable[PodRecord]) -> Problem:
    """Return that no pod matches the selector of a driver, with the pods of the namespace that come nearest."""
    found = []
    for pod in pods:
        if pod.namespace == namespace and not pod.ended:
            near = [f"{key}={value}" for key, value in sorted(pod.labels.items()) if _is_near(key, selector)]
            unmet = len(selector.match_labels.items() - pod.labels.items())
            found.append((unmet, pod.name, f"{pod.name} ({', '.join(near) or 'no such label'})"))
    named = [text for _, _, text in sorted(found)[:_NAMED]]
    return Problem(
        "driver-pod-missing", {"labels": _wanted(selector), "namespace": namespace, "pods": named or ["no pods"]}
    )


def _wanted(selector: LabelSelector) -> list[str]:
    plain = [f"{key}={value}" for key, value in selector.match_labels.items()]
    return [*plain, *(" ".join((each.key, each.operator, *each.values)) for each in selector.match_expressions)]


def _is_near(key: str, selector: LabelSelector) -> bool:
    wanted = (*selector.match_labels, *(each.key for each in selector.match_expressions))
    return any(_similar(key, each) for each in wanted)


@lru_cache(maxsize=4096)
def _similar(one: str, other: str) -> bool:
    """Return whether two keys are equal but for their domain, their case or a typing error."""
    a, b = (key.rpartition("/")[2].casefold() for key in (one, other))
    return a == b or SequenceMatcher(None, a, b).ratio() > _SIMILAR
