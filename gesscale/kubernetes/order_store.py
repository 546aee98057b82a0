"""Stores orders in ``status.order``: the newest resources, writing orders, and orders as the knowledge of the loop."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.lease import steady_now_s
from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS
from gesscale.kubernetes.resource.autoscaler import SINGULAR, StreamAutoscaler
from gesscale.kubernetes.resource.order import OrderStatus, order_of, past_orders
from gesscale.kubernetes.resource.translate import Key
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.ports import Knowledge, KnowledgeStore
from gesscale.wire import LEADER_GONE_S, Strategy, group_of, text_of

Document = Mapping[str, Any]
_TRIES = 3
_MAX_DIGITS = 100


class Documents:
    """Reads and writes the statuses of StreamAutoscalers; thread-safe.

    Each write names the Lease of its controller. A status that a controller under another Lease has written recently
    is left to that controller.

    Parameters
    ----------
    lease
        The Lease of this controller, ``namespace/name``.
    has_ended
        Returns whether nobody leads under another Lease; False if that is not known.
    """

    def __init__(
        self,
        requests: Connection,
        watched: Callable[[], Mapping[str, Document]],
        *,
        lease: str = "",
        has_ended: Callable[[str], bool] = lambda _: False,
        steady_s: Callable[[], float] = steady_now_s,
    ) -> None:
        self._requests, self._watched = requests, watched
        self.lease, self._has_ended, self._steady_s = lease, has_ended, steady_s
        self._lock = threading.Lock()
        self._of_others: dict[Key, tuple[str, float]] = {}
        self._written: dict[Key, Document] = {}

    def newest(self, resource: Key) -> Document | None:
        """Return the newest version of a resource, watched or written; None if it was deleted."""
        watched = self._watched().get("/".join(resource))
        with self._lock:
            written = self._written.get(resource)
            if written is None:
                return watched
            if watched is not None and _uid(watched) == _uid(written) and _version(watched) < _version(written):
                return written
            del self._written[resource]  # the watch has caught up
        return watched

    def change_status(
        self, resource: Key, patch_of: Callable[[Document], Mapping[str, Any] | None], *, rehearse: bool = False
    ) -> None:
        """Change a status under optimistic locking.

        Parameters
        ----------
        patch_of
            Returns the merge patch for a document, None for no change. After a conflict it is called again with the
            newest document. An exception that it raises ends the attempt.

        Raises
        ------
        ClusterError
            The resource was deleted, another controller leads it, or the API server refused the patch.
        """
        namespace, name = resource
        document = self.newest(resource)
        for tries_left in reversed(range(_TRIES)):
            if document is None:
                raise ClusterError("resource-deleted", source=_source(resource))
            self._check_leader(resource, document)
            status = patch_of(document)
            if not status:
                return
            if self.lease:
                status = {**status, "lease": self.lease}
            body = {"metadata": {"resourceVersion": document["metadata"]["resourceVersion"]}, "status": dict(status)}
            try:
                answer = self._requests.patch(
                    STREAM_AUTOSCALERS, name, body, namespace=namespace, subresource="status", dry_run=rehearse
                )
            except ApiError as error:
                if not error.conflict or not tries_left:
                    raise
                document = self._read_again(resource)
            else:
                if not rehearse:
                    self._keep(resource, answer)
                return

    def _check_leader(self, resource: Key, document: Document) -> None:
        lease, version = text_of(group_of(document, "status"), "lease"), str(document["metadata"]["resourceVersion"])
        if lease in {"", self.lease} or self._has_ended(lease):
            return
        now_s = self._steady_s()
        with self._lock:
            seen, since_s = self._of_others.get(resource, ("", now_s))
            if seen != version:
                since_s = now_s
            self._of_others[resource] = version, since_s
        if now_s < since_s + LEADER_GONE_S:
            raise ClusterError("resource-led-elsewhere", source=_source(resource), lease=lease, own=self.lease)

    def _keep(self, resource: Key, document: Document) -> None:
        watched = self._watched()
        with self._lock:
            self._written = {key: each for key, each in self._written.items() if "/".join(key) in watched}
            known = self._written.get(resource)
            if known is None or _uid(known) != _uid(document) or _version(known) < _version(document):
                self._written[resource] = document

    def _read_again(self, resource: Key) -> Document | None:
        """Read a resource by a list of one: the controller may list, but not get."""
        namespace, name = resource
        pages = self._requests.pages(STREAM_AUTOSCALERS, namespace=namespace, field_selector=f"metadata.name={name}")
        return next((item for page in pages for item in page.get("items") or ()), None)


def _source(resource: Key) -> str:
    return f"{SINGULAR} {'/'.join(resource)}"


def _uid(document: Document) -> str:
    return text_of(group_of(document, "metadata"), "uid")


def _version(document: Document) -> int:
    """Return a resourceVersion as a number, which orders the versions of one object (KEP-5504)."""
    text = text_of(group_of(document, "metadata"), "resourceVersion")
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else -1


class OrderWriter:
    """Writes ``status.order`` of StreamAutoscalers; thread-safe.

    Parameters
    ----------
    term
        Returns the term of the current leadership; None while this process does not lead.
    """

    def __init__(self, documents: Documents, term: Callable[[], int | None]) -> None:
        self._documents, self._term = documents, term
        self._lock = threading.Lock()
        self._count = 0

    def current_order(self, resource: Key) -> OrderStatus | None:
        """Return the order in force; None without one."""
        document = self._documents.newest(resource)
        return None if document is None else order_of(document)

    def orders(self, resource: Key) -> tuple[OrderStatus, ...]:
        """Return the order in force and the former ones, newest first; none without one in force."""
        document = self._documents.newest(resource)
        order = None if document is None else order_of(document)
        return () if document is None or order is None else (order, *past_orders(group_of(document, "status")))

    def write(
        self,
        resource: StreamAutoscaler,
        placement: tuple[str, ...],
        *,
        at_s: float,
        term: int,
        replaces: OrderStatus | None,
        lost: tuple[str, ...] = (),
        rehearse: bool = False,
    ) -> OrderStatus:
        """Order a placement.

        Parameters
        ----------
        at_s
            When this was decided, seconds since the epoch.
        replaces
            The order that the decision is based on; None without one.
        lost
            Nodes whose executors are removed at once.

        Raises
        ------
        ClusterError
            The leadership has ended, spec or order have changed since the decision, or the API server refused.
        """
        strategy = Strategy(resource.spec.reconfiguration.strategy)
        wanted = placement, strategy, self._documents.lease
        if replaces is not None and (replaces.placement, replaces.strategy, replaces.written_under) == wanted:
            return replaces
        order = self._next(at_s, term, placement, strategy).model_copy(update={"lost": lost})

        def patch_of(document: Document) -> dict[str, Any]:
            self._check(resource, document, term, replaces)
            past = past_orders(group_of(document, "status"), replaced=True)
            return {
                "order": order.model_dump(mode="json", by_alias=True),  # a null removes a member of the previous order
                "history": [each.document() for each in past],
            }

        self._documents.change_status((resource.namespace, resource.name), patch_of, rehearse=rehearse)
        return order

    def change_lost(self, resource: StreamAutoscaler, order: OrderStatus, lost: tuple[str, ...], *, term: int) -> None:
        """Change the lost nodes of the order in force; raises as `write` does."""

        def patch_of(document: Document) -> dict[str, Any]:
            self._check(resource, document, term, order)
            return {"order": {"lost": list(lost)}}

        self._documents.change_status((resource.namespace, resource.name), patch_of)

    def _check(self, resource: StreamAutoscaler, document: Document, term: int, replaces: OrderStatus | None) -> None:
        source = _source((resource.namespace, resource.name))
        found, metadata = order_of(document), document["metadata"]
        decided_on = (resource.metadata.uid, resource.metadata.generation)
        if self._term() != term:
            raise ClusterError("leadership-lost", source=source, term=term)
        if (metadata.get("uid", ""), metadata.get("generation", 0)) != decided_on:
            raise ClusterError("order-spec-changed", source=source)
        if found is not None and found.written_under == self._documents.lease and found.term > term:
            raise ClusterError("order-term-superseded", source=source, term=term, newer_term=found.term)
        if found is not None and (replaces is None or found.id != replaces.id):
            raise ClusterError("order-superseded", source=source, order=found.id, nodes=found.placement)

    def _next(self, at_s: float, term: int, placement: tuple[str, ...], strategy: Strategy) -> OrderStatus:
        with self._lock:
            self._count += 1
            count = self._count
        identity, lease = f"{term}-{count}", self._documents.lease
        return OrderStatus(
            id=identity,
            term=term,
            lease=f"{lease}/{identity}" if lease else "",
            placement=placement,
            at_s=int(at_s * 1e6) / 1e6,  # never later than the decision
            strategy=strategy,
        )


@dataclass(slots=True)
class OrderKnowledge:
    """A `gesscale.ports.KnowledgeStore` that takes orders from the resources and the rest from another store."""

    #: Keeps everything but orders.
    inner: KnowledgeStore
    #: Returns the orders by operator, newest first: the one in force and those of ``status.history``.
    stored_orders: Callable[[], Mapping[str, tuple[OrderStatus, ...]]]
    _known: dict[str, tuple[OrderStatus, ...]] = field(default_factory=dict, init=False)

    def recall(self, now_s: float) -> Knowledge:
        """Return the knowledge of the inner store with each operator's orders.

        An order dated in the future, by a clock that ran ahead, counts from when it was first seen.
        """
        self._known = {
            name: tuple(self._seen(name, order, now_s) for order in orders)
            for name, orders in self.stored_orders().items()
            if orders
        }
        return replace(self.inner.recall(now_s), orders=dict(self._known))

    def settle(self, operator: str, order: Order) -> None:
        """Note how the order in force ended; the report writes it into the resource."""
        known = self._known.get(operator, ())
        if isinstance(order, OrderStatus) and known and _same(order, known[0]):
            self._known[operator] = (order, *known[1:])

    def remember(self, decision: Decision) -> None:
        """Keep a decision, and note the reason of its order."""
        self.inner.remember(decision)
        orders = self.stored_orders().get(decision.operator, ())
        if decision.acted and orders:
            why = {"reason": decision.plan.reason.value, "before": len(decision.plan.before)}
            former = self._known.get(decision.operator, ())
            self._known[decision.operator] = (orders[0].model_copy(update=why), *former)

    def close(self) -> None:
        """Close the inner store."""
        self.inner.close()

    def _seen(self, operator: str, order: OrderStatus, now_s: float) -> OrderStatus:
        """Return what is known of an order; of a new one, what the resource has."""
        known = next((each for each in self._known.get(operator, ()) if _same(each, order)), None)
        return known or order.model_copy(update={"at_s": min(order.at_s, now_s)})


def _same(one: OrderStatus, other: OrderStatus) -> bool:
    return (one.id, one.placement) == (other.id, other.placement)
