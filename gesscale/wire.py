"""What a controller writes for a Spark driver: the order in a StreamAutoscaler. With the standard library only.

The controller writes it into ``status.order``, whose other members are its own; the driver carries it out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gesscale.common.errors import InputError
from gesscale.common.text import truncated_repr

#: Where the API server has the StreamAutoscalers of a namespace.
AUTOSCALERS_PATH = "/apis/gesscale.dev/v1alpha1/namespaces/{namespace}/streamautoscalers"

#: Of one operator; an order names no more nodes.
MAX_REPLICAS = 1000

_ID = re.compile(r"(0|[1-9]\d*)-(0|[1-9]\d*)")
_LONGEST_ID, _LONGEST_NAME = 64, 253


class Strategy(StrEnum):
    """How an order is carried out.

    Live: executors join and leave the running query. Restart: the query stops at its checkpoint and starts again
    on the new placement, for jobs whose state or Kafka partitions cap the useful replicas.
    """

    LIVE = "Live"
    RESTART = "Restart"


@dataclass(frozen=True, slots=True)
class OrderDocument:
    """What a driver reads of an order."""

    #: Term and counter, ``<term>-<counter>``; the term is that of the leader that wrote it.
    id: str
    #: Nodes that are to hold exactly one executor each, sorted.
    placement: tuple[str, ...]
    #: How executors are exchanged.
    strategy: Strategy = Strategy.LIVE

    @property
    def rank(self) -> tuple[int, int]:
        """Return term and counter: of two orders, the one of the higher rank is newer."""
        return rank_of(self.id)


def rank_of(identity: str) -> tuple[int, int]:
    """Return term and counter of an order's id."""
    term, _, counter = identity.partition("-")
    return int(term), int(counter)


def order_fault(identity: str, term: object, placement: Sequence[str]) -> str:
    """Return why these cannot be an order's; empty where they can."""
    found = _ID.fullmatch(identity)
    if found is None or len(identity) > _LONGEST_ID or int(found[1]) != term:
        return f"expected the id as <term>-<counter> with term {truncated_repr(term)}, got {truncated_repr(identity)}"
    if list(placement) != sorted(set(placement)):
        return f"expected the names of nodes, sorted, none twice, got {list(placement)!r:.200}"
    return ""


def read_order(value: object) -> OrderDocument:
    """Read the JSON value of ``status.order``.

    Raises
    ------
    InputError
        It is no order that could be carried out.
    """
    order = value if isinstance(value, Mapping) else {}
    identity, nodes, strategy = order.get("id"), order.get("placement"), order.get("strategy", Strategy.LIVE)
    if not isinstance(identity, str):
        fault = f"expected an object with an id, got {truncated_repr(value)}"
    elif not isinstance(nodes, list) or not 1 <= len(nodes) <= MAX_REPLICAS or not all(map(_is_name, nodes)):
        fault = f"placement: expected the names of 1 to {MAX_REPLICAS} nodes, got {truncated_repr(nodes)}"
    elif strategy not in list(Strategy):
        fault = f"strategy: expected {' or '.join(Strategy)}, got {truncated_repr(strategy)}"
    else:
        fault = order_fault(identity, order.get("term"), nodes)
    if fault:
        raise InputError(f"status.order is no order: {fault}")
    return OrderDocument(str(identity), tuple(nodes or ()), Strategy(strategy))


def _is_name(node: object) -> bool:
    return isinstance(node, str) and 1 <= len(node) <= _LONGEST_NAME


def group_of(document: object, name: str) -> Mapping[str, Any]:
    """Return a group of an object as its JSON says it, such as its metadata; empty where there is none.

    Examples
    --------
    >>> group_of({"metadata": {"name": "clean"}}, "metadata"), group_of({"status": "lost"}, "status"), group_of([], "x")
    ({'name': 'clean'}, {}, {})
    """
    group = document.get(name) if isinstance(document, Mapping) else None
    return group if isinstance(group, Mapping) else {}


def text_of(group: Mapping[str, Any], name: str, otherwise: str = "") -> str:
    """Return a text of a group; the other one where there is none."""
    text = group.get(name)
    return text if isinstance(text, str) and text else otherwise


def entries_of(group: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return a list of a group; empty where there is none, or something else."""
    entries = group.get(name)
    return entries if isinstance(entries, list) else ()
