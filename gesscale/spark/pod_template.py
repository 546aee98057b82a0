"""Builds the pod template of executors: the user's template plus the allowed nodes. Pure."""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gesscale.common.errors import InputError

AUTOSCALER_LABEL = "gesscale.dev/autoscaler"
ORDER_ANNOTATION = "gesscale.dev/order"
CONTAINER = "spark-kubernetes-executor"
#: Spark sends environment variables with this prefix from an executor to the driver; see ``extractAttributes``.
ATTRIBUTE_PREFIX = "SPARK_EXECUTOR_ATTRIBUTE_"
NODE_ATTRIBUTE, ORDER_ATTRIBUTE = "NODE", "GESSCALE_ORDER"

Part = TypeVar("Part", dict[str, Any], list[Any])
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlacement:
    """Nodes that new executors may run on."""

    #: Id of the order that chose them; empty before the first order.
    order: str = ""
    #: The nodes, for one executor each; None before the first order.
    nodes: tuple[str, ...] | None = None
    #: Without nodes: the LabelSelector of the node pool; all nodes if it is empty.
    pool: Mapping[str, Any] | None = None


def executor_template(
    base: Mapping[str, Any], placement: PodPlacement, *, autoscaler: str, container: str | None = None
) -> dict[str, Any]:
    """Return the pod template of the next executors.

    A node must match both the user's template and the placement. Kubernetes ORs the terms of a node affinity, so each
    term of the user is combined with each node. Everything else in the user's template is kept.

    Raises
    ------
    InputError
        If the template is not a pod, or the name is not a valid label.
    """
    if not _LABEL_VALUE.fullmatch(autoscaler):
        raise InputError("autoscaler-name-invalid", got=autoscaler)
    pod = copy.deepcopy(dict(base))
    if pod.get("kind", "Pod") != "Pod":
        raise InputError("pod-template-invalid", place="kind", expected="Pod", got=pod["kind"])
    pod |= {"apiVersion": "v1", "kind": "Pod"}
    metadata = _part(pod, "metadata")
    _part(metadata, "labels")[AUTOSCALER_LABEL] = autoscaler
    annotations = _part(metadata, "annotations")
    annotations.pop(ORDER_ANNOTATION, None)
    if placement.order:
        annotations[ORDER_ANNOTATION] = placement.order
    spec = _part(pod, "spec")
    affinity = _part(spec, "affinity")
    _require_nodes(_part(affinity, "nodeAffinity"), _node_terms(placement))
    _limit_to_one_per_node(_part(affinity, "podAntiAffinity"), autoscaler)
    _set_attributes(_spark_container(spec, container), placement.order)
    return pod


def _part(owner: dict[str, Any], name: str) -> dict[str, Any]:
    return _member(owner, name, {}, "a mapping")


def _items(owner: dict[str, Any], name: str) -> list[Any]:
    items = _member(owner, name, [], "a list")
    if wrong := [item for item in items if not isinstance(item, dict)]:
        raise InputError("pod-template-invalid", place=name, expected="a list of mappings", got=wrong[0])
    return items


def _member(owner: dict[str, Any], name: str, empty: Part, expected: str) -> Part:
    """Return a member of a mapping; create it if it is missing."""
    value = owner.get(name)
    if value is None:
        value = owner[name] = empty
    if not isinstance(value, type(empty)):
        raise InputError("pod-template-invalid", place=name, expected=expected, got=value)
    return value


def _node_terms(placement: PodPlacement) -> list[dict[str, Any]]:
    """Return the node selector terms; one per node, because matchFields takes a single value."""
    if placement.nodes is not None:
        return [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in placement.nodes
        ]
    pool = placement.pool or {}
    labels = pool.get("matchLabels") or {}
    expressions = [{"key": key, "operator": "In", "values": [labels[key]]} for key in sorted(labels)]
    expressions += copy.deepcopy(list(pool.get("matchExpressions") or []))
    return [{"matchExpressions": expressions}] if expressions else []


def _require_nodes(node_affinity: dict[str, Any], terms: Sequence[Mapping[str, Any]]) -> None:
    if not terms:
        return
    required = _part(node_affinity, _REQUIRED)
    user_terms = _items(required, "nodeSelectorTerms")
    usable = [term for term in user_terms if term and any(term.values())]  # an empty term matches no node
    if user_terms and not usable:
        raise InputError("pod-affinity-empty")
    required["nodeSelectorTerms"] = [_combined(user_term, term) for user_term in usable or [{}] for term in terms]


def _combined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the node selector term that requires both terms."""
    joined = {
        name: copy.deepcopy([*_items(dict(one), name), *_items(dict(other), name)])
        for name in ("matchExpressions", "matchFields")
    }
    return {name: requirements for name, requirements in joined.items() if requirements}


def _limit_to_one_per_node(anti_affinity: dict[str, Any], autoscaler: str) -> None:
    """Allow at most one executor of this operator per node; the driver has the same label, but another role."""
    _items(anti_affinity, _REQUIRED).append(
        {
            "labelSelector": {"matchLabels": {AUTOSCALER_LABEL: autoscaler, "spark-role": "executor"}},
            "topologyKey": "kubernetes.io/hostname",
        }
    )


def _spark_container(spec: dict[str, Any], name: str | None) -> dict[str, Any]:
    containers = _items(spec, "containers")
    named = [each for each in containers if name is not None and each.get("name") == name]
    if not containers:
        containers.append({"name": name or CONTAINER})
    chosen: dict[str, Any] = (named or containers)[0]
    return chosen


def _set_attributes(container: dict[str, Any], order: str) -> None:
    node_name, order_name = ATTRIBUTE_PREFIX + NODE_ATTRIBUTE, ATTRIBUTE_PREFIX + ORDER_ATTRIBUTE
    user_variables = [each for each in _items(container, "env") if each.get("name") not in (node_name, order_name)]
    variables: list[dict[str, Any]] = [
        {"name": node_name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}
    ]
    if order:
        variables.append({"name": order_name, "value": order})
    container["env"] = user_variables + variables
