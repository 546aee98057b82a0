"""Orders between controller and Spark driver, in the StreamAutoscaler. Standard library only.

The controller writes an order into ``status.order``, and the driver applies it. The other members of ``status.order``
belong to the controller.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gesscale.common.errors import InputError, Problem

#: API path of the StreamAutoscalers of a namespace.
AUTOSCALERS_PATH = "/apis/gesscale.dev/v1alpha1/namespaces/{namespace}/streamautoscalers"

#: A controller that has not written a status for this long counts as gone, seconds.
LEADER_GONE_S = 120.0

#: Most replicas of one operator, and most nodes of an order.
MAX_REPLICAS = 1000

_ID = re.compile(r"(0|[1-9]\d*)-(0|[1-9]\d*)")
_MAX_ID_CHARACTERS, _MAX_NAME_CHARACTERS = 64, 253


class Strategy(StrEnum):
    """How an order is applied.

    Live: executors join and leave the running query. Restart: the query stops at its checkpoint and restarts on the new
    placement, for jobs whose state or Kafka partitions limit the useful replicas.
    """

    LIVE = "Live"
    RESTART = "Restart"


@dataclass(frozen=True, slots=True)
class OrderDocument:
    """The members of an order that a driver reads."""

    #: ``<term>-<counter>``; the term is that of the leader that wrote the order.
    id: str
    #: Nodes that should hold exactly one executor each, sorted.
    placement: tuple[str, ...]
    #: How the order is applied.
    strategy: Strategy = Strategy.LIVE
    #: See `lease_of`.
    lease: str = ""
    #: Nodes that can hold no executor now, sorted; those on them are removed at once, without decommissioning.
    lost: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, int]:
        """Term and counter; of two orders, the one with the higher rank is newer."""
        return rank_of(self.id)


def rank_of(identity: str) -> tuple[int, int]:
    """Return term and counter of an order id."""
    term, _, counter = identity.partition("-")
    return int(term), int(counter)


def lease_of(order: Mapping[str, Any]) -> str:
    """Return the Lease of the leader that wrote an order, ``namespace/name``; empty if it is not known.

    The member ends with the order's id: a controller that does not know it leaves that of the order before in place.

    Examples
    --------
    >>> lease_of({"id": "3-1", "lease": "gesscale/gesscale-controller/3-1"})
    'gesscale/gesscale-controller'
    >>> lease_of({"id": "4-1", "lease": "gesscale/gesscale-controller/3-1"}), lease_of({"id": "4-1"})
    ('', '')
    """
    lease, _, identity = text_of(order, "lease").rpartition("/")
    return lease if identity == order.get("id") else ""


def order_problem(identity: str, term: object, placement: Sequence[str]) -> Problem | None:
    """Return the problem of the id or the nodes of an order; None if both are valid."""
    found = _ID.fullmatch(identity)
    if found is None or len(identity) > _MAX_ID_CHARACTERS or int(found[1]) != term:
        return Problem("order-id-invalid", {"place": "id", "got": identity, "term": term})
    if list(placement) != sorted(set(placement)):
        return Problem("order-nodes-unsorted", {"place": "placement", "got": list(placement)})
    return None


def read_order(value: object) -> OrderDocument:
    """Parse the JSON value of ``status.order``.

    Raises
    ------
    InputError
        If the order is invalid.
    """
    order = value if isinstance(value, Mapping) else {}
    identity, nodes, strategy = order.get("id"), order.get("placement"), order.get("strategy", Strategy.LIVE)
    lost, problem = order.get("lost", []), None
    if not isinstance(identity, str):
        problem = Problem("order-without-id", {"got": value})
    elif not nodes or not _are_nodes(nodes):
        problem = Problem("order-nodes-invalid", {"place": "placement", "max_nodes": MAX_REPLICAS, "got": nodes})
    elif not _are_nodes(lost):
        problem = Problem("order-nodes-invalid", {"place": "lost", "max_nodes": MAX_REPLICAS, "got": lost})
    elif strategy not in list(Strategy):
        problem = Problem("order-strategy-unknown", {"place": "strategy", "known": list(Strategy), "got": strategy})
    else:
        problem = order_problem(identity, order.get("term"), nodes)
    if problem is not None:
        raise InputError(problem.code, source="status.order", **problem.fields)
    return OrderDocument(str(identity), tuple(nodes or ()), Strategy(strategy), lease_of(order), tuple(lost))


def _are_nodes(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MAX_REPLICAS and all(map(_is_name, value))


def _is_name(node: object) -> bool:
    return isinstance(node, str) and 1 <= len(node) <= _MAX_NAME_CHARACTERS


def group_of(document: object, name: str) -> Mapping[str, Any]:
    """Return a mapping inside an object, such as its metadata; empty if there is none.

    Examples
    --------
    >>> group_of({"metadata": {"name": "clean"}}, "metadata"), group_of({"status": "lost"}, "status"), group_of([], "x")
    ({'name': 'clean'}, {}, {})
    """
    group = document.get(name) if isinstance(document, Mapping) else None
    return group if isinstance(group, Mapping) else {}


def text_of(group: Mapping[str, Any], name: str, otherwise: str = "") -> str:
    """Return a non-empty text inside a mapping, or a default."""
    text = group.get(name)
    return text if isinstance(text, str) and text else otherwise


def entries_of(group: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return a list inside a mapping; empty if there is none."""
    entries = group.get(name)
    return entries if isinstance(entries, list) else ()
